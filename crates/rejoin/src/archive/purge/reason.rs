//! Why something is purged: five codes, the same in reports, events, the audit log and the command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// Why something is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PurgeReason {
    /// Somebody asked for it.
    UserRequested,
    /// Its time was over.
    RetentionExpired,
    /// A rule about private data asks for it.
    PrivacyPolicyChange,
    /// The project begins anew.
    WorkspaceReset,
    /// It is damaged.
    CorruptionDetected,
}

impl PurgeReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [
        Self::UserRequested,
        Self::RetentionExpired,
        Self::PrivacyPolicyChange,
        Self::WorkspaceReset,
        Self::CorruptionDetected,
    ];

    /// The reason's code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserRequested => "user-requested",
            Self::RetentionExpired => "retention-expired",
            Self::PrivacyPolicyChange => "privacy-policy-change",
            Self::WorkspaceReset => "workspace-reset",
            Self::CorruptionDetected => "corruption-detected",
        }
    }
}

impl fmt::Display for PurgeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for PurgeReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for PurgeReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for PurgeReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let all = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("`{shown}` is not a reason; expected one of {all}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_back_by_its_code() {
        let read = PurgeReason::ALL.map(|reason| reason.as_str().parse::<PurgeReason>().ok());

        assert_eq!(read, PurgeReason::ALL.map(Some));
    }
}
