//! How envelopes stand in the backend: as they are, or in base64 where it stores text only.
//!
//! Base64 is the standard alphabet without padding. A load reads one text for each message, so that what
//! reads them knows the processor it runs on. Each envelope has one text only: other alphabets, padding,
//! blanks and bits left over are refused.

use base64::Engine as _;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use base64::engine::GeneralPurpose;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use base64::engine::Simd;
use base64::engine::general_purpose::{NO_PAD, STANDARD_NO_PAD};

use crate::store::Capabilities;
use crate::store::sealed::keys::envelope::{Broken, OVERHEAD, key_of};
use crate::store::sealed::keys::key::KeyId;

/// How many letters show which key an envelope was sealed with.
const ENOUGH: usize = OVERHEAD.div_ceil(3) * 4;

/// How envelopes stand in bodies, headers, previews and labels of a backend.
#[derive(Debug)]
pub(crate) enum EnvelopeEncoding {
    /// As they are.
    Bytes,
    /// In base64.
    Text(Box<TextReader>),
}

impl EnvelopeEncoding {
    /// The one that suits a backend.
    pub(crate) fn of(backend: Capabilities) -> Self {
        if backend.stores_bytes { Self::Bytes } else { Self::Text(Box::default()) }
    }

    /// An envelope as it is stored. Nothing stays nothing.
    pub(crate) fn write(&self, envelope: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Bytes => envelope,
            Self::Text(_) => to_text(&envelope).into_bytes(),
        }
    }

    /// Reads what [`Self::write`] wrote, into a buffer in place of what is there.
    pub(crate) fn read(&self, stored: &[u8], buffer: &mut Vec<u8>) -> Result<(), Broken> {
        buffer.clear();
        match self {
            Self::Bytes => buffer.extend_from_slice(stored),
            Self::Text(reader) => reader.read(stored, buffer)?,
        }
        Ok(())
    }

    /// What is stored, as text: damaged text stays as it is.
    pub(crate) fn to_text(&self, stored: &[u8]) -> String {
        match self {
            Self::Bytes => to_text(stored),
            Self::Text(_) => String::from_utf8_lossy(stored).into_owned(),
        }
    }

    /// The key that what is stored was sealed with.
    pub(crate) fn key_of(&self, stored: &[u8]) -> Result<KeyId, Broken> {
        match self {
            Self::Bytes => key_of(stored),
            Self::Text(reader) => {
                let mut envelope = Vec::new();
                reader.read(&stored[..stored.len().min(ENOUGH)], &mut envelope)?;
                key_of(&envelope)
            }
        }
    }
}

/// What reads envelopes that stand as text. Making one costs as much as reading a message.
#[derive(Debug)]
pub(crate) struct TextReader {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    engine: Simd,
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    engine: GeneralPurpose,
}

impl Default for TextReader {
    /// The one that suits the processor.
    fn default() -> Self {
        Self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            engine: Simd::standard(NO_PAD),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            engine: GeneralPurpose::new(&base64::alphabet::STANDARD, NO_PAD),
        }
    }
}

impl TextReader {
    /// Reads what [`to_text`] wrote, behind what is in the buffer.
    fn read(&self, text: &[u8], buffer: &mut Vec<u8>) -> Result<(), Broken> {
        self.engine.decode_vec(text, buffer).map_err(|_| Broken::Shape)
    }
}

/// An envelope as text.
pub(crate) fn to_text(envelope: &[u8]) -> String {
    STANDARD_NO_PAD.encode(envelope)
}

/// Reads what [`to_text`] wrote.
pub(crate) fn from_text(text: &str) -> Result<Vec<u8>, Broken> {
    STANDARD_NO_PAD.decode(text).map_err(|_| Broken::Shape)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<u8>, Broken> {
        let mut buffer = b"what was there".to_vec();
        EnvelopeEncoding::Text(Box::default()).read(text.as_bytes(), &mut buffer).map(|()| buffer)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let text = to_text(&bytes);

            prop_assert_eq!(read(&text), Ok(bytes.clone()));
            prop_assert_eq!(from_text(&text), Ok(bytes));
        }

        #[test]
        fn what_was_not_written_is_refused(text in "[A-Za-z0-9+/]{0,200}[-_=+/ A-Za-z0-9\n\u{80}é]{0,3}[A-Za-z0-9+/]{0,200}") {
            let bytes = read(&text);

            prop_assert_eq!(&bytes, &from_text(&text));
            prop_assert!(bytes.is_err() || bytes.map(|bytes| to_text(&bytes)) == Ok(text));
        }
    }

    #[test]
    fn every_other_character_is_refused_wherever_it_stands() {
        let text = to_text(&[0x5a; 300]);
        let is_refused = |place: usize, byte: u8| {
            let mut other = text.clone().into_bytes();
            other[place] = byte;
            read(str::from_utf8(&other).unwrap()) == Err(Broken::Shape)
        };
        let others = || (0..128u8).filter(|byte| !byte.is_ascii_alphanumeric() && !b"+/".contains(byte));

        let accepted = (0..text.len()).flat_map(|place| others().map(move |byte| (place, byte)));

        assert_eq!(accepted.filter(|(place, byte)| !is_refused(*place, *byte)).count(), 0);
    }

    #[test]
    fn bits_that_are_left_over_are_refused() {
        let texts = [1, 2, 100, 101].map(|length| to_text(&vec![0; length]));
        let last = |text: &String| format!("{}B", &text[..text.len() - 1]);

        assert_eq!(texts.each_ref().map(|text| read(text).is_ok()), [true; 4]);
        assert_eq!(texts.each_ref().map(|text| read(&last(text))), [const { Err(Broken::Shape) }; 4]);
    }
}
