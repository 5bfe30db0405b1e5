//! The user's prompts on the path of a thread, to identify those that a compaction keeps.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

/// The prompts on a path, oldest first.
#[derive(Default)]
pub(super) struct Prompts {
    all: Vec<PathPrompt>,
    /// Indexes by the program's id; the newest of several with one id.
    ids: HashMap<String, usize>,
    /// Indexes by text.
    said: HashMap<[u8; 32], Vec<usize>>,
}

struct PathPrompt {
    /// Its position on the path.
    place: usize,
    hash: [u8; 32],
    id: Option<String>,
}

impl Prompts {
    pub(super) fn push(&mut self, place: usize, text: &str, id: Option<String>) {
        let (own, hash) = (self.all.len(), hash(text));
        self.said.entry(hash).or_default().push(own);
        if let Some(id) = &id {
            self.ids.insert(id.clone(), own);
        }
        self.all.push(PathPrompt { place, hash, id });
    }

    /// Removes the newest prompt and returns its position on the path.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let PathPrompt { place, hash, id } = self.all.pop()?;
        self.said.get_mut(&hash).map(Vec::pop);
        if let Some(id) = id {
            self.ids.remove(&id);
        }
        Some(place)
    }

    /// Returns the positions on the path.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|prompt| prompt.place)
    }

    /// Returns the prompts that a compaction keeps, given the ids and texts it sends, each with its text if
    /// that was changed.
    ///
    /// The id identifies a prompt even if pictures were left out or a long text was cut. Without an id, the
    /// text must be the same.
    pub(super) fn kept(
        &self,
        sent: impl Iterator<Item = (Option<String>, String)>,
    ) -> Vec<(usize, Option<String>)> {
        let mut times: HashMap<[u8; 32], usize> = HashMap::new();
        let mut known = HashSet::new();
        let mut kept = Vec::new();
        for (id, text) in sent {
            let hash = hash(&text);
            let named = id.and_then(|id| self.ids.get(&id).copied());
            let time = times.entry(hash).or_default();
            *time += 1;
            let own = named.or_else(|| self.said.get(&hash)?.get(*time - 1).copied());
            let Some(own) = own.filter(|own| known.insert(*own)) else { continue };
            let prompt = &self.all[own];
            kept.push((prompt.place, Some(text).filter(|_| prompt.hash != hash)));
        }
        kept
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
