//! A conversion that is under way, noted in the state directory, so that the same command
//! goes on with it whenever it is interrupted: the configuration may name the new store
//! already, and the old one may be half erased.

use std::fs;
use std::io;
use std::path::PathBuf;

use rejoin::StoreUrl;
use rejoin::vault::VaultStatus;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::durable::{self, ExistingFile};
use crate::error::Failure;

/// What is noted of a conversion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unfinished {
    from: String,
    to: String,
    /// Whether the slots of the new vault were shown. What was not shown, nobody has.
    pub(super) is_told: bool,
    /// Whether everything was copied and compared, so that the old store may be erased.
    pub(super) is_copied: bool,
    /// The vault that is to be erased, with what opens it.
    pub(super) vault: Option<VaultStatus>,
}

impl Unfinished {
    /// The conversion into a store that did not end; none when there is none.
    pub(super) fn into(to: &StoreUrl, context: &Context) -> Result<Option<Self>, Failure> {
        let path = path(to, context)?;
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::io(format!("read `{}`", path.display()), error)),
        };
        // One that does not read is as good as none: the conversion begins again.
        let noted = serde_json::from_slice::<Self>(&text).ok();
        Ok(noted.filter(|noted| noted.to == to.to_string()))
    }

    /// Notes that a conversion begins, or finds what was noted of it before.
    pub(super) fn begin(from: &StoreUrl, to: &StoreUrl, context: &Context) -> Result<Self, Failure> {
        let before = Self::into(to, context)?.filter(|noted| noted.from == from.to_string());
        if let Some(before) = before {
            return Ok(before);
        }
        let begun = Self {
            from: from.to_string(),
            to: to.to_string(),
            is_told: false,
            is_copied: false,
            vault: None,
        };
        begun.write(context)?;
        Ok(begun)
    }

    /// The store that is copied.
    pub(super) fn from(&self) -> Result<StoreUrl, Failure> {
        Ok(StoreUrl::parse(&self.from)?)
    }

    /// Notes how far it is.
    pub(super) fn write(&self, context: &Context) -> Result<(), Failure> {
        let path = self.path(context)?;
        let text = serde_json::to_vec(self).expect("it is plain data");
        durable::place(&path, &text, ExistingFile::Goes)
            .map_err(|error| Failure::io(format!("write `{}`", path.display()), error))
    }

    /// Notes the vault that is to be erased, or that none is.
    pub(super) fn note_vault(
        &mut self,
        vault: Option<VaultStatus>,
        context: &Context,
    ) -> Result<(), Failure> {
        if self.vault == vault {
            return Ok(());
        }
        self.vault = vault;
        self.write(context)
    }

    /// Notes that it has ended.
    pub(super) fn end(self, context: &Context) -> Result<(), Failure> {
        let path = self.path(context)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::io(format!("remove `{}`", path.display()), error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, context: &Context) -> Result<PathBuf, Failure> {
        path(&StoreUrl::parse(&self.to)?, context)
    }
}

/// Where a conversion into a store is noted.
fn path(to: &StoreUrl, context: &Context) -> Result<PathBuf, Failure> {
    let hash = Sha256::digest(to.to_string());
    let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Ok(context.surroundings.state_directory()?.join("conversions").join(digits))
}
