//! Stored bytes, read as text.

use std::borrow::Cow;

/// Stored bytes as text. Damaged ones do not match their digest, like other letters would
/// not; what stands beside them is shown.
pub(in crate::store) fn text(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy conversion alone takes several times as long.
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}
