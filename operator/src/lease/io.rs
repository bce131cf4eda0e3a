//! Keeps the Lease: carries out what [`Elector`] wants, and says what came of it.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::config::{LeaseConfig, LeaseError};
use super::state::{Act, Elector, LeaseRecord, Standing};
use super::view::Holding;

const FIELD_MANAGER: &str = "wellfed-lease";

/// Gains the Lease, keeps it, and reports each change through `held`, until told to end.
///
/// `client` must be a client of its own without retries of its own (`Config::default_retry = false`), so that a call that
/// hangs elsewhere can't delay a renewal. When `stop` is cancelled a follower ends at once, while a leader renews on: its
/// work is still winding up. When `work_ended` is cancelled the Lease is given back, so that the next instance need not
/// wait, and this ends. If the deadline passes before that, it ends and the Lease runs out by itself.
///
/// Failing calls are logged once each and tried again. Fails only on times that do not fit.
pub async fn hold(
    client: Client,
    config: LeaseConfig,
    stop: CancellationToken,
    work_ended: CancellationToken,
    held: watch::Sender<Holding>,
) -> Result<(), LeaseError> {
    let terms = config.terms()?;
    let api = Api::namespaced(client, &config.namespace);
    let elector = Elector::new(config.identity.clone(), terms);
    let mut candidate =
        Candidate { api, elector, config, started: Instant::now(), last: None, replaced: None, trouble: None, held };
    while !work_ended.is_cancelled() && (!stop.is_cancelled() || candidate.is_held()) {
        let pause = candidate.step().await;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = work_ended.cancelled() => {}
            () = stop.cancelled(), if !candidate.is_held() => {}
        }
    }
    candidate.leave().await;
    Ok(())
}

struct Candidate {
    api: Api<Lease>,
    elector: Elector,
    config: LeaseConfig,
    started: Instant,
    /// The Lease as last seen, so that a write keeps what others put on it.
    last: Option<Lease>,
    /// The renewal that our last write replaced.
    replaced: Option<Timestamp>,
    /// The last failure that was logged.
    trouble: Option<String>,
    held: watch::Sender<Holding>,
}

impl Candidate {
    /// Does the next thing, and returns how long nothing is to be done after it.
    async fn step(&mut self) -> Duration {
        let sent = self.now();
        let result = match self.elector.next(sent) {
            Act::Wait(until) => return until.saturating_sub(sent),
            Act::Look => self.look().await,
            Act::Create => self.write(sent, None).await,
            Act::Renew(record) | Act::TakeOver(record) => self.write(sent, Some(record)).await,
        };
        let pause = self.learn(result);
        self.publish();
        pause
    }

    async fn look(&mut self) -> Result<(), LeaseError> {
        let found = self.call(self.api.get_opt(&self.config.name)).await?;
        self.elector.looked(self.now(), found.as_ref().map(record));
        self.last = found;
        Ok(())
    }

