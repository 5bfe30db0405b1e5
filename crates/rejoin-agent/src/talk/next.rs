//! What a provider would be asked next, for a person to look at.

use rejoin::view::{Repair, View};

use crate::providers::{Request, ToolSpec};
use crate::talk::Talk;

/// What a provider would be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct NextRequest {
    /// What would be posted, to the letter; none when the provider posts nothing.
    pub body: Option<String>,
    /// What was changed in the history to make it valid, in order.
    pub repairs: Vec<Repair>,
}

impl Talk {
    /// What would be asked if the conversation went on now. What is said next
    /// is not part of it. Nothing is sent.
    pub async fn next_request(&self) -> NextRequest {
        let specs = self.specs().await;
        let view = self.history.view(&self.provider.recipient());
        let body = self.provider.written(&self.request(&view, &specs));
        NextRequest { body, repairs: view.repairs }
    }

    /// The request for a reply to a view.
    pub(super) fn request<'a>(&'a self, view: &'a View<'a>, specs: &'a [ToolSpec]) -> Request<'a> {
        Request {
            model: &self.model,
            system: &self.system,
            messages: &view.messages,
            tools: specs,
            max_tokens: None,
        }
    }
}
