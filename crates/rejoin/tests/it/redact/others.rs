//! Texts of many kinds without a secret, in `others.txt`, which were written before the rules were looked at.

use rejoin::{Archive, Message, Redaction};

#[test]
fn nothing_is_taken_out_of_texts_of_other_kinds() {
    let archive = Archive::open("memory:").unwrap().with_redaction(Redaction::new());
    let texts: Vec<&str> = include_str!("others.txt").trim_end().split("\n%%\n").collect();

    let changed = texts.iter().filter_map(|text| archive.redaction().apply(&Message::user(*text)));

    let changed: Vec<String> = changed.map(|message| message.text()).collect();
    assert_eq!((texts.len(), changed), (122, Vec::new()));
}
