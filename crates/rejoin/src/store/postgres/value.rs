//! Values of columns that the client has no types for.

use std::error::Error as StdError;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::model::ConversationId;

/// A value and the type it is sent as.
pub(super) type TypedValue<'a> = (&'a (dyn ToSql + Sync), Type);

/// A conversation's id, or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uuid(pub(super) [u8; 16]);

impl Uuid {
    /// The conversation that owns a blob, or zero.
    pub(super) fn owner(owner: Option<ConversationId>) -> Self {
        Self(owner.map_or([0; 16], |owner| *owner.as_bytes()))
    }

    pub(super) const fn id(self) -> ConversationId {
        ConversationId::from_bytes(self.0)
    }
}

impl From<ConversationId> for Uuid {
    fn from(id: ConversationId) -> Self {
        Self(*id.as_bytes())
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// Pairs values with the types they are sent as: `values![id => UUID, limit => INT8]`.
macro_rules! values {
    ($($value:expr => $kind:ident),* $(,)?) => {
        [$((&$value as &(dyn ::tokio_postgres::types::ToSql + Sync), ::tokio_postgres::types::Type::$kind)),*]
    };
}

pub(super) use values;
