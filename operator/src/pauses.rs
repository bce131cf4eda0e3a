//! How long a watch rests before it is tried again: an API server that is back should be heard within seconds, because
//! decisions are made on what the watches last said.

use kube::runtime::utils::Backoff;
use std::time::{Duration, Instant};

/// The first pause; each is twice the one before.
const FIRST: Duration = Duration::from_millis(500);
/// The longest.
pub const LONGEST: Duration = Duration::from_secs(5);

/// The pauses of one watch.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
    last: Option<Instant>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST, last: None }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.last.is_some_and(|at| at.elapsed() > 2 * LONGEST) {
            self.next = FIRST;
        }
        self.last = Some(Instant::now());
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        Some(pause)
    }
}

impl Backoff for Pauses {
    /// Nothing: a list that merely begins counts as a success, so only time tells that a watch runs again.
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_seconds_and_a_list_that_begins_does_not_shorten_them() {
        let mut pauses = Pauses::default();
        let next = |_| {
            pauses.reset();
            pauses.next().map(|pause| pause.as_millis())
        };

        assert_eq!((0..6).filter_map(next).collect::<Vec<_>>(), [500, 1000, 2000, 4000, 5000, 5000]);
    }
}