    /// Creates the Lease, or writes ourselves over `before`. The version in it makes the API server refuse us if anybody
    /// wrote since.
    async fn write(&mut self, sent: Duration, before: Option<LeaseRecord>) -> Result<(), LeaseError> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        let lease = self.signed(before.as_ref());
        let replaced = before.as_ref().and_then(|before| before.renew_time.parse().ok());
        let written = match before {
            None => self.call(self.api.create(&params, &lease)).await?,
            Some(_) => self.call(self.api.replace(&self.config.name, &params, &lease)).await?,
        };
        self.elector.wrote(sent, record(&written));
        (self.last, self.replaced) = (Some(written), replaced);
        Ok(())
    }

    /// Empties the Lease if it is ours. Nobody may write from before that on.
    async fn leave(&mut self) {
        let ours = self.elector.release(self.now());
        self.elector.released();
        self.publish();
        let Some(before) = ours else { return };
        let mut lease = self.signed(Some(&before));
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
        }
        match self.call(self.api.replace(&self.config.name, &PostParams::default(), &lease)).await {
            Ok(_) => tracing::info!(lease = self.config.lease(), "gave the Lease back"),
            Err(error) => tracing::warn!(%error, "the Lease was not given back; it runs out by itself"),
        }
    }

    async fn call<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, LeaseError> {
        let (lease, deadline) = (self.config.lease(), self.config.call_deadline());
        match tokio::time::timeout(deadline, call).await {
            Err(_) => Err(LeaseError::Deadline { lease, deadline }),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(LeaseError::Conflict { lease }),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                Err(LeaseError::Forbidden { lease, message: status.message })
            }
            Ok(Err(source)) => Err(LeaseError::Api { lease, source: Box::new(source) }),
        }
    }

    /// Notes a result, logging a failure when it begins and when it ends.
    fn learn(&mut self, result: Result<(), LeaseError>) -> Duration {
        let Err(error) = result else {
            if self.trouble.take().is_some() {
                tracing::info!(lease = self.config.lease(), "the Lease can be read and written again");
            }
            return Duration::ZERO;
        };
        self.elector.failed();
        if matches!(error, LeaseError::Conflict { .. }) {
            return Duration::ZERO;
        }
        let text = error.to_string();
        if self.trouble.as_ref() != Some(&text) {
            tracing::warn!(error = text, "the Lease can't be kept");
            self.trouble = Some(text);
        }
        self.config.retry_period / 4
    }

    /// Tells the others. Only gaining, losing and a new holder wake those who wait; renewals are seen by who asks.
    fn publish(&self) {
        let standing = self.elector.standing(self.now());
        let answered = if self.trouble.is_none() { Some(Instant::now()) } else { None };
        let changed = self.held.send_if_modified(|holding| {
            let before = (holding.until.is_some(), holding.holder.clone());
            match standing {
                Standing::Leader { until } => {
                    if holding.until.is_none() {
                        (holding.term, holding.before) = (holding.term + 1, self.replaced);
                    }
                    holding.until = Some(self.started + until);
                    holding.holder = Some(self.config.identity.clone());
                }
                Standing::Follower { holder } => {
                    holding.until = None;
                    holding.holder = holder;
                }
            }
            holding.answered = answered.or(holding.answered);
            before != (holding.until.is_some(), holding.holder.clone())
        });
        if changed {
            let Holding { until, term, holder, .. } = self.held.borrow().clone();
            tracing::info!(lease = self.config.lease(), held = until.is_some(), term, holder, "the Lease");
        }
    }

    /// The Lease with us as its holder, and everything else on it as it was.
    fn signed(&self, before: Option<&LeaseRecord>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let kept = before.and(self.last.clone()).unwrap_or_default();
        let spec = kept.spec.unwrap_or_default();
        let ours = spec.holder_identity.as_deref() == Some(self.config.identity.as_str());
        let seconds = self.config.duration.as_secs() + u64::from(self.config.duration.subsec_nanos() > 0);
        let metadata = ObjectMeta {
            name: Some(self.config.name.clone()),
            namespace: Some(self.config.namespace.clone()),
            resource_version: before.map(|record| record.resource_version.clone()),
            managed_fields: None,
            ..kept.metadata
        };
        let spec = LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            acquire_time: if ours { spec.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            lease_transitions: Some(before.map_or(0, |record| record.transitions + i32::from(!ours))),
            ..spec
        };
        Lease { metadata, spec: Some(spec) }
    }

    fn is_held(&self) -> bool {
        self.elector.is_held(self.now())
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

fn record(lease: &Lease) -> LeaseRecord {
    let spec = lease.spec.clone().unwrap_or_default();
    LeaseRecord {
        holder: spec.holder_identity.unwrap_or_default(),
        renew_time: spec.renew_time.map(|at| at.0.to_string()).unwrap_or_default(),
        transitions: spec.lease_transitions.unwrap_or_default(),
        duration: Duration::from_secs(spec.lease_duration_seconds.unwrap_or_default().max(0).unsigned_abs().into()),
        resource_version: lease.resource_version().unwrap_or_default(),
    }
}
