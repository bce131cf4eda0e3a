//! Which pods each GPU was seen with within a day, and when last: so that no row, and no look, alone tells.

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

/// So many pods of a GPU are kept, those seen last: whether it was seen with another than one of them takes two, and some
/// may be exporters that are not known to be any yet.
const MOST: usize = 4;

/// The latest pods of each GPU.
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
        if users.len() > MOST
            && let Some(oldest) = users.iter().enumerate().min_by_key(|(_, user)| user.last).map(|(place, _)| place)
        {
            users.remove(oldest);
        }
    }

    /// Forgets what was seen last before `first`.
    pub fn forget_before(&mut self, first: Timestamp) {
        self.0.iter_mut().for_each(|users| users.retain(|user| user.last >= first));
    }
}
