//! What little is known about languages: sentences, words that say nothing by
//! themselves, and the roots of words.
//!
//! It is meant for computed titles and answers, where a wrong guess costs little. Search does not use it.

/// Words of English, German, French, Spanish, Chinese and Japanese that say
/// nothing by themselves, sorted by bytes.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "a", "aber", "about", "above", "after", "again", "ai", "al", "all", "alle", "already", "als", "also",
    "always", "am", "an", "and", "any", "anyone", "anything", "are", "aren", "around", "as", "at", "au",
    "auch", "auf", "aus", "aux", "avec", "away", "back", "be", "because", "been", "before", "bei", "being",
    "below", "between", "bin", "bis", "bist", "both", "but", "by", "c", "can", "cannot", "ce", "ces", "cette",
    "comment", "como", "con", "could", "couldn", "cual", "cuando", "d", "da", "damit", "dans", "das", "dass",
    "de", "dein", "deine", "del", "dem", "den", "denn", "der", "des", "dich", "did", "didn", "die", "dir",
    "do", "doch", "does", "doesn", "doing", "don", "donde", "done", "down", "du", "durch", "during", "each",
    "ein", "eine", "einem", "einen", "einer", "eines", "either", "el", "ella", "elle", "elles", "else", "en",
    "er", "era", "es", "est", "esta", "este", "esto", "et", "etc", "eu", "even", "ever", "every",
    "everything", "few", "for", "from", "fue", "fur", "further", "get", "gets", "getting", "give", "go",
    "goes", "going", "gone", "got", "ha", "habe", "haben", "had", "hadn", "has", "hasn", "hat", "hatte",
    "have", "haven", "having", "hay", "he", "hello", "her", "here", "hers", "herself", "hey", "hi", "hier",
    "him", "himself", "his", "how", "however", "i", "ich", "if", "ihr", "il", "ils", "im", "in", "into", "is",
    "isn", "ist", "it", "its", "itself", "j", "ja", "je", "jetzt", "just", "kann", "kein", "keine", "know",
    "l", "la", "las", "le", "les", "let", "leur", "ll", "lo", "los", "lui", "m", "ma", "made", "mais", "make",
    "makes", "many", "may", "maybe", "me", "mein", "meine", "meinem", "meinen", "meiner", "mentioned", "mes",
    "mi", "mich", "might", "mine", "mir", "mis", "mit", "moi", "mon", "more", "most", "much", "must", "mustn",
    "my", "myself", "n", "nach", "ne", "nicht", "no", "noch", "nor", "nos", "not", "nothing", "notre", "nous",
    "now", "nun", "nur", "o", "oder", "of", "off", "ohne", "ok", "okay", "on", "once", "one", "only", "or",
    "other", "ou", "our", "ours", "ourselves", "out", "over", "own", "par", "para", "pas", "pero", "please",
    "por", "porque", "pour", "pourquoi", "put", "qu", "quand", "que", "quel", "quelle", "quelles", "quels",
    "qui", "quien", "quite", "quoi", "re", "really", "right", "s", "sa", "said", "same", "say", "says",
    "schon", "se", "see", "seem", "sein", "seine", "ser", "ses", "shall", "shan", "she", "should", "shouldn",
    "si", "sich", "sie", "sin", "since", "sind", "so", "sobre", "some", "something", "son", "sont", "soy",
    "still", "su", "such", "sur", "sure", "sus", "t", "ta", "take", "te", "tell", "tes", "than", "thank",
    "thanks", "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they",
    "thing", "things", "think", "this", "those", "through", "tiene", "to", "toi", "told", "ton", "too", "try",
    "tu", "two", "uber", "um", "un", "una", "und", "under", "une", "uno", "uns", "unser", "until", "up",
    "upon", "us", "use", "used", "using", "ve", "very", "vom", "von", "vor", "vos", "votre", "vous", "war",
    "waren", "warum", "was", "wasn", "way", "we", "welche", "welchen", "welcher", "welches", "well", "wenn",
    "wer", "were", "weren", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose",
    "why", "wie", "will", "wir", "wird", "with", "within", "without", "wo", "won", "would", "wouldn", "y",
    "ya", "yes", "yet", "yo", "you", "your", "yours", "yourself", "yourselves", "zu", "zum", "zur", "い", "か",
    "が", "し", "す", "た", "て", "で", "と", "な", "に", "の", "は", "ま", "も", "る", "を", "不", "么", "也", "了", "什", "他",
    "们", "你", "吗", "呢", "和", "在", "她", "就", "我", "是", "有", "的", "这", "那",
];

