//! Keys and tokens that say by their first letters who gave them out.
//!
//! The least lengths are below the vendors' own, so that a token that lost its end is found too.

use crate::ops::redact::find::value::{is_placeholder, variety};
use crate::ops::redact::find::{Found, Rule, Weight, begins_word};

/// Which letters follow the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// `0-9a-f`
    Hex,
    /// `0-9A-Z`
    Upper,
    /// Letters and digits.
    Plain,
    /// The same, with at least one of both.
    Mixed,
    /// And `_`, `-`.
    Word,
    /// And `.`.
    Dotted,
    /// And `~`.
    Loose,
    /// Letters, digits, `_`, `-`, `+`, `/` and `=`.
    Base64,
    /// Letters, digits, `_`, `-` and `/`: the end of an address.
    Path,
}

impl Letters {
    pub(super) const fn include(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Upper => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            Self::Plain | Self::Mixed => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Loose => byte == b'~' || Self::Dotted.include(byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'='),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
        }
    }
}

/// A kind of token.
#[derive(Debug)]
pub(super) struct Vendor {
    pub(super) rule: &'static str,
    pub(super) first: &'static str,
    letters: Letters,
    least: usize,
}

const fn vendor(rule: &'static str, first: &'static str, letters: Letters, least: usize) -> Vendor {
    Vendor { rule, first, letters, least }
}

