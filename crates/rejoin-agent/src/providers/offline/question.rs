//! What is asked: the words that an answer must be about, and the kind of thing that is wanted.

use std::collections::BTreeSet;

use rejoin::PlainText;

/// More words than this make a text, not a question.
const MOST_TERMS: usize = 32;

/// Words of asking, which an answer need not hold.
const ASKING: &[&str] = &[
    "remember",
    "recall",
    "remind",
    "mention",
    "describe",
    "explain",
    "list",
    "show",
    "find",
    "quote",
    "talk",
    "discuss",
    "repeat",
    "summarise",
    "summarize",
    "today",
    "yesterday",
    "currently",
    "again",
    "earlier",
    "exactly",
    "kind",
    "sort",
    "type",
];

/// Words that begin a question or a request, in the languages that are understood a little.
const OPENINGS: &[&str] = &[
    "what",
    "which",
    "who",
    "whom",
    "whose",
    "where",
    "when",
    "why",
    "how",
    "is",
    "are",
    "am",
    "was",
    "were",
    "do",
    "does",
    "did",
    "can",
    "could",
    "will",
    "would",
    "should",
    "has",
    "have",
    "had",
    "tell",
    "show",
    "find",
    "list",
    "remind",
    "recall",
    "explain",
    "describe",
    "quote",
    "repeat",
    "summarise",
    "summarize",
    "isn",
    "aren",
    "doesn",
    "don",
    "didn",
    "welche",
    "welcher",
    "welches",
    "wer",
    "wo",
    "wann",
    "warum",
    "wie",
    "quel",
    "quelle",
    "qui",
    "quand",
    "pourquoi",
    "comment",
    "cual",
    "donde",
    "cuando",
    "quien",
];

/// Words that ask for one thing out of a kind, which the next word names: "which colour".
const CHOOSING: &[&str] =
    &["what", "which", "welche", "welchen", "welcher", "welches", "quel", "quelle", "que", "cual"];

/// Words that are about the one who answers, in a question with "you".
const ITSELF: &[&str] = &[
    "name",
    "model",
    "version",
    "ai",
    "assistant",
    "bot",
    "human",
    "person",
    "robot",
    "machine",
    "old",
    "help",
    "work",
    "able",
    "capable",
    "feature",
    "real",
    "made",
    "created",
    "understand",
    "provider",
    "offline",
];

/// Colours, as roots.
const COLOURS: &[&str] = &[
    "red",
    "green",
    "blue",
    "yellow",
    "black",
    "white",
    "gray",
    "brown",
    "orange",
    "purple",
    "pink",
    "silver",
    "gold",
    "golden",
    "violet",
    "turquoise",
    "beige",
    "rot",
    "grun",
    "blau",
    "gelb",
    "schwarz",
    "weiß",
    "braun",
    "rouge",
    "vert",
    "bleu",
    "jaune",
    "noir",
    "blanc",
    "rojo",
    "roja",
    "verde",
    "azul",
    "amarillo",
    "negro",
    "blanco",
];

const NUMBERS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "twenty", "hundred", "thousand", "dozen",
];

const TIMES: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "morning",
    "noon",
    "evening",
    "night",
    "tomorrow",
    "yesterday",
    "week",
    "month",
    "year",
    "o'clock",
];

/// What a message wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// An answer.
    Answer,
    /// Only to be kept.
    ToBeKept,
    /// There is nothing in it to look for or to keep.
    Nothing,
}

/// The kind of thing that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionKind {
    Colour,
    Number,
    Time,
    Place,
    Reason,
}

/// A word that an answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) root: String,
    /// True for numbers and names: an answer about another number is no answer.
    pub(super) is_needed: bool,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) terms: Vec<Term>,
    pub(super) kind: Option<QuestionKind>,
    /// The word that names the kind; an answer may hold it.
    pub(super) attribute: Option<String>,
    pub(super) is_negated: bool,
    wish: Wish,
}

impl Question {
    /// Reads a message. The last question in it counts; without one, the whole.
    pub(super) fn read(text: &str) -> Self {
        let mut asked = None;
        PlainText::each_sentence(text, |sentence| {
            if is_question(sentence) {
                asked = Some(sentence);
            }
        });
        let mut question = Self::of_words(asked.unwrap_or(text));
        let is_search = asked.is_none() && is_fragment(text) && !question.terms.is_empty();
        question.wish = match (asked.is_some() || is_search, question.terms.is_empty()) {
            (true, _) => Wish::Answer,
            (false, false) => Wish::ToBeKept,
            (false, true) => Wish::Nothing,
        };
        question
    }

    pub(super) const fn wish(&self) -> Wish {
        self.wish
    }

    fn of_words(text: &str) -> Self {
        let all = PlainText::words(text);
        let mut kind = kind_asked(&all);
        let mut attribute = None;
        let mut terms: Vec<Term> = Vec::new();
        let mut next = 0;
        PlainText::each_word(text, |word, root, is_common| {
            let place = next;
            next += 1;
            if is_common || ASKING.contains(&word) {
                return;
            }
            let is_chosen = place > 0 && CHOOSING.contains(&all[place - 1].as_str());
            let named = kind_named(root);
            if attribute.is_none() && (is_chosen || named.is_some()) {
                kind = named.or(kind);
                attribute = Some(root.to_owned());
            } else if !terms.iter().any(|term| term.root == root) && terms.len() < MOST_TERMS {
                terms.push(Term { root: root.to_owned(), is_needed: is_needed(text, word, place) });
            }
        });
        // "Which colours?" is about colours, and so is "what colour do you like?" about nothing else.
        if terms.is_empty()
            && let Some(root) = attribute.take()
        {
            terms.push(Term { root, is_needed: false });
        }
        if is_about_itself(&all, &terms) {
            terms.clear();
        }
        Self { terms, kind, attribute, is_negated: is_negated(&all, 2), wish: Wish::Nothing }
    }
}

