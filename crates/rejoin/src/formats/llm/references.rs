//! Shared contents that are stored once in a database: files and fragments of text.

use crate::error::Result;
use crate::formats::content::kind_of;
use crate::formats::database::{ColumnValue, Database, DatabaseRow};
use crate::formats::encoding::base64;
use crate::model::{Fields, Media};

/// Returns the file with this id. Its bytes may be in the database or elsewhere.
pub(super) fn attachment(database: &Database, id: &str) -> Result<Option<Media>> {
    if !database.has("attachments", &["id", "type", "path", "url", "content"])? {
        return Ok(None);
    }
    let row = database.one("SELECT * FROM attachments WHERE id = ?1", &[id.into()])?;
    Ok(row.as_ref().map(media))
}

fn media(row: &DatabaseRow) -> Media {
    let mime = row.word("type").unwrap_or_else(|| "application/octet-stream".to_owned());
    let kind = kind_of(&mime);
    let data = match row.value("content") {
        ColumnValue::Blob(bytes) if !bytes.is_empty() => Some(base64(bytes)),
        ColumnValue::Text(text) if !text.is_empty() => Some(base64(text.as_bytes())),
        _ => None,
    };
    let uri = row.word("url").or_else(|| row.word("path"));
    Media { kind, mime_type: mime, data, uri, extra: Fields::new() }
}

/// Returns the fragment of text with this number.
pub(super) fn fragment(database: &Database, number: i64) -> Result<String> {
    if !database.has("fragments", &["id", "content"])? {
        return Ok(String::new());
    }
    let row = database.one("SELECT content FROM fragments WHERE id = ?1", &[number.into()])?;
    Ok(row.and_then(|row| row.text("content").map(str::to_owned)).unwrap_or_default())
}
