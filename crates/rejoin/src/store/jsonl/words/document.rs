//! The messages of a run: where each stands, and what a search orders and filters by.

use crate::error::Result;
use crate::model::{MessageId, Role, Time};
use crate::store::index::{Taker, fold, malformed, push, unfold};

/// A message that has words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) seq: u32,
    pub(super) time: Time,
    pub(super) role: Role,
    /// Where its body begins in the file, and how long it is there.
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) id: MessageId,
}

/// Writes messages of one run, in order.
pub(super) fn write(documents: &[Document], out: &mut Vec<u8>) {
    let (mut seq, mut time, mut offset) = (0, 0_i64, 0);
    for document in documents {
        push(out, u64::from(document.seq - seq));
        push(out, fold(document.time.as_micros().wrapping_sub(time)));
        push(out, document.offset - offset);
        push(out, u64::from(document.length));
        let id = document.id.as_str().as_bytes();
        out.push(document.role as u8);
        out.push(id.len() as u8);
        out.extend_from_slice(id);
        (seq, time, offset) = (document.seq, document.time.as_micros(), document.offset);
    }
}

/// Reads so many messages, which are all that is there.
pub(super) fn read(bytes: &[u8], count: u32) -> Result<Vec<Document>> {
    let mut rest = Taker(bytes);
    // A message takes at least six bytes, so what the head claims is believed only so far.
    let mut documents = Vec::with_capacity((count as usize).min(bytes.len() / 6));
    let (mut seq, mut time, mut offset) = (0, 0_i64, 0_u64);
    for _ in 0..count {
        seq = rest.sequence(seq, u32::MAX)?;
        time = time.wrapping_add(unfold(rest.number()?));
        let place = rest.number().map(|step| offset.checked_add(step))?;
        offset = place.ok_or_else(|| malformed("has an impossible place"))?;
        let length = u32::try_from(rest.number()?).map_err(|_| malformed("has an impossible length"))?;
        let role = Role::ALL.get(usize::from(rest.bytes(1)?[0])).copied();
        let role = role.ok_or_else(|| malformed("has an unknown role"))?;
        let id = u64::from(rest.bytes(1)?[0]);
        let id = str::from_utf8(rest.bytes(id)?).ok().and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| malformed("has a malformed message id"))?;
        documents.push(Document { seq, time: Time::from_micros(time), role, offset, length, id });
    }
    if rest.is_empty() { Ok(documents) } else { Err(malformed("has more messages than it says")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_and_a_cut_is_noticed() {
        let document = |seq, micros, offset| Document {
            seq,
            time: Time::from_micros(micros),
            role: Role::ALL[seq as usize % 4],
            offset,
            length: seq * 300,
            id: format!("m{seq}").parse().unwrap(),
        };
        let documents = [document(1, i64::MAX, 400), document(2, i64::MIN, 900), document(9, 0, 1 << 40)];
        let mut bytes = Vec::new();
        write(&documents, &mut bytes);

        let cut = (0..bytes.len()).filter(|length| read(&bytes[..*length], 3).is_ok()).count();

        assert_eq!(read(&bytes, 3).unwrap(), documents);
        assert_eq!((cut, read(&bytes, 2).is_ok()), (0, false));
    }
}
