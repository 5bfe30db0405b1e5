//! The models that a provider offers: `/v1/models`, or what Ollama has at `/api/tags`.

use reqwest::header::ACCEPT;
use reqwest::header::HeaderValue;
use reqwest::{StatusCode, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::http::{FailedAttempt, Http};
use crate::providers::{Api, Request};

/// The longest list that is read. Routers offer some hundred models, with a page about each.
const MAX_LIST: usize = 16 * 1024 * 1024;

impl Http {
    /// The names of the models, in the provider's order.
    pub(super) async fn list(&self) -> Result<Vec<String>> {
        let key = self.keys.key().await?;
        let limit = self.settings.list_timeout;
        let listed = async {
            let mut first = self.address.endpoint("models");
            if self.wire.api() == Api::Anthropic {
                first.set_query(Some("limit=1000"));
            }
            match self.get(first, key.as_ref()).await {
                // Servers that have no such route, or nothing there, may be an older Ollama.
                Ok(names) if !names.is_empty() || !self.address.is_loopback() => Ok(names),
                Err(failed) if failed.status != Some(StatusCode::NOT_FOUND) => Err(failed),
                other => match self.get(self.address.at_root("/api/tags"), key.as_ref()).await {
                    Ok(names) => Ok(names),
                    Err(_) => other,
                },
            }
        };
        let outcome = timeout(limit, listed).await.unwrap_or_else(|_| Err(self.silent(limit)));
        outcome.map_err(|failed| self.explain(failed.error, key.as_ref(), "its models"))
    }

    async fn get(
        &self,
        url: Url,
        key: Option<&crate::providers::ApiKey>,
    ) -> Result<Vec<String>, FailedAttempt> {
        let client =
            self.client.get_or_try_init(|| async { self.build() }).await.map_err(FailedAttempt::new)?;
        let nothing = Request { model: "", system: "", messages: &[], tools: &[], max_tokens: None };
        let mut headers = self.headers(&self.wire.post(&nothing), key);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut response = self.patient(client.get(url).headers(headers).send()).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.patient(response.chunk()).await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_LIST {
                let why = format!("the list of models is longer than {MAX_LIST} bytes");
                return Err(FailedAttempt::new(Error::new(ErrorKind::Malformed, why)));
            }
        }
        names(&body).ok_or_else(|| {
            FailedAttempt::new(Error::new(ErrorKind::Malformed, "the answer is not a list of models"))
        })
    }
}

/// The names in an answer: `{"data":[{"id"}]}`, or Ollama's `{"models":[{"name"}]}`.
fn names(body: &[u8]) -> Option<Vec<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = ["data", "models"].iter().find_map(|name| value.get(name)).unwrap_or(&value);
    if list.is_null() {
        return Some(Vec::new());
    }
    let name = |model: &Value| {
        let name = ["id", "name", "model"].iter().find_map(|field| model.get(field)?.as_str());
        name.or_else(|| model.as_str()).map(str::to_owned)
    };
    Some(list.as_array()?.iter().filter_map(name).filter(|name| !name.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_list_is_read() {
        let lists = [
            r#"{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"}]}"#,
            r#"{"data":[{"type":"model","id":"claude-x","display_name":"X"}],"has_more":false}"#,
            r#"{"models":[{"name":"llama3.2:3b","model":"llama3.2:3b"}]}"#,
            r#"{"object":"list","data":null}"#,
            r#"["one","two"]"#,
            r#"{"error":"no"}"#,
            "<html>",
        ];

        let read = lists.map(|list| names(list.as_bytes()));

        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let expected = [
            list(&["b", "a"]),
            list(&["claude-x"]),
            list(&["llama3.2:3b"]),
            list(&[]),
            list(&["one", "two"]),
            None,
            None,
        ];
        assert_eq!(read, expected);
    }
}
