//! Bytes that must not be seen: wiped when they go, never printed.

use std::fmt;

use zeroize::Zeroizing;

/// Bytes that are wiped when they are dropped, and that nothing prints.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes; they are wiped with this.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// 32 bytes that nobody can guess.
    pub fn random() -> Self {
        let mut bytes = Zeroizing::new(vec![0; 32]);
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text; none when they are not.
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = Secret::from("correct horse".to_owned());

        assert_eq!(format!("{secret:?}"), "[redacted]");
    }

    #[test]
    fn two_random_secrets_differ() {
        assert_ne!(Secret::random().as_bytes(), Secret::random().as_bytes());
    }
}
