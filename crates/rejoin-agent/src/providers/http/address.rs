//! Where requests go: a base URL as people write it, made into the address of one endpoint.

use std::fmt;

use reqwest::Url;

use crate::error::{Error, ErrorKind, Result};

/// Which bases already name the version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionedBase {
    /// Those that end with it, such as `…/v1`. A gateway's own version may stand earlier in the path.
    Last,
    /// Those with one anywhere in the path, such as `…/v1beta/openai`.
    Anywhere,
}

/// A checked base URL that includes the version.
#[derive(Clone)]
pub(super) struct Address {
    url: Url,
}

/// Shows the host only: a query may hold a key.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.host()).finish()
    }
}

impl Address {
    /// Reads a base URL. One that names no version gets `/v1`.
    pub(super) fn parse(text: &str, version: VersionedBase) -> Result<Self> {
        let invalid = |why: String| {
            Error::new(ErrorKind::Invalid, format!("read the base URL `{}`", shown(text))).because(why)
        };
        let mut url = Url::parse(text.trim()).map_err(|error| invalid(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(invalid("it does not begin with `https://` or `http://` and a host".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("it holds a user name or a password; a key has its own setting".to_owned()));
        }
        url.set_fragment(None);
        let is_versioned = {
            let mut segments = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty());
            match version {
                VersionedBase::Last => segments.next_back().is_some_and(is_version),
                VersionedBase::Anywhere => segments.any(is_version),
            }
        };
        let mut path = url.path_segments_mut().map_err(|()| invalid("it cannot have a path".to_owned()))?;
        path.pop_if_empty();
        if !is_versioned {
            path.push("v1");
        }
        drop(path);
        Ok(Self { url })
    }

    /// The address of an endpoint, such as `messages` or `chat/completions`.
    pub(super) fn endpoint(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.path_segments_mut().expect("a base that was read has a path").extend(path.split('/'));
        url
    }

    /// The address of a path that stands beside the versions of the API.
    pub(super) fn at_root(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(path);
        url
    }

    /// Scheme, host and port, for messages.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.url.scheme(), self.host())
    }

    /// True when requests stay on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_local_name = host == "localhost" || host.ends_with(".localhost");
        is_local_name || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// True when others on the way can read what is sent.
    pub(super) fn is_open(&self) -> bool {
        self.url.scheme() == "http" && !self.is_loopback()
    }

    /// Host and port, for messages. A query may hold what should not be shown.
    pub(super) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// `v1`, `v1beta`, `v4`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// A URL without what may be secret in it.
fn shown(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        (None, Some((_, rest))) => format!("…@{rest}"),
        (_, None) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_may_end_with_a_slash_or_a_version_or_neither() {
        let cases = [
            ("https://api.anthropic.com", VersionedBase::Last),
            ("https://api.anthropic.com/", VersionedBase::Last),
            ("https://api.anthropic.com/v1", VersionedBase::Last),
            ("https://api.anthropic.com/v1/", VersionedBase::Last),
            (" https://gateway.example/v1/account/anthropic ", VersionedBase::Last),
            ("https://gateway.example/v1/account/openai", VersionedBase::Anywhere),
            ("https://models.example/v1beta/openai/", VersionedBase::Anywhere),
            ("http://localhost:11434", VersionedBase::Anywhere),
            ("https://models.example/api?api-version=2#x", VersionedBase::Anywhere),
        ];
        let addresses =
            cases.map(|(base, version)| Address::parse(base, version).unwrap().endpoint("a/b").to_string());

        assert_eq!(
            addresses,
            [
                "https://api.anthropic.com/v1/a/b",
                "https://api.anthropic.com/v1/a/b",
                "https://api.anthropic.com/v1/a/b",
                "https://api.anthropic.com/v1/a/b",
                "https://gateway.example/v1/account/anthropic/v1/a/b",
                "https://gateway.example/v1/account/openai/a/b",
                "https://models.example/v1beta/openai/a/b",
                "http://localhost:11434/v1/a/b",
                "https://models.example/api/v1/a/b?api-version=2",
            ]
        );
    }

    #[test]
    fn what_is_no_base_is_refused_without_showing_secrets() {
        let bases = ["", "localhost:1234", "ftp://a.example", "https://me:planted@a.example", "https://"];
        let errors = bases.map(|base| Address::parse(base, VersionedBase::Last).unwrap_err());

        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Invalid));
        assert!(!format!("{errors:?}").contains("planted"), "{errors:?}");
    }

    #[test]
    fn an_address_shows_its_host_only() {
        let address = Address::parse("https://a.example:8443/x?key=planted", VersionedBase::Last).unwrap();

        assert_eq!(format!("{address:?}"), r#"Address("a.example:8443")"#);
    }

    #[test]
    fn only_plain_http_to_another_machine_is_open() {
        let cases = [
            "http://localhost:1",
            "http://a.localhost",
            "http://127.0.0.9:1",
            "http://[::1]:1",
            "https://a.example",
            "http://a.example",
            "http://192.168.0.1",
            "http://localhost.example",
        ];
        let open = cases.map(|base| Address::parse(base, VersionedBase::Last).unwrap().is_open());

        assert_eq!(open, [false, false, false, false, false, true, true, true]);
    }
}
