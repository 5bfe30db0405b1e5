//! Sets of letters, of which tokens are made.

/// Letters of ASCII, one bit each, and what else is asked of a token of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letters {
    set: u128,
    /// A digit and a letter are among them.
    pub(super) is_mixed: bool,
    /// A longer run of letters and digits is something else: a hash or a name.
    pub(super) is_whole: bool,
}

pub(super) const DIGIT: Letters = Letters::of("0-9");
pub(super) const HEX: Letters = Letters::of("0-9a-f").whole();
pub(super) const RATIO: Letters = Letters::of("0-9a-f/:");
pub(super) const UPPER: Letters = Letters::of("0-9A-Z").whole();
pub(super) const BLOCK: Letters = Letters::of("0-9A-Z-");
pub(super) const PLAIN: Letters = Letters::of("0-9A-Za-z");
pub(super) const MIXED: Letters = Letters::of("0-9A-Za-z").mixed();
pub(super) const WORD: Letters = Letters::of("0-9A-Za-z_-");
pub(super) const DOTTED: Letters = Letters::of("0-9A-Za-z_.-");
pub(super) const LOOSE: Letters = Letters::of("0-9A-Za-z_.~-");
pub(super) const BASE64: Letters = Letters::of("0-9A-Za-z_+/=-");
pub(super) const PACKED: Letters = Letters::of("0-9A-Za-z_+/=.,-");
pub(super) const QUERY: Letters = Letters::of("0-9A-Za-z_+/=%-");
pub(super) const PATH: Letters = Letters::of("0-9A-Za-z_/-");
pub(super) const ADDRESS: Letters = Letters::of("0-9A-Za-z_/@-");
pub(super) const CRYPT: Letters = Letters::of("0-9A-Za-z_+/=$.,-");
pub(super) const SESSION: Letters = Letters::of("0-9A-Za-z!._");
pub(super) const SCRAM: Letters = Letters::of("0-9A-Za-z:$+/=");
pub(super) const GRAPHIC: Letters = Letters::of("!-~");
/// What is no space and ends no value that stands without quotes.
pub(super) const BARE: Letters = Letters::of("!#-%(-+--:=?-[^_a-{~\0-\x08\x0e-\x1f\x7f");
pub(super) const HASH: Letters = Letters::of("0-9A-Za-z:$");

impl Letters {
    /// The letters of a class as regular expressions write it: single ones, ranges, and a line at the end.
    const fn of(class: &str) -> Self {
        let (class, mut set, mut at) = (class.as_bytes(), 0, 0);
        while at < class.len() {
            let is_range = at + 2 < class.len() && class[at + 1] == b'-';
            let (mut letter, last) = (class[at], class[if is_range { at + 2 } else { at }]);
            while letter <= last {
                set |= 1 << letter;
                letter += 1;
            }
            at += if is_range { 3 } else { 1 };
        }
        Self { set, is_mixed: false, is_whole: false }
    }

    const fn mixed(self) -> Self {
        Self { is_mixed: true, ..self }
    }

    const fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    pub(super) const fn include(self, byte: u8) -> bool {
        byte.is_ascii() && self.set & 1 << byte != 0
    }
}
