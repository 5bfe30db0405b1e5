//! The policies of all projects of a store, and a sweep of all of them.
//!
//! Each project has its own configuration. Where that cannot be known, because its directory is gone, and for
//! what belongs to no project, what holds for every project counts. A project that the user trusted keeps
//! everything while its configuration is broken.

use std::collections::BTreeSet;
use std::path::Path;

use rejoin::vault::Quarantined;
use rejoin::{Archive, Expiring, Hold, List, PurgeOutcome, RetentionPlan, StoredConversation, Swept, Time};

use super::worker::note_sweep;
use super::{ExpiryNotice, Policy, date_by};
use crate::config::{Config, ConfigOverrides, file};
use crate::context::Context;
use crate::error::Failure;
use crate::place::active_in;
use crate::project_key::key_at;

/// The policies of a store's projects, that of this one first.
#[derive(Debug)]
pub(crate) struct Policies {
    all: Vec<Policy>,
}

/// What a sweep of all projects came to.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The clock may be wrong, so nothing goes before this time.
    pub(crate) waits_until: Option<Time>,
    /// What has gone.
    pub(crate) report: Option<PurgeOutcome>,
    /// Records of a vault that did not open, and have gone.
    pub(crate) quarantined: Vec<Quarantined>,
}

impl Policies {
    /// Those of every project that has something that can expire; it costs a look at every conversation.
    pub(crate) fn of(archive: &Archive, context: &Context) -> Result<Self, Failure> {
        let mut keys = BTreeSet::new();
        let everything = List { includes_expired: true, ..List::default() };
        archive.reader().each_conversation(&everything, &mut |stored| {
            keys.extend(key_of_policy(&stored).map(str::to_owned));
            Ok(())
        })?;
        Self::of_keys(keys, archive, context)
    }

    /// Those that count for these conversations.
    pub(crate) fn of_listed(
        listed: &[StoredConversation],
        archive: &Archive,
        context: &Context,
    ) -> Result<Self, Failure> {
        let keys = listed.iter().filter_map(key_of_policy).map(str::to_owned).collect();
        Self::of_keys(keys, archive, context)
    }

    fn of_keys(keys: BTreeSet<String>, archive: &Archive, context: &Context) -> Result<Self, Failure> {
        let here = Policy::here(archive, context)?;
        let mut all = Vec::new();
        let own = archive.projects().key_as_kept(&here.project);
        for key in keys.into_iter().filter(|key| *key != own) {
            all.extend(elsewhere(&key, archive, context)?);
        }
        all.insert(0, here);
        Ok(Self { all })
    }

    /// The policy of this project.
    pub(crate) fn here(&self) -> &Policy {
        &self.all[0]
    }

    /// Says when a conversation expires, also where only the policy of its own project does. One
    /// whose policy nobody has seen does not.
    pub(crate) fn date(
        &self,
        stored: &mut StoredConversation,
        ahead: ExpiryNotice,
        archive: &Archive,
    ) -> Result<(), Failure> {
        let key = stored.conversation.project.clone().unwrap_or_default();
        let (here, others) = (self.here(), &self.all[1..]);
        let policy = if archive.projects().key_as_kept(&here.project) == key {
            Some(here)
        } else {
            others.iter().find(|policy| policy.project == key)
        };
        if let Some(policy) = policy
            && self.is_told(policy, archive)?
        {
            date_by(stored, ahead, &policy.retention, policy.notice_days);
        }
        Ok(())
    }

    /// True when somebody was told what a policy does, here or where it counts.
    fn is_told(&self, policy: &Policy, archive: &Archive) -> Result<bool, Failure> {
        Ok(policy.retention == self.here().retention || policy.is_seen(archive)?)
    }

    /// What goes now and soon: in this project, and in others whose policy somebody has seen.
    pub(crate) fn plan(&self, archive: &Archive) -> Result<RetentionPlan, Failure> {
        let mut told = Vec::new();
        for policy in &self.all {
            // What nobody was told of does not go, so it is not planned either.
            if self.is_told(policy, archive)? {
                told.push((policy.sweeping(), policy.notice_days));
            }
        }
        let mut whole = archive.retention().plan_all(&told)?;
        let newest_first = |expiring: &Expiring| std::cmp::Reverse(expiring.stored.last_active_at);
        whole.due.sort_by_key(newest_first);
        whole.soon.sort_by_key(|expiring| (expiring.at, expiring.stored.id));
        Ok(whole)
    }

    /// Takes away what has expired in every project whose policy somebody has seen,
    /// and what was long enough in quarantine.
    pub(crate) fn sweep(&self, archive: &Archive, context: &Context) -> Result<Round, Failure> {
        let mut seen = Vec::new();
        for policy in &self.all {
            if policy.is_seen(archive)? {
                seen.push(policy.sweeping());
            }
        }
        let swept = archive.retention().sweep_all(&seen, &mut |_| Ok(()))?;
        let mut round = Round::default();
        match swept {
            Swept::Waiting(until) => round.waits_until = Some(until),
            Swept::Done(report) => {
                let (purged, bytes, failed) = (report.purged.len(), report.bytes, report.failures.len());
                tracing::info!(policies = seen.len(), purged, bytes, failed, "swept");
                round.report = Some(report);
            }
        }
        note_sweep(archive);
        round.quarantined = archive.vault().purge_quarantined(context.config.quarantine_days())?;
        Ok(round)
    }
}

/// The key of the project whose policy decides about a conversation, empty where it
/// belongs to none; nothing where none does.
fn key_of_policy(stored: &StoredConversation) -> Option<&str> {
    let header = &stored.conversation;
    let can_expire = header.hold == Hold::None && (header.follows_retention || header.expires_at.is_some());
    can_expire.then(|| header.project.as_deref().unwrap_or_default())
}

/// The policy of another project; none where its configuration is broken.
fn elsewhere(key: &str, archive: &Archive, context: &Context) -> Result<Option<Policy>, Failure> {
    let path = archive.projects().get(key)?.map_or_else(|| key.to_owned(), |project| project.path);
    let config = if is_project(archive, Path::new(&path), key) {
        let overrides = ConfigOverrides { project: Some(path.into()), ..ConfigOverrides::default() };
        Config::load(&context.surroundings, &overrides)
    } else {
        for_every_project(context)
    };
    let config = match config {
        Ok(config) => config,
        Err(failure) => {
            tracing::warn!(
                kind = failure.kind(),
                "a project keeps everything until its configuration is mended"
            );
            return Ok(None);
        }
    };
    Ok(Some(Policy {
        retention: config.retention(),
        notice_days: config.retention_notice_days(),
        is_accepted: config.accepts_retention(),
        project: key.to_owned(),
        active: active_in(archive, key)?.into_iter().collect(),
    }))
}

fn is_project(archive: &Archive, directory: &Path, key: &str) -> bool {
    let is_there = directory.is_absolute() && directory.is_dir();
    is_there && key_at(archive, directory).is_ok_and(|found| archive.projects().key_as_kept(&found) == key)
}

/// The configuration without that of any project.
fn for_every_project(context: &Context) -> Result<Config, Failure> {
    let user = context.surroundings.user_config_file()?;
    let overrides =
        ConfigOverrides { project: Some(context.config.project().to_owned()), ..ConfigOverrides::default() };
    Config::load_from(&context.surroundings, &overrides, &|path| {
        if path == user { file::text_of(path) } else { Ok(None) }
    })
}