/// Longer first letters stand beside shorter ones that they begin with; the longest that fits gives the name.
#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    vendor("anthropic-key", "sk-ant-", Letters::Word, 20),
    vendor("openai-key", "sk-", Letters::Mixed, 20),
    vendor("openai-key", "sk-proj-", Letters::Word, 20),
    vendor("openai-key", "sk-svcacct-", Letters::Word, 20),
    vendor("openai-key", "sk-admin-", Letters::Word, 20),
    vendor("openai-key", "sess-", Letters::Mixed, 36),
    vendor("openrouter-key", "sk-or-v1-", Letters::Hex, 32),
    vendor("langfuse-key", "sk-lf-", Letters::Word, 30),
    vendor("cerebras-key", "csk-", Letters::Mixed, 36),
    vendor("groq-key", "gsk_", Letters::Plain, 32),
    vendor("xai-key", "xai-", Letters::Mixed, 48),
    vendor("perplexity-key", "pplx-", Letters::Plain, 32),
    vendor("replicate-token", "r8_", Letters::Mixed, 30),
    vendor("fireworks-key", "fw_", Letters::Mixed, 22),
    vendor("together-key", "tgp_v1_", Letters::Word, 30),
    vendor("tavily-key", "tvly-", Letters::Word, 24),
    vendor("langsmith-key", "lsv2_", Letters::Word, 36),
    vendor("pinecone-key", "pcsk_", Letters::Word, 40),
    vendor("nvidia-key", "nvapi-", Letters::Word, 40),
    vendor("elevenlabs-key", "sk_", Letters::Hex, 40),
    vendor("huggingface-token", "hf_", Letters::Plain, 28),
    vendor("huggingface-token", "api_org_", Letters::Plain, 28),
    vendor("wandb-key", "wandb_v1_", Letters::Word, 40),
    vendor("github-token", "ghp_", Letters::Plain, 16),
    vendor("github-token", "gho_", Letters::Plain, 16),
    vendor("github-token", "ghu_", Letters::Plain, 16),
    vendor("github-token", "ghs_", Letters::Plain, 16),
    vendor("github-token", "ghr_", Letters::Plain, 16),
    vendor("github-token", "github_pat_", Letters::Word, 20),
    vendor("gitlab-token", "glpat-", Letters::Dotted, 18),
    vendor("gitlab-token", "gldt-", Letters::Dotted, 18),
    vendor("gitlab-token", "glrt-", Letters::Dotted, 18),
    vendor("gitlab-token", "glcbt-", Letters::Dotted, 18),
    vendor("gitlab-token", "glptt-", Letters::Dotted, 18),
    vendor("gitlab-token", "glft-", Letters::Dotted, 18),
    vendor("gitlab-token", "glsoat-", Letters::Dotted, 18),
    vendor("gitlab-token", "glimt-", Letters::Dotted, 18),
    vendor("gitlab-token", "glagent-", Letters::Dotted, 18),
    vendor("gitlab-token", "gloas-", Letters::Dotted, 18),
    vendor("gitlab-token", "glffct-", Letters::Dotted, 18),
    vendor("gitlab-token", "GR1348941", Letters::Word, 18),
    vendor("aws-access-key", "AKIA", Letters::Upper, 16),
    vendor("aws-access-key", "ASIA", Letters::Upper, 16),
    vendor("aws-access-key", "ABIA", Letters::Upper, 16),
    vendor("aws-access-key", "ACCA", Letters::Upper, 16),
    vendor("aws-bedrock-key", "ABSK", Letters::Base64, 80),
    vendor("aws-bedrock-key", "bedrock-api-key-", Letters::Base64, 40),
    vendor("google-api-key", "AIza", Letters::Word, 32),
    vendor("google-api-key", "AQ.Ab", Letters::Word, 36),
    vendor("google-oauth", "GOCSPX-", Letters::Word, 20),
    vendor("google-oauth", "ya29.", Letters::Word, 30),
    vendor("google-oauth", "1//0", Letters::Word, 36),
    vendor("slack-token", "xoxb-", Letters::Word, 16),
    vendor("slack-token", "xoxp-", Letters::Word, 16),
    vendor("slack-token", "xoxa-", Letters::Word, 16),
    vendor("slack-token", "xoxr-", Letters::Word, 16),
    vendor("slack-token", "xoxs-", Letters::Word, 16),
    vendor("slack-token", "xoxe-", Letters::Word, 16),
    vendor("slack-token", "xoxe.xox", Letters::Word, 16),
    vendor("slack-token", "xapp-", Letters::Word, 24),
    vendor("slack-token", "xwfp-", Letters::Word, 24),
    vendor("slack-webhook", "hooks.slack.com/services/", Letters::Path, 30),
    vendor("slack-webhook", "hooks.slack.com/workflows/", Letters::Path, 30),
    vendor("discord-webhook", "discord.com/api/webhooks/", Letters::Path, 50),
    vendor("discord-webhook", "discordapp.com/api/webhooks/", Letters::Path, 50),
    vendor("stripe-key", "sk_live_", Letters::Plain, 16),
    vendor("stripe-key", "sk_test_", Letters::Plain, 16),
    vendor("stripe-key", "rk_live_", Letters::Plain, 16),
    vendor("stripe-key", "rk_test_", Letters::Plain, 16),
    vendor("stripe-key", "whsec_", Letters::Base64, 24),
    vendor("npm-token", "npm_", Letters::Plain, 30),
    vendor("pypi-token", "pypi-", Letters::Word, 50),
    vendor("rubygems-token", "rubygems_", Letters::Hex, 40),
    vendor("crates-token", "cio", Letters::Mixed, 32),
    vendor("docker-token", "dckr_pat_", Letters::Word, 20),
    vendor("docker-token", "dckr_oat_", Letters::Word, 20),
    vendor("sendgrid-key", "SG.", Letters::Dotted, 50),
    vendor("twilio-key", "SK", Letters::Hex, 32),
    vendor("mailgun-key", "key-", Letters::Hex, 32),
    vendor("brevo-key", "xkeysib-", Letters::Word, 40),
    vendor("digitalocean-token", "dop_v1_", Letters::Hex, 40),
    vendor("digitalocean-token", "doo_v1_", Letters::Hex, 40),
    vendor("digitalocean-token", "dor_v1_", Letters::Hex, 40),
    vendor("databricks-token", "dapi", Letters::Hex, 32),
    vendor("vault-token", "hvs.", Letters::Word, 20),
    vendor("vault-token", "hvb.", Letters::Word, 20),
    vendor("vault-token", "hvr.", Letters::Word, 20),
    vendor("linear-key", "lin_api_", Letters::Plain, 30),
    vendor("linear-key", "lin_oauth_", Letters::Plain, 30),
    vendor("notion-token", "ntn_", Letters::Plain, 36),
    vendor("notion-token", "secret_", Letters::Mixed, 40),
    vendor("figma-token", "figd_", Letters::Word, 30),
    vendor("atlassian-token", "ATATT3", Letters::Base64, 60),
    vendor("atlassian-token", "ATCTT3", Letters::Base64, 60),
    vendor("atlassian-token", "ATBB", Letters::Mixed, 28),
    vendor("shopify-token", "shpat_", Letters::Hex, 28),
    vendor("shopify-token", "shpca_", Letters::Hex, 28),
    vendor("shopify-token", "shppa_", Letters::Hex, 28),
    vendor("shopify-token", "shpss_", Letters::Hex, 28),
    vendor("square-token", "sq0atp-", Letters::Word, 20),
    vendor("square-token", "sq0csp-", Letters::Word, 30),
    vendor("square-token", "EAAA", Letters::Word, 56),
    vendor("newrelic-key", "NRAK-", Letters::Upper, 24),
    vendor("grafana-token", "glsa_", Letters::Word, 32),
    vendor("grafana-token", "glc_", Letters::Base64, 32),
    vendor("grafana-token", "eyJrIjoi", Letters::Base64, 50),
    vendor("sentry-token", "sntrys_", Letters::Base64, 40),
    vendor("sentry-token", "sntryu_", Letters::Hex, 40),
    vendor("doppler-token", "dp.pt.", Letters::Plain, 36),
    vendor("doppler-token", "dp.st.", Letters::Dotted, 36),
    vendor("doppler-token", "dp.sa.", Letters::Plain, 36),
    vendor("doppler-token", "dp.ct.", Letters::Plain, 36),
    vendor("planetscale-token", "pscale_tkn_", Letters::Dotted, 28),
    vendor("planetscale-token", "pscale_pw_", Letters::Dotted, 28),
    vendor("planetscale-token", "pscale_oauth_", Letters::Dotted, 28),
    vendor("postman-key", "PMAK-", Letters::Word, 50),
    vendor("pulumi-token", "pul-", Letters::Hex, 36),
    vendor("supabase-key", "sbp_", Letters::Hex, 36),
    vendor("supabase-key", "sb_secret_", Letters::Word, 24),
    vendor("netlify-token", "nfp_", Letters::Plain, 30),
    vendor("fly-token", "fo1_", Letters::Word, 40),
    vendor("fly-token", "fm2_", Letters::Base64, 60),
    vendor("heroku-key", "HRKU-AA", Letters::Word, 50),
    vendor("contentful-token", "CFPAT-", Letters::Word, 40),
    vendor("airtable-token", "pat", Letters::Dotted, 78),
    vendor("dropbox-token", "sl.", Letters::Word, 100),
    vendor("dynatrace-token", "dt0c01.", Letters::Dotted, 80),
    vendor("alibaba-key", "LTAI", Letters::Mixed, 16),
    vendor("tencent-key", "AKID", Letters::Mixed, 32),
    vendor("age-key", "AGE-SECRET-KEY-1", Letters::Upper, 50),
    vendor("sourcegraph-token", "sgp_", Letters::Word, 40),
    vendor("buildkite-token", "bkua_", Letters::Hex, 36),
    vendor("circleci-token", "CCIPAT_", Letters::Word, 40),
    vendor("sonar-token", "squ_", Letters::Hex, 36),
    vendor("sonar-token", "sqp_", Letters::Hex, 36),
    vendor("posthog-key", "phx_", Letters::Plain, 36),
    vendor("prefect-key", "pnu_", Letters::Plain, 32),
    vendor("onepassword-token", "ops_eyJ", Letters::Base64, 100),
    vendor("openshift-token", "sha256~", Letters::Word, 40),
    vendor("plaid-token", "access-production-", Letters::Word, 30),
    vendor("razorpay-key", "rzp_live_", Letters::Plain, 12),
    vendor("telegram-token", ":AA", Letters::Word, 32),
    vendor("azure-key", "8Q~", Letters::Loose, 30),
    vendor("terraform-token", ".atlasv1.", Letters::Word, 56),
    vendor("mailchimp-key", "-us", Letters::Hex, 1),
];

