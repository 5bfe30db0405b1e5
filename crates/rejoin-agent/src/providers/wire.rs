//! One API's language, apart from how it travels: how a request is written, and how a stream is read.
//!
//! Nothing here does input or output, so that a recorded stream can be read whole, cut
//! anywhere, or with strange events in between.

use rejoin::view::Recipient;

use crate::error::Result;
use crate::providers::{Api, Piece, Reply, Request};

/// How one API is spoken.
pub(crate) trait Wire: std::fmt::Debug + Send + Sync {
    /// Which API.
    fn api(&self) -> Api;

    /// What the provider behind it can take.
    fn recipient(&self) -> Recipient;

    /// The header that carries the key, and what stands before the key in it.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// What is posted for a request.
    fn post(&self, request: &Request<'_>) -> Post;

    /// Reads one reply. `provider` is the name it is configured under, kept in the reply.
    fn reader(&self, provider: &str, request: &Request<'_>) -> Box<dyn EventReader>;
}

/// What is posted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Post {
    /// The path below the base URL, such as `messages`.
    pub(crate) path: &'static str,
    /// Headers of the API, without the key.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The JSON text of the body.
    pub(crate) body: String,
}

/// Reads the events of one streamed reply.
pub(crate) trait EventReader: Send {
    /// Takes the next event of the stream, and tells what arrived. An event it does not know is passed over.
    ///
    /// An error that the provider sends in the stream is an error here, of the kind it is.
    fn take(&mut self, event: &ServerEvent, tell: &mut dyn FnMut(Piece)) -> Result<()>;

    /// True once the provider has said that the reply is complete.
    fn is_complete(&self) -> bool;

    /// The reply; a stream that ended too early is malformed.
    fn finish(self: Box<Self>) -> Result<Reply>;
}

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// Its `event` field; empty when it had none.
    pub(crate) name: String,
    /// Its `data` lines, joined by line feeds.
    pub(crate) data: String,
}
