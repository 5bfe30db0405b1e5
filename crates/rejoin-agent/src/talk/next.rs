//! What a provider would be asked next, for a person to look at.

use rejoin::view::Repair;

use crate::providers::Request;
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
    /// What would be asked if the conversation went on now. What is said next is not part of it. Nothing is sent.
    pub async fn next_request(&self) -> NextRequest {
        let specs = self.specs().await;
        let view = self.history.view(&self.provider.recipient());
        let request = Request {
            model: &self.model,
            system: &self.system,
            messages: &view.messages,
            tools: &specs,
            max_tokens: None,
        };
        NextRequest { body: self.provider.written(&request), repairs: view.repairs }
    }
}
