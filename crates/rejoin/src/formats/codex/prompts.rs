//! What a person said on the path of a thread, to find again what a compaction keeps of it.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

/// The prompts of a path, oldest first.
#[derive(Default)]
pub(super) struct Prompts {
    all: Vec<Prompt>,
    /// Where they stand in the list, by what the program calls them; of two of one name the newest.
    ids: HashMap<String, usize>,
    /// The same, by what they say.
    said: HashMap<[u8; 32], Vec<usize>>,
}

struct Prompt {
    /// Where on the path it is.
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
        self.all.push(Prompt { place, hash, id });
    }

    /// Takes the newest away and says where on the path it was.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let Prompt { place, hash, id } = self.all.pop()?;
        self.said.get_mut(&hash).map(Vec::pop);
        if let Some(id) = id {
            self.ids.remove(&id);
        }
        Some(place)
    }

    /// Where on the path they are.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|prompt| prompt.place)
    }

    /// Those that a compaction keeps, given the names and texts that it sends, with the text where it is another one.
    ///
    /// The name tells which it is: pictures are left out of what is sent, and a long text is cut. Without a name, only
    /// the same text is the same prompt.
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
