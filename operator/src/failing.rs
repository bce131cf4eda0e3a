//! What a watch last failed with: a store whose watch is forbidden shows the past, however well its first list went.

use crate::pauses::LONGEST;
use kube::runtime::watcher::{Error, Event, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longer than the longest time between two tries of a watch: without a failure for so long it runs again.
const QUIET: Duration = LONGEST.saturating_mul(3);

/// The last failure of one watch.
#[derive(Debug, Default)]
pub struct Failing(Mutex<Option<Failure>>);

#[derive(Debug)]
struct Failure {
    at: Instant,
    forbidden: bool,
    message: String,
}

impl Failing {
    /// Notes what came of a watch.
    pub fn note<K>(&self, event: &Result<Event<K>>) {
        match event {
            // Comes before each try of a list.
            Ok(Event::Init) => {}
            Ok(_) => *self.last() = None,
            Err(error) => *self.last() = Some(Failure::of(error)),
        }
    }

    /// Why the store can't be decided on. One that is `synced` can while its watch is merely interrupted: that ends by
    /// itself, and the Lease is lost before long with it. A missing right does not.
    pub fn trouble(&self, synced: bool) -> Option<String> {
        let last = self.last();
        match &*last {
            None if synced => None,
            None => Some("not synced yet".to_owned()),
            Some(failure) if !synced => Some(format!("not synced yet: {}", failure.message)),
            Some(failure) if failure.forbidden && failure.at.elapsed() < QUIET => {
                Some(format!("not watched any more: {}", failure.message))
            }
            Some(_) => None,
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    fn of(error: &Error) -> Self {
        let (code, message) = match error {
            Error::InitialListFailed(kube::Error::Api(status))
            | Error::WatchStartFailed(kube::Error::Api(status))
            | Error::WatchFailed(kube::Error::Api(status))
            | Error::WatchError(status) => (status.code, status.message.clone()),
            other => (0, other.to_string()),
        };
        Self { at: Instant::now(), forbidden: code == 403, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn forbidden() -> Result<Event<()>> {
        let status = Status::failure("pods is forbidden", "Forbidden").with_code(403);
        Err(Error::WatchStartFailed(kube::Error::Api(Box::new(status))))
    }

    #[test]
    fn a_store_with_a_forbidden_watch_is_not_trusted_although_its_list_was_read() {
        let failing = Failing::default();
        assert_eq!(failing.trouble(true), None);

        failing.note(&forbidden());

        assert_eq!(failing.trouble(true).as_deref(), Some("not watched any more: pods is forbidden"));
        assert_eq!(failing.trouble(false).as_deref(), Some("not synced yet: pods is forbidden"));
    }

    #[test]
    fn an_interrupted_watch_goes_on_from_what_it_has() {
        let failing = Failing::default();

        failing.note::<()>(&Err(Error::NoResourceVersion));

        assert_eq!(failing.trouble(true), None);
    }

    #[test]
    fn a_list_that_only_begins_ends_no_trouble_and_one_that_is_read_does() {
        let failing = Failing::default();
        failing.note(&forbidden());

        failing.note::<()>(&Ok(Event::Init));
        let begun = failing.trouble(true);
        failing.note::<()>(&Ok(Event::InitDone));

        assert!(begun.is_some());
        assert_eq!(failing.trouble(true), None);
    }
}
