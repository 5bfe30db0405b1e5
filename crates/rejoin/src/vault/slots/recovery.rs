//! The recovery key: 32 bytes that a person can write down, with a checksum that
//! tells a typing error from a wrong key.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::vault::slots::Secret;

/// Crockford's alphabet: no letter that is easily taken for a digit, and no `U`.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHECKSUM: usize = 3;
const KEY: usize = 32;
/// 35 bytes, five bits a character.
const LENGTH: usize = 56;
const GROUP: usize = 4;

/// The text to print: 56 characters in groups of four.
pub(crate) fn to_text(key: &Secret) -> Secret {
    let mut bytes = Zeroizing::new(key.as_bytes().to_vec());
    bytes.extend_from_slice(&checksum(key.as_bytes()));
    let mut text = String::with_capacity(LENGTH + LENGTH / GROUP);
    let (mut held, mut bits) = (0_u32, 0);
    let mut written = 0;
    for byte in bytes.iter() {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            if written > 0 && written % GROUP == 0 {
                text.push('-');
            }
            text.push(char::from(ALPHABET[(held >> bits & 31) as usize]));
            written += 1;
        }
    }
    Secret::from(text)
}

/// Reads what was printed, however it was typed: case, spaces, hyphens, `O` for zero
/// and `I` or `L` for one do not matter.
pub(crate) fn from_text(text: &Secret) -> Result<Secret> {
    let text = text.as_text().ok_or_else(|| refuse("a recovery key is plain text"))?;
    let typed = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY + CHECKSUM));
    let (mut held, mut bits, mut count) = (0_u32, 0, 0_usize);
    for letter in typed {
        count += 1;
        let value = value_of(letter).ok_or_else(|| {
            refuse(format!("character {count} of the recovery key is none that such a key has"))
        })?;
        held = held << 5 | value;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 255) as u8);
        }
    }
    if count != LENGTH {
        return Err(refuse(format!("a recovery key has {LENGTH} characters, and this has {count}")));
    }
    let (key, sum) = bytes.split_at(KEY);
    if sum != checksum(key) {
        return Err(refuse("the recovery key has a typing error: its checksum does not fit"));
    }
    Ok(Secret::new(key.to_vec()))
}

fn value_of(letter: char) -> Option<u32> {
    let letter = match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    let place = ALPHABET.iter().position(|known| char::from(*known) == letter)?;
    u32::try_from(place).ok()
}

fn checksum(key: &[u8]) -> [u8; CHECKSUM] {
    let hash = Sha256::digest(key);
    [hash[0], hash[1], hash[2]]
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Denied, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_that_look_like_digits_are_read_as_digits() {
        let key = Secret::new(vec![0x08; KEY]);
        let printed = to_text(&key).as_text().unwrap().to_owned();

        let typed = printed.replace('0', "o").replacen('1', "I", 7).replace('1', "l");

        assert_ne!(typed, printed);
        assert_eq!(from_text(&Secret::from(typed)).unwrap().as_bytes(), key.as_bytes());
    }

    /// Computed with Python from the description of the format.
    const OF_ZEROS: &str = "0000-0000-0000-0000-0000-0000-0000-0000-0000-0000-0000-0000-0006-CT3T";

    fn read(text: &str) -> Result<Vec<u8>> {
        from_text(&Secret::from(text.to_owned())).map(|key| key.as_bytes().to_vec())
    }

    #[test]
    fn a_known_key_has_a_known_text() {
        let text = to_text(&Secret::new(vec![0; 32]));

        assert_eq!(text.as_text(), Some(OF_ZEROS));
    }

    #[test]
    fn case_spaces_and_lookalikes_do_not_matter() {
        let typed = OF_ZEROS.to_lowercase().replace('-', "  ").replace('0', "o");

        assert_eq!(read(&typed).unwrap(), vec![0; 32]);
    }

    #[test]
    fn what_is_wrong_with_a_key_is_told_without_the_key() {
        let short = OF_ZEROS.replace("-CT3T", "-CT3");
        let wrong_letter = OF_ZEROS.replacen("0000", "00U0", 1);
        let typo = OF_ZEROS.replacen("0000", "0100", 1);

        let told = [short, wrong_letter, typo].map(|text| read(&text).unwrap_err().to_string());

        let expected = [
            "a recovery key has 56 characters, and this has 55",
            "character 3 of the recovery key is none that such a key has",
            "the recovery key has a typing error: its checksum does not fit",
        ];
        assert_eq!(told, expected);
    }

    proptest! {
        #[test]
        fn a_key_reads_back_as_it_was_printed(key in proptest::collection::vec(any::<u8>(), 32)) {
            let text = to_text(&Secret::new(key.clone()));

            let read = from_text(&text).unwrap();
            prop_assert_eq!(read.as_bytes(), key.as_slice());
        }

        #[test]
        fn any_one_wrong_character_is_noticed(
            key in proptest::collection::vec(any::<u8>(), 32), place in 0..56_usize, other in 0..32_usize,
        ) {
            let text = to_text(&Secret::new(key)).as_text().unwrap().replace('-', "");
            let mut typed = text.clone().into_bytes();
            typed[place] = ALPHABET[other];

            // Three bytes of checksum leave one chance in sixteen million.
            prop_assert_eq!(read(std::str::from_utf8(&typed).unwrap()).is_ok(), typed == text.as_bytes());
        }
    }
}
