//! The last looks, each covering the time since the one before, in arrays; and what was seen within a day.

use super::boards::Board;
use super::last_seen::LastSeen;
use super::metric::{Metric, Subject};
use super::numbering::{Id, Numbering};
use super::slice::{Slice, joined};
use super::table::{Grouped, Row};
use super::users::Users;
use jiff::{SignedDuration, Timestamp};
use std::collections::VecDeque;

/// The looks of the longest window.
#[derive(Clone, Debug)]
pub struct History {
    /// How much time one look covers.
    pub(super) interval: SignedDuration,
    /// How much older than its look what is in it may be.
    pub(super) lag: SignedDuration,
    /// Oldest first.
    pub(super) looks: VecDeque<Look>,
    pub(super) boards: Numbering,
    pods: Numbering,
    containers: Numbering,
    boards_seen: LastSeen,
    pods_seen: LastSeen,
    /// The product of each board, where it is known.
    products: Vec<Option<&'static Board>>,
    users: Users,
}

/// One look, as it is kept.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) at: Timestamp,
    gpus: Grouped,
    by_container: Grouped,
    by_pod: Grouped,
}

impl Look {
    /// The GPUs that a pod has in this look.
    pub(super) fn boards_of(&self, pod: Id) -> &[Id] {
        self.gpus.of_pod(pod)
    }

    /// What it knows of one thing of a pod.
    pub(super) fn row(&self, subject: Subject, pod: Id, thing: Id) -> Option<Row<'_>> {
        match subject {
            Subject::Gpu => self.gpus.find(pod, thing),
            Subject::Container => self.by_container.find(pod, thing),
            Subject::Server => self.by_pod.find(pod, thing),
        }
    }
}

impl History {
    /// Nothing yet; one look each `interval`.
    pub fn every(interval: SignedDuration) -> Self {
        Self {
            interval,
            lag: SignedDuration::ZERO,
            looks: VecDeque::new(),
            boards: Numbering::default(),
            pods: Numbering::default(),
            containers: Numbering::default(),
            boards_seen: LastSeen::of(Subject::Gpu.metrics() + 1),
            pods_seen: LastSeen::of(Subject::Server.metrics() + 1),
            products: Vec::new(),
            users: Users::default(),
        }
    }

    /// The same, where a look shows what was recorded up to `lag` before it.
    #[must_use]
    pub fn lagging(self, lag: SignedDuration) -> Self {
        Self { lag, ..self }
    }

    /// Adds a look, and drops what lies more than `longest` before it. What was not seen for a day is forgotten.
    pub fn push(&mut self, slice: Slice, longest: SignedDuration) {
        let at = slice.at;
        let look = self.kept(&slice);
        drop(slice);
        self.note(&look);
        self.looks.push_back(look);
        while self.looks.front().is_some_and(|first| at.duration_since(first.at) > longest) {
            self.looks.pop_front();
        }
        self.users.forget_before(self.looks.front().map_or(at, |first| first.at));
        self.age(at);
    }

    /// Whether the last look shows a GPU of this pod.
    pub fn shows_gpus_of(&self, namespace: &str, pod: &str) -> bool {
        let pod = self.pod(namespace, pod);
        pod.zip(self.looks.back()).is_some_and(|(pod, look)| !look.boards_of(pod).is_empty())
    }

    pub(super) fn pod(&self, namespace: &str, pod: &str) -> Option<Id> {
        self.pods.get(&joined(namespace, pod))
    }

    pub(super) fn container(&self, name: &str) -> Option<Id> {
        self.containers.get(name)
    }

    pub(super) fn product(&self, board: Id) -> Option<&'static Board> {
        self.products.get(board as usize).copied().flatten()
    }

    /// Whether a look that is kept shows another pod on this GPU while `pod`, Ready since `ready`, was there. The pod that
    /// had the GPU before is none: it was gone when this one became Ready.
    pub(super) fn is_shared(&self, board: Id, pod: Id, ready: Timestamp) -> bool {
        self.users.of(board).iter().any(|user| user.pod != pod && self.is_all_after(user.last, ready))
    }

    /// Whether everything in a look that ended at `end` is newer than `from`.
    pub(super) fn is_all_after(&self, end: Timestamp, from: Timestamp) -> bool {
        end - self.interval - self.lag >= from
    }

    /// Whether `metric` was seen within the last day of this GPU, whichever pod had it.
    pub(super) fn measured_gpu(&self, board: Id, metric: Metric, now: Timestamp) -> bool {
        self.boards_seen.lately(board, metric.column(), now)
    }

    /// Whether `metric` was seen within the last day of this pod.
    pub(super) fn measured_pod(&self, pod: Id, metric: Metric, now: Timestamp) -> bool {
        self.pods_seen.lately(pod, metric.column(), now)
    }

    /// A slice under the numbers of the history. Every name in it counts as seen, so that none is given away before it.
    fn kept(&mut self, slice: &Slice) -> Look {
        let pods: Vec<Id> = slice.pods.names().map(|name| self.pods.id(name)).collect();
        let boards: Vec<Id> = slice.boards.names().map(|name| self.boards.id(name)).collect();
        for pod in &pods {
            self.pods_seen.note(*pod, Subject::Server.metrics(), slice.at);
        }
        for board in &boards {
            self.boards_seen.note(*board, Subject::Gpu.metrics(), slice.at);
        }
        let containers: Vec<Id> = slice.containers.names().map(|name| self.containers.id(name)).collect();
        self.products.resize(self.boards.len(), None);
        for (board, product) in &slice.products {
            self.products[boards[*board as usize] as usize] = Some(product);
        }
        let all = self.pods.len();
        Look {
            at: slice.at,
            gpus: slice.gpus.grouped(&pods, &boards, all),
            by_container: slice.by_container.grouped(&pods, &containers, all),
            by_pod: slice.by_pod.grouped(&pods, &[super::slice::WHOLE], all),
        }
    }

    fn note(&mut self, look: &Look) {
        for (pod, board, row) in look.gpus.rows() {
            self.users.note(board, pod, look.at);
            for column in (0..Subject::Gpu.metrics()).filter(|column| row.get(*column).is_some()) {
                self.boards_seen.note(board, column, look.at);
            }
        }
        for (pod, _, row) in look.by_pod.rows() {
            for column in (0..Subject::Server.metrics()).filter(|column| row.get(*column).is_some()) {
                self.pods_seen.note(pod, column, look.at);
            }
        }
    }

    /// Forgets pods and GPUs that nothing was seen of for a day.
    fn age(&mut self, now: Timestamp) {
        for pod in (0..self.pods.len()).filter_map(|pod| Id::try_from(pod).ok()) {
            if self.pods.is_used(pod) && !self.pods_seen.any_lately(pod, now) {
                self.pods.forget(pod);
                self.pods_seen.forget(pod);
            }
        }
        for board in (0..self.boards.len()).filter_map(|board| Id::try_from(board).ok()) {
            if self.boards.is_used(board) && !self.boards_seen.any_lately(board, now) {
                self.boards.forget(board);
                self.boards_seen.forget(board);
                self.products[board as usize] = None;
            }
        }
    }

    /// How many pods and GPUs are known.
    #[cfg(test)]
    pub(super) fn known(&self) -> (usize, usize) {
        (self.pods.names().count(), self.boards.names().count())
    }
}