/// True for a word that says nothing by itself, such as `the`. The word is one
/// of [`words`](crate::PlainText::words).
pub(crate) fn is_common_word(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// Calls `visit` with each sentence of `text`, without the white space around it.
///
/// A sentence ends at a line's end, and at a full stop, question mark or exclamation mark that a space
/// follows. Scripts that write these marks without a space after them are understood.
pub(crate) fn each_sentence<'a>(text: &'a str, mut visit: impl FnMut(&'a str)) {
    for line in text.lines() {
        let mut start = 0;
        let mut letters = line.char_indices().peekable();
        while let Some((place, letter)) = letters.next() {
            let end = place + letter.len_utf8();
            let is_end = match letter {
                '。' | '！' | '？' | '।' | '؟' => true,
                '!' | '?' | '…' => ends_here(letters.peek()),
                '.' => ends_here(letters.peek()) && !is_abbreviation(&line[start..place]),
                _ => false,
            };
            if is_end {
                // Closing quotes and brackets belong to the sentence that they close.
                let mut closed = end;
                while let Some((place, letter)) = letters.next_if(|(_, letter)| is_closing(*letter)) {
                    closed = place + letter.len_utf8();
                }
                tell(&line[start..closed], &mut visit);
                start = closed;
            }
        }
        tell(&line[start..], &mut visit);
    }
}

fn tell<'a>(sentence: &'a str, visit: &mut impl FnMut(&'a str)) {
    let sentence = sentence.trim();
    if !sentence.is_empty() {
        visit(sentence);
    }
}

fn ends_here(next: Option<&(usize, char)>) -> bool {
    next.is_none_or(|(_, letter)| letter.is_whitespace() || is_closing(*letter))
}

const fn is_closing(letter: char) -> bool {
    matches!(letter, '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '」' | '』' | '）')
}

/// A full stop after a single letter, or after a short form of a word, ends nothing: `e.g.`, `Dr.`, `1.`
fn is_abbreviation(before: &str) -> bool {
    const SHORT: &[&str] = &["dr", "mr", "mrs", "ms", "prof", "st", "vs", "etc", "approx", "no", "bzw", "ca"];
    let last = before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or(before);
    let is_number_of_a_list =
        last.len() == before.len() && last.chars().all(|letter| letter.is_ascii_digit());
    let is_dotted = last.contains('.') && last.split('.').all(|part| part.chars().count() <= 2);
    is_number_of_a_list || is_dotted || SHORT.contains(&last.to_lowercase().as_str())
}

/// The root of a word, so that forms of a word compare equal: `bicycles` and `bicycle`, `painted`
/// and `painting`, `colour` and `color`.
///
/// The word is one of [`words`](crate::PlainText::words). A root need not be a word itself.
pub(crate) fn word_root(word: &str) -> String {
    if !word.bytes().all(|letter| letter.is_ascii_lowercase()) || word.len() < 3 {
        return word.to_owned();
    }
    match IRREGULAR.binary_search_by_key(&word, |(form, _)| form) {
        Ok(place) => one_spelling(IRREGULAR[place].1.to_owned()),
        Err(_) => one_spelling(without_ending(word)),
    }
}

/// English forms that no rule leads back, sorted.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"), ("began", "begin"), ("begun", "begin"), ("bought", "buy"), ("broke", "break"), ("broken", "break"),
    ("brought", "bring"), ("built", "build"), ("caught", "catch"), ("children", "child"), ("chose", "choose"),
    ("chosen", "choose"), ("drank", "drink"), ("driven", "drive"), ("drove", "drive"), ("eaten", "eat"),
    ("feet", "foot"), ("fell", "fall"), ("flew", "fly"), ("found", "find"), ("grew", "grow"), ("heard", "hear"),
    ("held", "hold"), ("hid", "hide"), ("kept", "keep"), ("left", "leave"), ("lost", "lose"), ("men", "man"),
    ("met", "meet"), ("mice", "mouse"), ("paid", "pay"), ("people", "person"), ("ran", "run"), ("sent", "send"),
    ("slept", "sleep"), ("sold", "sell"), ("spent", "spend"), ("spoke", "speak"), ("stole", "steal"),
    ("taught", "teach"), ("teeth", "tooth"), ("threw", "throw"), ("women", "woman"), ("won", "win"), ("wore", "wear"),
    ("written", "write"), ("wrote", "write"),
];

fn without_ending(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies")
        && stem.len() >= 2
    {
        return format!("{stem}y");
    }
    if let Some(stem) = word.strip_suffix("es")
        && ["s", "x", "z", "ch", "sh"].iter().any(|end| stem.ends_with(end))
    {
        return stem.to_owned();
    }
    if let Some(stem) = word.strip_suffix('s')
        && !["s", "u", "i"].iter().any(|end| stem.ends_with(end))
        && stem.len() >= 3
    {
        return stem.to_owned();
    }
    for ending in ["ing", "ed"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && stem.bytes().any(|letter| b"aeiouy".contains(&letter))
        {
            return undoubled(stem).to_owned();
        }
    }
    word.to_owned()
}

/// `stopp` of `stopped` is `stop`; `call` keeps its letters.
fn undoubled(stem: &str) -> &str {
    let letters = stem.as_bytes();
    let is_doubled = letters.len() > 3 && letters[letters.len() - 1] == letters[letters.len() - 2];
    if is_doubled && !b"lsze".contains(&letters[letters.len() - 1]) { &stem[..stem.len() - 1] } else { stem }
}

/// British and American spelling, and a silent `e`, made the same.
fn one_spelling(mut word: String) -> String {
    if word == "grey" {
        return "gray".to_owned();
    }
    if word.len() > 4 {
        word = word.replacen("our", "or", 1);
    }
    if let Some(stem) = word.strip_suffix("tre") {
        word = format!("{stem}ter");
    }
    for (british, american) in [("isation", "ization"), ("ise", "ize"), ("is", "iz"), ("yse", "yze")] {
        if word.len() > 4
            && let Some(stem) = word.strip_suffix(british)
        {
            word = format!("{stem}{american}");
            break;
        }
    }
    match word.strip_suffix('e') {
        Some(stem) if stem.len() >= 3 => stem.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        each_sentence(text, |sentence| all.push(sentence));
        all
    }

    #[test]
    fn a_sentence_ends_where_a_reader_would_end_it() {
        let text = "It costs 3.50, e.g. at Dr. Lee's. \"Really?\" Yes!\n1. first item\n我的车是绿的。你呢？ ";

        let expected = [
            "It costs 3.50, e.g. at Dr. Lee's.",
            "\"Really?\"",
            "Yes!",
            "1. first item",
            "我的车是绿的。",
            "你呢？",
        ];
        assert_eq!(sentences(text), expected);
    }

    #[test]
    fn forms_of_a_word_share_a_root() {
        let pairs = [
            ("bicycles", "bicycle"),
            ("colour", "color"),
            ("coloured", "colors"),
            ("painting", "painted"),
            ("parked", "park"),
            ("stopped", "stop"),
            ("cities", "city"),
            ("boxes", "box"),
            ("centre", "center"),
            ("organise", "organized"),
            ("favourite", "favorite"),
            ("grey", "gray"),
            ("making", "make"),
            ("bought", "buys"),
            ("wrote", "writing"),
        ];

        let differing: Vec<_> =
            pairs.into_iter().filter(|(one, other)| word_root(one) != word_root(other)).collect();

        assert_eq!(differing, []);
    }

    #[test]
    fn different_words_keep_different_roots() {
        let pairs =
            [("bus", "bu"), ("glass", "glas"), ("hour", "hor"), ("this", "thi"), ("red", "r"), ("king", "k")];

        let same: Vec<_> =
            pairs.into_iter().filter(|(one, other)| word_root(one) == word_root(other)).collect();

        assert_eq!(same, []);
    }

    #[test]
    fn the_tables_are_sorted_so_that_words_are_found() {
        assert!(COMMON.is_sorted() && IRREGULAR.is_sorted());
        assert_eq!(["the", "的", "mein", "bicycle"].map(is_common_word), [true, true, true, false]);
    }
}
