//! What can open a vault, and the ids of vaults and slots.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::store::sealed::keys::key::KeyId;
use crate::vault::slots::encoding::Hex;

/// What opens a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotKind {
    /// A secret that the keyring of the system keeps.
    Keyring,
    /// A passphrase that a person knows.
    Passphrase,
    /// A key that was printed once.
    Recovery,
    /// A secret in a file that only its owner can read.
    File,
}

impl SlotKind {
    /// Every kind, the one to prefer first.
    pub const ALL: [Self; 4] = [Self::Keyring, Self::Passphrase, Self::Recovery, Self::File];

    /// The kind as it is written and typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::Passphrase => "passphrase",
            Self::Recovery => "recovery",
            Self::File => "file",
        }
    }

    /// True when a place keeps the secret, so that nobody has to be asked for it.
    pub const fn has_place(self) -> bool {
        match self {
            Self::Keyring | Self::File => true,
            Self::Passphrase | Self::Recovery => false,
        }
    }

    /// The number that stands in what is sealed.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Keyring => 1,
            Self::Passphrase => 2,
            Self::Recovery => 3,
            Self::File => 4,
        }
    }
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names a vault, wherever its store is moved to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VaultId(Hex<16>);

/// Names a slot of a vault. One that is rotated gets another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotId(pub(crate) Hex<8>);

impl VaultId {
    /// The id that a workspace knows its vault by.
    pub(crate) const fn of(id: KeyId) -> Self {
        Self(Hex(*id.as_bytes()))
    }

    /// Reads an id.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Hex::parse(text).map(Self)
    }

    /// The same, as the workspace has it.
    pub(crate) const fn to_key_id(self) -> KeyId {
        KeyId::from_bytes(self.0.0)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0.0
    }
}

impl SlotId {
    pub(crate) fn random() -> Self {
        Self(Hex::random())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0.0
    }
}

impl FromStr for SlotId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Hex::parse(text).map(Self).ok_or_else(|| Error::invalid(format!("`{text}` is not the id of a slot")))
    }
}

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_slot_reads_back_as_it_is_shown_and_nothing_else_does() {
        let id = SlotId::random();

        let read: SlotId = id.to_string().parse().unwrap();
        let refused =
            ["", "d1d1", "D1D1D1D1D1D1D1D1"].map(|text| text.parse::<SlotId>().unwrap_err().to_string());

        assert_eq!((read, format!("{read:?}")), (id, id.to_string()));
        let vault = VaultId::of(KeyId::from_bytes([0xa0; 16]));
        assert_eq!(format!("{vault:?} {:?}", vault.0), ["a0".repeat(16), "a0".repeat(16)].join(" "));
        assert_eq!(
            refused,
            ["", "d1d1", "D1D1D1D1D1D1D1D1"].map(|text| format!("`{text}` is not the id of a slot"))
        );
    }
}
