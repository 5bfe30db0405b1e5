//! What stands for redaction in a build without it: nothing here can be made,
//! so nothing is taken out of anything.

use std::convert::Infallible;
use std::io::{self, Read};
use std::marker::PhantomData;

use crate::error::Result;
use crate::model::{Conversation, Message, Redacted};

/// Rules of redaction, which nobody can set.
#[derive(Clone, Debug)]
pub(crate) struct Redaction(Infallible);

/// Keeps a key that nobody makes.
pub(crate) type KeepKey = dyn Fn([u8; 32]) -> Result<[u8; 32]> + Send + Sync;

/// What would redact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redactor<'a>(Infallible, PhantomData<&'a ()>);

/// A message without its secrets.
#[derive(Debug)]
pub(crate) struct Cleaned {
    pub(crate) message: Message,
    pub(crate) tally: RedactionTally,
}

impl Redactor<'_> {
    pub(crate) fn message(&self, _: &Message, _: &str) -> Option<Cleaned> {
        match self.0 {}
    }

    pub(crate) fn header(&self, _: &Conversation, _: &mut RedactionTally) -> Option<Conversation> {
        match self.0 {}
    }

    pub(crate) fn text(&self, _: &str, _: &mut RedactionTally) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn name(&self, _: &str, _: &mut RedactionTally) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn line(&self, _: &str, _: &mut RedactionTally) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn settled(&self, _: &str) -> usize {
        match self.0 {}
    }
}

/// A stream without its secrets.
pub(crate) struct Cleaning<'a>(Redactor<'a>);

impl<'a> Cleaning<'a> {
    pub(crate) const fn new(redactor: Redactor<'a>, _: &'a mut dyn Read) -> Self {
        Self(redactor)
    }
}

impl Read for Cleaning<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0.0 {}
    }
}

/// What was taken out: nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedactionTally(());

impl RedactionTally {
    pub(crate) const fn is_empty(&self) -> bool {
        true
    }

    pub(crate) const fn extend(&mut self, _: &Self) {}

    pub(crate) const fn to_redacted(&self) -> Vec<Redacted> {
        Vec::new()
    }
}