impl QuestionKind {
    /// True when a statement with these words could hold a thing of this kind.
    pub(super) fn is_in(self, word: &str) -> bool {
        match self {
            QuestionKind::Colour => COLOURS.contains(&word),
            QuestionKind::Number => {
                NUMBERS.contains(&word) || word.bytes().any(|letter| letter.is_ascii_digit())
            }
            QuestionKind::Time => TIMES.contains(&word) || word.bytes().any(|letter| letter.is_ascii_digit()),
            QuestionKind::Place => {
                ["in", "at", "on", "near", "under", "behind", "from", "to"].contains(&word)
            }
            QuestionKind::Reason => ["because", "since", "so", "weil", "therefore"].contains(&word),
        }
    }
}

/// True when a sentence asks.
pub(super) fn is_question(sentence: &str) -> bool {
    let bare = sentence.trim_end_matches(['"', '\'', '”', ')', ' ']);
    if bare.ends_with(['?', '？', '؟']) {
        return true;
    }
    if bare.ends_with('.') {
        return false;
    }
    let start = PlainText::words(sentence.get(..sentence.len().min(80)).unwrap_or(sentence));
    let opens = |word: Option<&String>| word.is_some_and(|word| OPENINGS.contains(&word.as_str()));
    let names_someone = start.get(1).is_some_and(|word| SUBJECTS.contains(&word.as_str()));
    // "What I like is tea" states, "what do I like" and "what colour is it" ask.
    let asks = || opens(start.get(1)) || (!names_someone && opens(start.get(2))) || start.len() <= 3;
    opens(start.first()) && (!CLAUSES.contains(&start[0].as_str()) || asks())
}

const SUBJECTS: &[&str] = &["i", "you", "he", "she", "it", "we", "they"];

/// Words that begin a question, and a clause of a statement as well.
const CLAUSES: &[&str] =
    &["what", "which", "who", "where", "when", "why", "how", "have", "had", "do", "wo", "wer", "wie"];

/// A few words without a verb are what one types into a search box.
fn is_fragment(text: &str) -> bool {
    const VERBS: &[&str] = &[
        "is", "are", "was", "were", "am", "be", "has", "have", "had", "will", "i", "we", "ist", "est", "es",
    ];
    let all = PlainText::words(text);
    let is_short = all.len() <= 3 && text.chars().count() <= 40;
    is_short
        && !text.trim_end().ends_with(['.', '!'])
        && !all.iter().any(|word| VERBS.contains(&word.as_str()))
}

fn kind_asked(words: &[String]) -> Option<QuestionKind> {
    words.iter().enumerate().find_map(|(place, word)| match word.as_str() {
        "where" | "wo" | "donde" => Some(QuestionKind::Place),
        "when" | "wann" | "quand" | "cuando" => Some(QuestionKind::Time),
        "why" | "warum" | "pourquoi" => Some(QuestionKind::Reason),
        "how" => match words.get(place + 1).map(String::as_str) {
            Some("many" | "much" | "old" | "long" | "far" | "tall" | "big" | "often" | "heavy") => {
                Some(QuestionKind::Number)
            }
            _ => None,
        },
        _ => None,
    })
}

/// The kind that a word names, as a root.
fn kind_named(root: &str) -> Option<QuestionKind> {
    match root {
        "color" | "farb" | "couleur" => Some(QuestionKind::Colour),
        "tim" | "date" | "dat" | "day" | "year" | "month" => Some(QuestionKind::Time),
        "number" | "price" | "pric" | "amount" => Some(QuestionKind::Number),
        _ => None,
    }
}

/// Numbers, and words with a capital inside a sentence, are names.
fn is_needed(text: &str, word: &str, place: usize) -> bool {
    if word.bytes().any(|letter| letter.is_ascii_digit()) {
        return true;
    }
    place > 0
        && text.split(|letter: char| !letter.is_alphanumeric()).any(|written| {
            written.chars().next().is_some_and(char::is_uppercase) && written.to_lowercase() == word
        })
}

/// "Who are you?" is not about anything that was said.
fn is_about_itself(words: &[String], terms: &[Term]) -> bool {
    let names_you = words.iter().any(|word| ["you", "your", "yourself"].contains(&word.as_str()));
    let reports =
        words.iter().any(|word| ["said", "say", "told", "tell", "mentioned"].contains(&word.as_str()));
    let mut itself = BTreeSet::new();
    PlainText::each_word(&ITSELF.join(" "), |_, root, _| itself.extend([root.to_owned()]));
    names_you && !reports && terms.iter().all(|term| itself.contains(&term.root))
}

/// True when words deny. "Isn't it green?" denies nothing, so the first words of a question are passed over.
pub(super) fn is_negated(words: &[String], skipped: usize) -> bool {
    const DENYING: &[&str] = &[
        "not", "never", "no", "none", "nobody", "nothing", "neither", "nor", "without", "nicht", "kein",
        "keine", "nie", "pas", "jamais", "nunca", "不", "没",
    ];
    let is_contraction = |pair: &[String]| pair[1] == "t" && pair[0].ends_with('n');
    let rest = words.get(skipped..).unwrap_or_default();
    rest.iter().any(|word| DENYING.contains(&word.as_str())) || rest.windows(2).any(is_contraction)
}
