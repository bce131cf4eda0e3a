//! The settings of the election, and what can go wrong with it.

use std::time::Duration;

use super::state::Terms;

/// Which Lease, who we are, and the times of the election.
#[derive(Clone, Debug)]
pub struct LeaseConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Our name in it: unique among all processes that ever live at once (a pod's name and UID, never a host's name).
    pub identity: String,
    /// Silence after which another instance takes over. Written in whole seconds, rounded up.
    pub duration: Duration,
    /// Time after the last renewal at which work stops. `duration - renew_deadline` must cover the longest write.
    pub renew_deadline: Duration,
    /// Time between renewals.
    pub retry_period: Duration,
}

impl LeaseConfig {
    /// The times, if they fit together.
    pub(super) fn terms(&self) -> Result<Terms, LeaseError> {
        let Self { duration, renew_deadline, retry_period, .. } = *self;
        let fits =
            duration > renew_deadline && renew_deadline > retry_period.saturating_mul(6) / 5 && !retry_period.is_zero();
        if !fits {
            return Err(LeaseError::Times { duration, renew_deadline, retry_period });
        }
        Ok(Terms { duration, renew_deadline, retry_period })
    }

    /// The deadline of one call: shorter than a renew period, and short enough for several tries before work must stop.
    pub(super) fn call_deadline(&self) -> Duration {
        (self.renew_deadline / 6).min(self.retry_period / 5 * 4)
    }

    /// Namespace and name, for messages.
    pub(super) fn lease(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Why the Lease can't be kept, or a call for it failed.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The times make no sense together. Returned by [`hold`](super::hold) at once.
    #[error(
        "the lease times do not fit: duration {duration:?} must be longer than renew deadline {renew_deadline:?}, and that \
         longer than 1.2 × retry period {retry_period:?}, which must not be zero"
    )]
    Times {
        /// Silence before a takeover.
        duration: Duration,
        /// Time before work stops.
        renew_deadline: Duration,
        /// Time between renewals.
        retry_period: Duration,
    },
    /// RBAC is missing. Tried again until it is granted.
    #[error(
        "the API server forbids us the Lease {lease} ({message}): grant get, create and update on \
         leases.coordination.k8s.io in that namespace"
    )]
    Forbidden {
        /// Namespace and name.
        lease: String,
        /// The API server's own words.
        message: String,
    },
    /// Another instance wrote first. Looked at again at once.
    #[error("another instance wrote the Lease {lease} at the same time")]
    Conflict {
        /// Namespace and name.
        lease: String,
    },
    /// No answer in time. Tried again.
    #[error("no answer about the Lease {lease} within {deadline:?}: the API server is slow or unreachable")]
    Deadline {
        /// Namespace and name.
        lease: String,
        /// The deadline of one call.
        deadline: Duration,
    },
    /// Any other failure of a call. Tried again.
    #[error("the Lease {lease} can't be read or written; it is tried again: {source}")]
    Api {
        /// Namespace and name.
        lease: String,
        /// What kube says.
        source: Box<kube::Error>,
    },
}
