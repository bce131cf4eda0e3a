//! Failed ends of a container that keeps being started again: its pod's status shows the last two alone.

use crate::gaps;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The latest failed ends of one pod's container, to the second, as Kubernetes tells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Restarts {
    /// A short hash of the pod's uid.
    pub pod: u32,
    /// When it ended, oldest first.
    pub ends: Vec<Timestamp>,
}

/// The pod, and the ends in seconds.
type Written = (u32, Vec<i64>);

impl From<Written> for Restarts {
    fn from((pod, seconds): Written) -> Self {
        Self { pod, ends: gaps::read(seconds).filter_map(|second| Timestamp::from_second(second).ok()).collect() }
    }
}

impl From<Restarts> for Written {
    fn from(restarts: Restarts) -> Self {
        (restarts.pod, gaps::written(restarts.ends.iter().map(|end| end.as_second())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn it_is_written_as_the_first_end_and_the_time_to_each_next() {
        let restarts = Restarts { pod: 7, ends: [0, 60, 360].map(at).into() };

        let text = serde_json::to_string(&restarts).unwrap();

        assert_eq!(text, "[7,[1700000000,60,300]]");
        assert_eq!(serde_json::from_str::<Restarts>(&text).unwrap(), restarts);
    }
}
