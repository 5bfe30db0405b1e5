//! How a loss report is stored: facts of one kind in one message stand together, so that thousands take little room.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::MessageId;
use crate::ops::compact::{Fact, FactKind};

/// Facts of one kind that stood in one message.
#[derive(Serialize, Deserialize)]
struct Group {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
    kind: FactKind,
    texts: Vec<String>,
}

/// Writes facts, in their order.
pub(crate) fn serialize<S: Serializer>(facts: &[Fact], serializer: S) -> Result<S::Ok, S::Error> {
    let groups = facts.chunk_by(|one, next| (one.message, one.kind) == (next.message, next.kind));
    let groups = groups.map(|group| Group {
        message: group[0].message,
        kind: group[0].kind,
        texts: group.iter().map(|fact| fact.text.clone()).collect(),
    });
    serializer.collect_seq(groups)
}

/// Reads facts, in their order.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Fact>, D::Error> {
    let groups: Vec<Group> = Deserialize::deserialize(deserializer)?;
    let facts = groups.into_iter().flat_map(|Group { message, kind, texts }| {
        texts.into_iter().map(move |text| Fact { kind, text, message })
    });
    Ok(facts.collect())
}
