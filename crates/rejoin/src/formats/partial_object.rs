//! The leading fields of a JSON object whose text is cut off.
//!
//! Only names of the object itself count, not those of nested objects, so that pasted text cannot change what
//! a file looks like.

/// The fields of an object that may end anywhere, each with the text of its value as far as it goes.
pub(super) struct PartialObject<'a>(Vec<(&'a str, &'a str)>);

impl<'a> PartialObject<'a> {
    /// Parses the beginning of a line.
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

    /// True when all of these fields are present.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.0.iter().any(|(own, _)| own == name))
    }

    /// Returns the text of a value, as far as it goes.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// Returns a field that is a string without escapes.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name)?.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains(['"', '\\']))
    }
}

/// Splits off a name and returns what follows its colon.
fn named(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = string_end(text)?;
    let value = text[end..].trim_start().strip_prefix(':')?.trim_start();
    Some((&text[1..end - 1], value))
}

/// Returns the end of the string at the start of a text.
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

/// Returns the end of the value at the start of a text; none if the text ends first.
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
