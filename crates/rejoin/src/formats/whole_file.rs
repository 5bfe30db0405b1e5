//! Loads a file at once, within the limits.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::Reading;
use crate::formats::lines::{UTF8_MARK, deepest, is_utf16, unreadable};

/// True for a regular file. Links do not count, because they may lead outside the directory.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Returns the bytes of a file. Fails if it is too large.
pub(super) fn bytes(path: &Path, reading: &Reading<'_>) -> Result<Vec<u8>> {
    let failed = |cause| unreadable(path, cause);
    let most = reading.limits().line_bytes;
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(Error::invalid(format!("`{}` has more than {most} bytes", path.display())));
    }
    Ok(bytes)
}

/// Returns the text of a file; none if it is not UTF-8. Fails if it is too large.
pub(super) fn text(path: &Path, reading: &Reading<'_>) -> Result<Option<String>> {
    let mut bytes = bytes(path, reading)?;
    if is_utf16(&bytes) {
        return Err(Error::invalid("the text is UTF-16; only UTF-8 can be read"));
    }
    if bytes.starts_with(&UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    Ok(String::from_utf8(bytes).ok())
}

/// Returns the text of a JSON file. Fails if it nests too deep, because parsers recurse.
pub(super) fn json(path: &Path, reading: &Reading<'_>) -> Result<Option<String>> {
    let text = text(path, reading)?;
    if text.as_deref().is_some_and(|text| deepest(text.as_bytes()) > reading.limits().depth) {
        return Err(Error::invalid(format!("`{}` nests too deep", path.display())));
    }
    Ok(text)
}
