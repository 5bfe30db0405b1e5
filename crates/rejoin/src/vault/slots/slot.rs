//! One slot: a key pair whose private half is sealed with the slot's secret, and
//! the workspace key, sealed to the pair.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::model::Time;
use crate::store::sealed::keys::envelope::Sealer;
use crate::store::sealed::keys::key::{KeyId, SealingKey};
use crate::store::sealed::keys::workspace::Workspace;
use crate::vault::slots::encoding::Base64;
use crate::vault::slots::key_pair;
use crate::vault::slots::key_pair::Pair;
use crate::vault::slots::passphrase;
use crate::vault::slots::passphrase::{Cost, PassphraseCost};
use crate::vault::slots::{Secret, SlotId, SlotKind, VaultId, recovery};

const PRIVATE: &str = "rejoin/vault/slot/1\n";
const WORKSPACE: &str = "rejoin/vault/workspace/1\n";
const CREATED: &str = "rejoin/vault/created/1\n";

/// Slot keys have no id of their own: each seals one thing.
const NO_ID: KeyId = KeyId::from_bytes([0; 16]);

/// A slot as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slot {
    pub(crate) id: SlotId,
    pub(crate) kind: SlotKind,
    /// When it was made, sealed with the workspace key.
    created: Base64,
    public: Base64,
    private: Base64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    argon2: Option<PassphraseCost>,
    workspace: Base64,
}

impl Slot {
    /// A slot that a secret opens. A passphrase may be expensive to try.
    pub(crate) fn new(
        workspace: &Workspace,
        kind: SlotKind,
        secret: &Secret,
        cost: Cost,
        at: Time,
    ) -> Result<Self> {
        let argon2 = match kind {
            SlotKind::Passphrase => {
                passphrase::check_new(secret)?;
                Some(PassphraseCost::new(cost)?)
            }
            SlotKind::Keyring | SlotKind::Recovery | SlotKind::File => None,
        };
        let pair = Pair::random();
        let mut slot = Self {
            id: SlotId::random(),
            kind,
            created: Base64::default(),
            public: Base64(pair.public.to_vec()),
            private: Base64::default(),
            argon2,
            workspace: Base64::default(),
        };
        let vault = VaultId::of(workspace.vault());
        let sealer = Sealer::new(NO_ID, &slot.key(secret)?);
        let place: &[&[u8]] = &[vault.as_bytes(), slot.id.as_bytes(), &[kind.number()], &pair.public];
        slot.private = Base64(sealer.seal(PRIVATE, place, &[pair.private()]));
        slot.seal_time(workspace, at);
        slot.seal(workspace)?;
        Ok(slot)
    }

    /// When it was made, which whoever has the workspace key can tell.
    pub(crate) fn created_at(&self, workspace: &Workspace) -> Result<Time> {
        let broken = || self.broken("when it was made does not open");
        let vault = workspace.vault();
        let place: &[&[u8]] = &[vault.as_bytes(), self.id.as_bytes()];
        let inside = workspace.wrapping().open(CREATED, place, &self.created.0).map_err(|_| broken())?;
        let micros = inside.try_into().map_err(|_| broken())?;
        Ok(Time::from_micros(i64::from_be_bytes(micros)))
    }

    fn seal_time(&mut self, workspace: &Workspace, at: Time) {
        let vault = workspace.vault();
        let place: &[&[u8]] = &[vault.as_bytes(), self.id.as_bytes()];
        let micros = at.as_micros().to_be_bytes();
        self.created = Base64(workspace.wrapping().seal(CREATED, place, &[&micros]));
    }

    /// Refuses what no slot looks like, before anything is done with it.
    pub(crate) fn check(&self) -> Result<()> {
        if self.argon2.is_some() != (self.kind == SlotKind::Passphrase) {
            return Err(self.broken("its figures do not fit its kind"));
        }
        self.argon2.as_ref().map_or(Ok(()), PassphraseCost::check)?;
        self.public().map(drop)
    }

    /// Seals the next workspace key to the slot, and when the slot was made with that key. Its secret is not
    /// needed.
    pub(crate) fn pass_on(&mut self, before: &Workspace, next: &Workspace) -> Result<()> {
        let at = self.created_at(before)?;
        self.seal_time(next, at);
        self.seal(next)
    }

    /// Seals a workspace key to the slot.
    fn seal(&mut self, workspace: &Workspace) -> Result<()> {
        let (ephemeral, public) = (Pair::random(), self.public()?);
        let key = shared_key(&ephemeral, &public, &ephemeral.public, &public)?;
        let (vault, epoch) = (workspace.vault(), workspace.epoch().to_be_bytes());
        let envelope = Sealer::new(workspace.id(), &key).seal(
            WORKSPACE,
            &[vault.as_bytes(), self.id.as_bytes(), &epoch],
            &[workspace.key().expose()],
        );
        self.workspace = Base64([ephemeral.public.as_slice(), &envelope].concat());
        Ok(())
    }

    /// Opens the slot with its secret. A secret that does not fit is denied.
    pub(crate) fn open(&self, vault: VaultId, secret: &Secret) -> Result<Pair> {
        let sealer = Sealer::new(NO_ID, &self.key(secret)?);
        let place: &[&[u8]] = &[vault.as_bytes(), self.id.as_bytes(), &[self.kind.number()], &self.public.0];
        let private = sealer.open(PRIVATE, place, &self.private.0).map(Zeroizing::new).map_err(|_| {
            Error::new(ErrorKind::Denied, format!("it does not fit the {} slot `{}`", self.kind, self.id))
        })?;
        let mut key = Zeroizing::new([0; key_pair::LENGTH]);
        if private.len() != key.len() {
            return Err(self.broken("its private key has another length"));
        }
        key.copy_from_slice(&private);
        let pair = Pair::of(key)?;
        if pair.public == self.public()? { Ok(pair) } else { Err(self.broken("its two keys are no pair")) }
    }

