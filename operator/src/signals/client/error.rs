//! Why an endpoint gave no answer, for people and for the engine.

use std::time::Duration;

use wellfed_engine::reading::ReadFailure;

/// Why an endpoint gave no answer that may be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is no URL, or no HTTP client could be built.
    #[error("endpoint {endpoint}: {reason}: give an address such as http://prometheus.monitoring:9090")]
    Address {
        /// Its name.
        endpoint: String,
        /// What is wrong.
        reason: String,
    },
    /// No connection, or it broke before the answer was whole.
    #[error("endpoint {endpoint} can't be reached ({reason}): check its address, its pods and network policies")]
    Unreachable {
        /// Its name.
        endpoint: String,
        /// What the network said.
        reason: String,
    },
    /// No answer within the deadline.
    #[error(
        "endpoint {endpoint} did not answer within {deadline:?}: make the query cheaper (a recording rule) or raise the deadline"
    )]
    Timeout {
        /// Its name.
        endpoint: String,
        /// The deadline.
        deadline: Duration,
    },
    /// An HTTP status that is not success, and no Prometheus behind it that says why.
    #[error("endpoint {endpoint} answered HTTP {status} with {body}: {hint}")]
    Http {
        /// Its name.
        endpoint: String,
        /// The status.
        status: u16,
        /// What kind of text came with it.
        body: String,
        /// What to look at.
        hint: &'static str,
    },
    /// Prometheus refused the query.
    #[error("endpoint {endpoint} refused the query: {message}: try it on that Prometheus, and correct it")]
    BadQuery {
        /// Its name.
        endpoint: String,
        /// Prometheus's own words.
        message: String,
    },
    /// The result has a type that says nothing about now.
    #[error(
        "endpoint {endpoint} answered with a {found}, not with one number a series: take the range or the string out of the \
         query (`rate(…)`, `histogram_quantile(…)`)"
    )]
    NotAVector {
        /// Its name.
        endpoint: String,
        /// The type that came.
        found: String,
    },
    /// More than the reader takes.
    #[error(
        "endpoint {endpoint} answered with more than {limit}: aggregate in the query (`sum by (namespace, pod) (…)`)"
    )]
    TooMuch {
        /// Its name.
        endpoint: String,
        /// The bound that was passed.
        limit: String,
    },
    /// Success, but not the answer of a Prometheus.
    #[error(
        "endpoint {endpoint} answered HTTP 200 with {body}: check that its address is a Prometheus, not a proxy's page"
    )]
    Garbled {
        /// Its name.
        endpoint: String,
        /// What came instead.
        body: String,
    },
    /// An answer that its own server calls incomplete or doubtful.
    #[error(
        "endpoint {endpoint} warns that its answer is not whole ({warning}): a part of a sum is a wrong sum, so it is not used"
    )]
    Partial {
        /// Its name.
        endpoint: String,
        /// The first warning.
        warning: String,
    },
}

impl FetchError {
    /// The failure as the engine knows it.
    pub fn failure(&self) -> ReadFailure {
        match self {
            Self::Address { .. } | Self::Unreachable { .. } => ReadFailure::Unreachable,
            Self::Timeout { .. } => ReadFailure::Timeout,
            Self::Http { status, .. } => ReadFailure::Http { status: *status },
            Self::BadQuery { .. } => ReadFailure::BadQuery,
            Self::NotAVector { .. } => ReadFailure::NotAVector,
            Self::TooMuch { .. } => ReadFailure::TooManyRows,
            Self::Garbled { .. } => ReadFailure::Garbled,
            Self::Partial { .. } => ReadFailure::Partial,
        }
    }
}
