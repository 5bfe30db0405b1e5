//! X25519 key pairs of slots. Anyone with the public key can encrypt to a slot; only its private key
//! decrypts.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// The length of each half.
pub(crate) const LENGTH: usize = 32;

/// A private key and its public half.
#[derive(Clone)]
pub(crate) struct Pair {
    private: Zeroizing<[u8; LENGTH]>,
    pub(crate) public: [u8; LENGTH],
}

impl Pair {
    /// A pair that nobody can guess.
    pub(crate) fn random() -> Self {
        let mut private = Zeroizing::new([0; LENGTH]);
        getrandom::fill(private.as_mut()).expect("the operating system gives random bytes");
        Self::of(private).expect("any 32 bytes are a private key")
    }

    /// The pair of a private key.
    pub(crate) fn of(private: Zeroizing<[u8; LENGTH]>) -> Result<Self> {
        let mut public = [0; LENGTH];
        let computed = key(&private)?.compute_public_key().map_err(|_| fault())?;
        public.copy_from_slice(computed.as_ref());
        Ok(Self { private, public })
    }

    pub(crate) fn private(&self) -> &[u8; LENGTH] {
        &self.private
    }

    /// What this pair and the owner of another public key can both compute, and nobody else.
    ///
    /// A public key for which anybody could is refused.
    pub(crate) fn shared_with(&self, public: &[u8; LENGTH]) -> Result<Zeroizing<[u8; LENGTH]>> {
        let theirs = UnparsedPublicKey::new(&X25519, public);
        agree(&key(&self.private)?, theirs, fault(), |secret| {
            let mut shared = Zeroizing::new([0; LENGTH]);
            shared.copy_from_slice(secret);
            Ok(shared)
        })
    }
}

fn key(private: &[u8; LENGTH]) -> Result<PrivateKey> {
    PrivateKey::from_private_key(&X25519, private).map_err(|_| fault())
}

fn fault() -> Error {
    Error::corrupt("the key of a slot cannot be used")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn known_keys_have_known_halves_and_a_known_secret() {
        let [ours, theirs] = [1, 2].map(|byte| Pair::of(Zeroizing::new([byte; LENGTH])).unwrap());

        let shared = ours.shared_with(&theirs.public).unwrap();

        // Computed with the ladder of RFC 7748, written down anew in Python.
        assert_eq!(
            [hex(&ours.public), hex(&theirs.public), hex(&*shared)],
            [
                "a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209",
                "ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59",
                "2ed76ab549b1e73c031eb49c9448f0798aea81b698279a0c3dc3e49fbfc4b953"
            ]
        );
    }

    #[test]
    fn both_sides_compute_the_same() {
        let (ours, theirs) = (Pair::random(), Pair::random());

        let shared = [ours.shared_with(&theirs.public).unwrap(), theirs.shared_with(&ours.public).unwrap()];

        assert_eq!(shared[0], shared[1]);
    }

    #[test]
    fn a_public_key_that_gives_everybody_the_same_is_refused() {
        assert!(Pair::random().shared_with(&[0; LENGTH]).is_err());
    }
}
