//! Providers that are asked over HTTP: one request, one stream of events, tried
//! again when a failure may pass.
//!
//! What is said, and how it is read, is the business of a [`Wire`]. A key goes only to the host that was
//! configured: redirects are not followed, and plain HTTP carries no key to another machine.

mod address;
mod answer;
mod list;
mod settings;
mod wait;

use std::error::Error as StdError;
use std::time::Duration;

use jiff::Timestamp;
use rejoin::view::Recipient;
use rejoin::{Nature, SystemNature};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use reqwest::{Client, Response, StatusCode, redirect};
use tokio::sync::OnceCell;
use tokio::time::timeout;

pub(crate) use address::VersionedBase;
pub(crate) use answer::Complaint;
pub use settings::{HttpSettings, ThinkingBudget};

use crate::error::{Error, ErrorKind, Result};
use crate::providers::http::address::Address;
use crate::providers::key::{ApiKey, RememberedKey};
use crate::providers::sse::Sse;
use crate::providers::wire::{Post, Wire};
use crate::providers::{Api, Future, Listener, Piece, Provider, Reply, Request};

/// The longest reply, as it travels. No model writes a hundredth of it; a
/// server gone wrong could fill the memory.
const MAX_REPLY: usize = 1024 * 1024 * 1024;

/// How much of an answer that is not a stream is read: an error, or a page that explains one.
const MAX_COMPLAINT: usize = 64 * 1024;

/// How long such an answer may take; what has arrived by then is shown.
const COMPLAINT_LIMIT: Duration = Duration::from_secs(10);

/// A provider that is asked over HTTP.
#[derive(Debug)]
pub struct Http {
    settings: HttpSettings,
    wire: Box<dyn Wire>,
    address: Address,
    keys: RememberedKey,
    /// Made when first needed: reading the system's certificates takes a moment.
    client: OnceCell<Client>,
}

/// A failed attempt.
struct FailedAttempt {
    error: Error,
    /// The status, when there was an answer.
    status: Option<StatusCode>,
    /// True when another attempt may succeed.
    is_passing: bool,
}

impl FailedAttempt {
    fn new(error: Error) -> Self {
        Self { is_passing: error.kind().is_passing(), error, status: None }
    }
}

impl Http {
    /// A provider that speaks `wire`, at the base URL of the settings or else at `base_url`.
    pub(crate) fn new(
        mut settings: HttpSettings,
        wire: Box<dyn Wire>,
        base_url: &str,
        version: VersionedBase,
    ) -> Result<Self> {
        let address = Address::parse(settings.base_url.as_deref().unwrap_or(base_url), version)?;
        let keys = RememberedKey::new(std::mem::take(&mut settings.key));
        if keys.is_some() && address.is_open() {
            let message = format!("use the key of `{}` with `{}`", settings.name, address.host());
            let why = "a key is not sent over plain HTTP to another machine; use `https://`";
            return Err(Error::new(ErrorKind::Invalid, message).because(why));
        }
        Ok(Self { settings, wire, address, keys, client: OnceCell::new() })
    }