    /// The workspace key that was sealed to the slot.
    pub(crate) fn unseal(&self, vault: VaultId, epoch: u64, id: KeyId, pair: &Pair) -> Result<SealingKey> {
        let broken = || self.broken("what is sealed to it does not open");
        let (ephemeral, envelope) = self.workspace.0.split_first_chunk().ok_or_else(broken)?;
        let key = shared_key(pair, ephemeral, ephemeral, &pair.public)?;
        let place: &[&[u8]] = &[vault.as_bytes(), self.id.as_bytes(), &epoch.to_be_bytes()];
        let inside = Sealer::new(id, &key).open(WORKSPACE, place, envelope).map(Zeroizing::new);
        SealingKey::from_slice(&inside.map_err(|_| broken())?).ok_or_else(broken)
    }

    fn key(&self, secret: &Secret) -> Result<SealingKey> {
        let derived = |secret: &Secret, info| {
            SealingKey::from_slice(secret.as_bytes())
                .map(|key| key.derive(info))
                .ok_or_else(|| self.broken("its secret has another length"))
        };
        match (self.kind, &self.argon2) {
            (SlotKind::Keyring, _) => derived(secret, "rejoin/vault/keyring/1\n"),
            (SlotKind::Recovery, _) => derived(secret, "rejoin/vault/recovery/1\n"),
            (SlotKind::File, _) => derived(secret, "rejoin/vault/file/1\n"),
            (SlotKind::Passphrase, Some(figures)) => figures.key(secret),
            (SlotKind::Passphrase, None) => Err(self.broken("it has no figures")),
        }
    }

    fn public(&self) -> Result<[u8; key_pair::LENGTH]> {
        self.public.0.as_slice().try_into().map_err(|_| self.broken("its public key has another length"))
    }

    fn broken(&self, why: &str) -> Error {
        Error::corrupt(format!("the {} slot `{}` is damaged: {why}", self.kind, self.id))
    }
}

/// The secret of a slot of a kind, as a person gave it.
pub(crate) fn given(kind: SlotKind, secret: &Secret) -> Result<Secret> {
    match kind {
        SlotKind::Recovery => recovery::from_text(secret),
        SlotKind::Passphrase | SlotKind::Keyring | SlotKind::File => Ok(secret.clone()),
    }
}

fn shared_key(
    own: &Pair,
    theirs: &[u8; key_pair::LENGTH],
    ephemeral: &[u8; key_pair::LENGTH],
    public: &[u8; key_pair::LENGTH],
) -> Result<SealingKey> {
    let shared = own.shared_with(theirs)?;
    let shared = SealingKey::from_slice(shared.as_slice()).expect("it has the length of a key");
    Ok(shared.derive_salted(&[ephemeral.as_slice(), public].concat(), WORKSPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        let [vault, id] = [1, 2].map(|byte| KeyId::from_bytes([byte; 16]));
        let [key, names] = [3, 4].map(|byte| SealingKey::from_slice(&[byte; 32]).unwrap());
        Workspace::of(vault, 1, id, key, names)
    }

    fn slot(kind: SlotKind, secret: &Secret) -> Slot {
        Slot::new(&workspace(), kind, secret, Cost { memory_kib: 8, passes: 1 }, Time::default()).unwrap()
    }

    fn told<T>(outcome: Result<T>) -> String {
        outcome.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn figures_that_do_not_fit_the_kind_are_refused() {
        let secret = Secret::new(vec![5; 32]);
        let without = Slot { kind: SlotKind::Passphrase, ..slot(SlotKind::File, &secret) };
        let vault = VaultId::of(workspace().vault());

        let refused = [told(without.check()), told(without.open(vault, &secret))];

        let damaged = |why| format!("the passphrase slot `{}` is damaged: {why}", without.id);
        assert_eq!(refused, ["its figures do not fit its kind", "it has no figures"].map(damaged));
    }

    #[test]
    fn what_has_another_length_than_a_key_is_refused() {
        let secret = Secret::new(vec![5; 32]);
        let vault = VaultId::of(workspace().vault());
        let whole = slot(SlotKind::File, &secret);
        let place: &[&[u8]] =
            &[vault.as_bytes(), whole.id.as_bytes(), &[SlotKind::File.number()], &whole.public.0];
        let short = Sealer::new(NO_ID, &whole.key(&secret).unwrap()).seal(PRIVATE, place, &[&[7; 31]]);
        let other = Base64(Pair::random().private().to_vec());

        let refused = [
            told(Slot { private: Base64(short), ..whole.clone() }.open(vault, &secret)),
            told(whole.open(vault, &Secret::new(vec![5; 31]))),
            told(Slot { public: Base64(vec![1; 31]), ..whole.clone() }.check()),
            told(Slot { workspace: other, ..whole.clone() }.unseal(
                vault,
                1,
                workspace().id(),
                &Pair::random(),
            )),
        ];

        let damaged = |why| format!("the file slot `{}` is damaged: {why}", whole.id);
        let expected = [
            "its private key has another length",
            "its secret has another length",
            "its public key has another length",
            "what is sealed to it does not open",
        ];
        assert_eq!(refused, expected.map(damaged));
    }
}
