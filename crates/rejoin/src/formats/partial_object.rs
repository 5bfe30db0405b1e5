//! The fields that a line begins with, when the rest of it is not there.
//!
//! Only names of the line's own object count, never those of what is inside it, so that what a person pasted says
//! nothing about the file.

/// The fields of an object whose text may end anywhere, with the text of each value as far as it goes.
pub(super) struct PartialObject<'a>(Vec<(&'a str, &'a str)>);

impl<'a> PartialObject<'a> {
    /// Looks at the beginning of a line.
    pub(super) fn of(line: &'a str) -> Self {
        let mut fields = Vec::new();
        let mut rest = line.trim_start().strip_prefix('{');
        while let Some((name, value)) = rest.and_then(named) {
            let end = end_of(value);
            fields.push((name, &value[..end.unwrap_or(value.len())]));
            rest = end.and_then(|end| value[end..].trim_start().strip_prefix(','));
        }
        Self(fields)
    }

    /// True when it has all of these fields.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.0.iter().any(|(own, _)| own == name))
    }

    /// The text of a value, as far as it goes.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// The text of a field that is a string without escapes.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name)?.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains(['"', '\\']))
    }
}

/// A name, and what follows its colon.
fn named(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = string_end(text)?;
    let value = text[end..].trim_start().strip_prefix(':')?.trim_start();
    Some((&text[1..end - 1], value))
}

/// Where a string ends that a text begins with.
fn string_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut place = usize::from(*bytes.first()? == b'"');
    if place == 0 {
        return None;
    }
    loop {
        place += memchr::memchr2(b'"', b'\\', bytes.get(place..)?)?;
        if bytes[place] == b'"' {
            return Some(place + 1);
        }
        place += 2;
    }
}

/// Where a value ends that a text begins with; none when the text ends before.
fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut place) = (0usize, 0);
    loop {
        let found = *text.as_bytes().get(place)?;
        match found {
            b'"' => place += string_end(text.get(place..)?)?,
            b'{' | b'[' => (depth, place) = (depth + 1, place + 1),
            b'}' | b']' if depth > 0 => (depth, place) = (depth - 1, place + 1),
            b',' | b'}' | b']' if depth == 0 => return Some(place),
            _ => place += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fields_of_the_line_itself_count() {
        let cut =
            r#" {"type" : "user", "n": [1, {"inner": "]}"}], "s": "a\\\"b, \"quoted\":", "message":{"role":"#;

        let begun = PartialObject::of(cut);

        assert!(begun.has(&["type", "n", "s", "message"]));
        assert_eq!([begun.has(&["inner"]), begun.has(&["quoted"]), begun.has(&["role"])], [false; 3]);
        assert_eq!([begun.text("type"), begun.text("s"), begun.text("n")], [Some("user"), None, None]);
    }

    #[test]
    fn a_beginning_may_end_anywhere() {
        let line = r#"{"a":"x\\","ü":[{}],"c":1,"d":null}"#;

        let counts = line.char_indices().map(|(end, _)| PartialObject::of(&line[..end]).0.len());

        assert_eq!((counts.max(), PartialObject::of(line).0.len()), (Some(4), 4));
        assert_eq!(["", "[", "{", "text", "{}", "{\"a"].map(|text| PartialObject::of(text).0.len()), [0; 6]);
    }
}
