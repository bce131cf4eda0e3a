//! Which pods each GPU was seen with, and when last: over all looks that are kept, so that no row alone tells.

use super::numbering::Id;
use jiff::Timestamp;

/// A pod that a GPU was seen with.
#[derive(Clone, Copy, Debug)]
pub struct User {
    /// Which.
    pub pod: Id,
    /// The end of the last look that shows it.
    pub last: Timestamp,
}

/// The pods of each GPU.
#[derive(Clone, Debug, Default)]
pub struct Users(Vec<Vec<User>>);

impl Users {
    /// The pods of one GPU.
    pub fn of(&self, board: Id) -> &[User] {
        self.0.get(board as usize).map_or(&[], Vec::as_slice)
    }

    /// A look that ended at `at` shows this pod on this GPU.
    pub fn note(&mut self, board: Id, pod: Id, at: Timestamp) {
        let place = board as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || Vec::with_capacity(1));
        }
        let users = &mut self.0[place];
        match users.iter_mut().find(|user| user.pod == pod) {
            Some(user) => user.last = at,
            None => users.push(User { pod, last: at }),
        }
    }

    /// Forgets what was seen last before `first`.
    pub fn forget_before(&mut self, first: Timestamp) {
        self.0.iter_mut().for_each(|users| users.retain(|user| user.last >= first));
    }
}