impl Vendor {
    /// The token whose first letters stand at `at`.
    pub(super) fn at(&self, text: &str, at: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        if !bytes[at..].starts_with(self.first.as_bytes()) {
            return None;
        }
        let begin = self.beginning(bytes, at)?;
        let body = at + self.first.len();
        let run = bytes[body..].iter().take_while(|byte| self.letters.include(**byte)).count();
        let mut end = body + run;
        while end > body && bytes[end - 1] == b'.' {
            end -= 1;
        }
        let letters = &text[body..end];
        let is_long = letters.len() >= self.least;
        let is_mixed = self.letters != Letters::Mixed
            || letters.bytes().any(|byte| byte.is_ascii_digit())
                && letters.bytes().any(|byte| byte.is_ascii_alphabetic());
        let is_complete = match self.letters {
            // A longer run of such letters is a hash or a name.
            Letters::Upper | Letters::Hex => bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric()),
            _ => true,
        };
        let is_random = self.least < 8 || variety(letters) >= 7 && !is_placeholder(letters);
        let is_token = is_long && is_mixed && is_complete && is_random && self.is_in_shape(letters);
        is_token.then_some(Found {
            range: begin..end,
            rule: Rule::Named(self.rule),
            weight: Weight::Vendor(self.first.len()),
        })
    }

    /// Where the token begins: at its first letters, unless something stands before those.
    fn beginning(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let before = |letters: fn(u8) -> bool| {
            bytes[..at].iter().rev().take(40).take_while(|byte| letters(**byte)).count()
        };
        match self.first {
            ":AA" => (8..=12)
                .contains(&before(|byte| byte.is_ascii_digit()))
                .then(|| at - before(|byte| byte.is_ascii_digit())),
            "8Q~" => {
                (before(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-'))
                    >= 3)
                    .then(|| at - 3)
            }
            ".atlasv1." => (before(|byte| byte.is_ascii_alphanumeric()) == 14).then(|| at - 14),
            "-us" => (before(|byte| Letters::Hex.include(byte)) == 32).then(|| at - 32),
            _ => (self.is_unmistakable() || begins_word(bytes, at)).then_some(at),
        }
    }

    /// True when its first letters mean nothing else, so that they may stand right behind others.
    pub(super) fn is_unmistakable(&self) -> bool {
        self.first.len() >= 4
            && self.first.ends_with(['_', '-'])
            && self.letters != Letters::Hex
            && self.first != "sess-"
    }

    /// What else the letters have to be.
    fn is_in_shape(&self, letters: &str) -> bool {
        match self.first {
            "SG." => letters.split_once('.').is_some_and(|(id, secret)| id.len() >= 16 && secret.len() >= 32),
            "pat" => letters.split_once('.').is_some_and(|(id, secret)| id.len() == 14 && secret.len() == 64),
            "-us" => letters.len() <= 2 && letters.bytes().all(|byte| byte.is_ascii_digit()),
            "AKIA" | "ASIA" | "ABIA" | "ACCA" => letters.len() == 16,
            "cio" => letters.len() == 32,
            _ => true,
        }
    }
}

impl Vendor {
    /// True when its letters go on to the end of a text, so that more of them may come.
    pub(super) fn reaches_end(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        bytes[at..].starts_with(self.first.as_bytes())
            && bytes[at + self.first.len()..].iter().all(|byte| self.letters.include(*byte))
    }
}