    async fn ask(&self, request: Request<'_>, listen: &mut Listener<'_>) -> Result<Reply> {
        let post = self.wire.post(&request);
        let mut failed = 0;
        let mut is_key_renewed = false;
        loop {
            let key = self.keys.key().await?;
            let mut failure = match self.attempt(&post, &request, key.as_ref(), listen).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            failure.error = self.explain(failure.error, key.as_ref(), "a reply");
            if failure.status == Some(StatusCode::UNAUTHORIZED) && self.keys.can_change() && !is_key_renewed {
                is_key_renewed = true;
                self.keys.forget().await;
                continue;
            }
            failed += 1;
            let mut chance = [0];
            SystemNature.fill(&mut chance);
            let backoff = wait::backoff(self.settings.first_wait, failed, chance[0]);
            let wait = failure.error.wait().filter(|wait| !wait.is_zero()).unwrap_or(backoff);
            if !failure.is_passing || failed > self.settings.max_retries || wait > wait::LONGEST_WAIT {
                return Err(failure.error);
            }
            let reason = causes(&failure.error);
            tracing::warn!(provider = self.settings.name, failed, reason, "the request is tried again");
            listen(Piece::Again { reason, failed, wait });
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        post: &Post,
        request: &Request<'_>,
        key: Option<&ApiKey>,
        listen: &mut Listener<'_>,
    ) -> Result<Reply, FailedAttempt> {
        let mut response = self.send(post, key).await?;
        let mut reader = self.wire.reader(&self.settings.name, request);
        let mut sse = Sse::default();
        let mut received = 0;
        while let Some(chunk) = self.patient(response.chunk()).await? {
            received += chunk.len();
            if received > MAX_REPLY {
                let error =
                    Error::new(ErrorKind::Malformed, format!("the reply is longer than {MAX_REPLY} bytes"));
                return Err(FailedAttempt { is_passing: false, ..FailedAttempt::new(error) });
            }
            sse.feed(&chunk);
            while let Some(event) = sse.next_event().map_err(FailedAttempt::new)? {
                reader.take(&event, &mut |piece| listen(piece)).map_err(FailedAttempt::new)?;
                if reader.is_complete() {
                    tokio::spawn(drain(response));
                    return reader.finish().map_err(FailedAttempt::new);
                }
            }
        }
        reader.finish().map_err(FailedAttempt::new)
    }

    /// Posts, and returns the answer if it is a stream.
    async fn send(&self, post: &Post, key: Option<&ApiKey>) -> Result<Response, FailedAttempt> {
        let client =
            self.client.get_or_try_init(|| async { self.build() }).await.map_err(FailedAttempt::new)?;
        let url = self.address.endpoint(post.path);
        let posted = client.post(url).headers(self.headers(post, key)).body(post.body.clone()).send();
        let limit = self.settings.idle_timeout;
        let answered = timeout(limit, posted).await.map_err(|_| self.silent(limit))?;
        let response = answered.map_err(|error| self.broken(error))?;
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_page = kind.is_some_and(|kind| kind.contains("json") || kind.contains("html"));
        if status.is_success() && !is_page {
            return Ok(response);
        }
        Err(self.refusal(response).await)
    }

    fn build(&self) -> Result<Client> {
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(self.settings.connect_timeout)
            .tcp_keepalive(Duration::from_secs(60));
        if self.address.is_loopback() {
            builder = builder.no_proxy();
        }
        builder
            .build()
            .map_err(|error| Error::new(ErrorKind::Network, "start the HTTP client").because(error))
    }

    fn headers(&self, post: &Post, key: Option<&ApiKey>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("rejoin/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in &post.headers {
            let value = HeaderValue::try_from(value).expect("an API's own headers are printable ASCII");
            headers.insert(HeaderName::from_static(name), value);
        }
        if let Some(key) = key {
            let (name, scheme) = self.wire.key_header();
            headers.insert(HeaderName::from_static(name), key.header(scheme));
        }
        headers
    }

    /// Reads an answer that is not a stream of events.
    async fn refusal(&self, mut response: Response) -> FailedAttempt {
        let status = response.status();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_COMPLAINT {
                    body.truncate(MAX_COMPLAINT);
                    break;
                }
            }
        };
        let _ = timeout(COMPLAINT_LIMIT, reading).await;
        let complaint = Complaint::read(&String::from_utf8_lossy(&body));
        if status.is_success() {
            let why = format!("the answer is not a stream of events: {complaint}");
            let error = Error::new(ErrorKind::Malformed, "read the answer").because(why);
            return FailedAttempt { error, status: Some(status), is_passing: false };
        }
        let words = if status.is_redirection() {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            format!("it redirects to `{to}`, which is not followed; set that as the base URL")
        } else {
            complaint.to_string()
        };
        let kind = answer::kind(status, &complaint);
        let error = Error::new(kind, format!("the status is {}", status.as_u16()))
            .because(words)
            .retry_after(wait::asked(&headers, Timestamp::now()));
        let is_vetoed = headers.get("x-should-retry").is_some_and(|should| should == "false");
        FailedAttempt { is_passing: kind.is_passing() && !is_vetoed, error, status: Some(status) }
    }

    /// Waits for the provider as long as the settings allow.
    async fn patient<T>(
        &self,
        work: impl std::future::Future<Output = reqwest::Result<T>>,
    ) -> Result<T, FailedAttempt> {
        let limit = self.settings.idle_timeout;
        let outcome = timeout(limit, work).await.map_err(|_| {
            let why = format!("nothing arrived for {} seconds", limit.as_secs_f32());
            FailedAttempt::new(Error::new(ErrorKind::Network, why))
        })?;
        outcome.map_err(|error| self.broken(error))
    }

    /// A connection that was not made, or broke.
    fn broken(&self, error: reqwest::Error) -> FailedAttempt {
        if !(error.is_connect() && is_refused(&error)) {
            // The URL may hold what should not be shown.
            let cause = error.without_url();
            return FailedAttempt::new(
                Error::new(ErrorKind::Network, "the connection failed").because(cause),
            );
        }
        let mut why = format!("could not connect to {} at {}", self.title(), self.address.origin());
        if let Some(start) = self.settings.start.as_ref().filter(|_| self.address.is_loopback()) {
            why += &format!("; start it with `{start}`");
        }
        let error = Error::new(ErrorKind::Unreachable, why);
        // What is not running on this machine does not start by being asked again.
        FailedAttempt { is_passing: !self.address.is_loopback(), ..FailedAttempt::new(error) }
    }

    /// What it is called in messages.
    fn title(&self) -> String {
        self.settings.title.clone().unwrap_or_else(|| format!("`{}`", self.settings.name))
    }

    /// The provider said nothing for so long. To wait as long again would try anyone's patience.
    fn silent(&self, limit: Duration) -> FailedAttempt {
        let (title, place) = (self.title(), self.address.origin());
        let why = format!("{title} at {place} did not answer within {} s", limit.as_secs_f32());
        FailedAttempt { is_passing: false, ..FailedAttempt::new(Error::new(ErrorKind::Silent, why)) }
    }

    /// Says whom we asked, and takes the key out of whatever the error holds.
    fn explain(&self, error: Error, key: Option<&ApiKey>, wanted: &str) -> Error {
        let (kind, wait) = (error.kind(), error.wait());
        // These say whom themselves, in one line.
        if matches!(kind, ErrorKind::Unreachable | ErrorKind::Silent) {
            return error;
        }
        let message = format!("ask `{}` at `{}` for {wanted}", self.settings.name, self.address.host());
        let outer = Error::new(kind, message).retry_after(wait);
        match key {
            // Only then is the chain of causes lost: a key must not survive in any of them.
            Some(key) if key.is_in(&chain(&error)) || key.is_in(&format!("{error:?}")) => {
                outer.because(key.redact(&chain(&error)))
            }
            _ => outer.because(error),
        }
    }
}

impl Provider for Http {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn api(&self) -> Api {
        self.wire.api()
    }

    fn recipient(&self) -> Recipient {
        self.wire.recipient()
    }

    fn written(&self, request: &Request<'_>) -> Option<String> {
        Some(self.wire.post(request).body)
    }

    fn models(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(self.list())
    }

    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(self.ask(request, listen))
    }
}

/// True when nobody listens at the address.
fn is_refused(error: &reqwest::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut system = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    system.any(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// Reads what follows a complete reply, so that the connection can serve the next request.
async fn drain(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = timeout(Duration::from_secs(1), rest).await;
}

/// Why, without what was attempted.
fn causes(error: &Error) -> String {
    error.source().map(chain).unwrap_or_else(|| error.to_string())
}

fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
