//! The last looks, each covering the time since the one before, in arrays; and what was seen within a day.

use super::boards::{Board, Boards, board_of};
use super::bounds::OF_NOTHING;
use super::inherited::Inherited;
use super::last_seen::{LastSeen, REMEMBERED};
use super::metric::{Metric, Subject};
use super::numbering::{Id, Numbering};
use super::own::OwnHistory;
use super::slice::{Slice, joined};
use super::table::{Grouped, Row};
use super::users::Users;
use super::watched::Watched;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashSet, VecDeque};

/// The looks of the longest window.
#[derive(Clone, Debug)]
pub struct History {
    /// How much time one look covers.
    pub(super) interval: SignedDuration,
    /// How much older than its look what is in it may be.
    pub(super) lag: SignedDuration,
    /// Oldest first.
    pub(super) looks: VecDeque<Look>,
    /// When the last look was tried, with an answer or without.
    tried: Option<Timestamp>,
    pub(super) boards: Numbering,
    nodes: Numbering,
    nodes_seen: LastSeen,
    /// Nodes whose GPUs one workload alone has, as it was watched last; and those that were it the time before too, so that
    /// all of a look is its own.
    own_now: HashSet<String>,
    own: HashSet<String>,
    pods: Numbering,
    containers: Numbering,
    containers_seen: LastSeen,
    /// Whether rows of pods that neither have a GPU nor are watched are left out.
    sparing: bool,
    boards_seen: LastSeen,
    pods_seen: LastSeen,
    /// The product of each board, by its number, where it is known.
    products: Vec<Option<Id>>,
    /// Products by name, so few that none is forgotten, and the data sheet of each, where there is one.
    models: Numbering,
    sheets: Vec<Option<Board>>,
    /// What the administrator says of products.
    configured: Boards,
    /// Pods whose wait for storage was measured.
    io_seen: LastSeen,
    users: Users,
    pub(super) said: OwnHistory,
    /// Pods that are exporters: a GPU whose pod the exporter does not tell bears the exporter's own name.
    exporters: HashSet<Id>,
    /// What was known before this process began to look.
    pub(super) inherited: Inherited,
}

/// One look, as it is kept.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) at: Timestamp,
    /// Rows of some pods were dropped.
    thinned: bool,
    gpus: Grouped,
    by_container: Grouped,
    by_pod: Grouped,
    by_node: Grouped,
}

/// Under which a node is kept whose GPUs several workloads had, or nobody knows whose they were.
const FOREIGN: Id = 1;

impl Look {
    /// The GPUs that a pod has in this look.
    pub(super) fn boards_of(&self, pod: Id) -> &[Id] {
        self.gpus.of_pod(pod)
    }

    fn retain(&mut self, keeps: impl Fn(Id) -> bool) {
        for rows in [&mut self.gpus, &mut self.by_container, &mut self.by_pod] {
            rows.retain(&keeps);
        }
        self.thinned = true;
    }

    /// What it knows of one thing of a pod.
    pub(super) fn row(&self, subject: Subject, pod: Id, thing: Id) -> Option<Row<'_>> {
        match subject {
            Subject::Gpu => self.gpus.find(pod, thing),
            Subject::Container => self.by_container.find(pod, thing),
            Subject::Server => self.by_pod.find(pod, thing),
            Subject::Node => self.by_node.find(pod, thing),
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
            tried: None,
            boards: Numbering::default(),
            nodes: Numbering::default(),
            nodes_seen: LastSeen::of(Subject::Node.metrics() + 1),
            own_now: HashSet::new(),
            own: HashSet::new(),
            pods: Numbering::default(),
            containers: Numbering::default(),
            containers_seen: LastSeen::of(1),
            sparing: false,
            boards_seen: LastSeen::of(Subject::Gpu.metrics() + 1),
            pods_seen: LastSeen::of(Subject::Server.metrics() + 1),
            io_seen: LastSeen::of(1),
            products: Vec::new(),
            models: Numbering::default(),
            sheets: Vec::new(),
            configured: Boards::new(),
            users: Users::default(),
            said: OwnHistory::default(),
            exporters: HashSet::new(),
            inherited: Inherited::default(),
        }
    }

    /// The same, where a look shows what was recorded up to `lag` before it.
    #[must_use]
    pub fn lagging(self, lag: SignedDuration) -> Self {
        Self { lag, ..self }
    }

    /// The same, where the administrator says this of products.
    #[must_use]
    pub fn knowing(self, configured: Boards) -> Self {
        Self { configured, ..self }
    }

    /// Products of which neither the table nor the administrator says anything.
    pub fn unknown_products(&self) -> impl Iterator<Item = &str> {
        self.models.names().zip(&self.sheets).filter(|(_, sheet)| sheet.is_none()).map(|(name, _)| name)
    }

    /// Adds a look, and drops what lies more than `longest` before it. What was not seen for a day is forgotten.
    pub fn push(&mut self, slice: Slice, longest: SignedDuration) {
        let at = slice.at;
        self.tried = Some(at);
        let look = self.kept(&slice);
        drop(slice);
        self.note(&look);
        self.looks.push_back(look);
        while self.looks.front().is_some_and(|first| at.duration_since(first.at) > longest) {
            self.looks.pop_front();
        }
        self.users.forget_before(at - REMEMBERED);
        self.age(at);
    }

    /// A look at `at` had no answer: what it would have seen is missing.
    pub fn miss(&mut self, at: Timestamp) {
        self.tried = Some(at);
    }

    /// When the last look was tried; none before the first that had an answer.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let last = self.looks.back()?.at;
        Some(self.tried.map_or(last, |tried| tried.max(last)))
    }

    /// When the last look ended that had an answer.
    pub fn last_answer(&self) -> Option<Timestamp> {
        self.looks.back().map(|last| last.at)
    }

    /// From now on keeps what looks say of these workloads' pods, and of others only of those that have had a GPU within a
    /// day. Without this, everything is kept.
    pub fn watch(&mut self, watched: &[Watched], now: Timestamp) {
        self.sparing = true;
        self.inherited.note(watched, now);
        let nodes = watched.iter().flat_map(|one| one.pods.iter().filter_map(|pod| pod.node.as_ref()));
        let own: HashSet<_> = nodes.filter(|node| node.own).map(|node| node.name.clone()).collect();
        self.own = own.intersection(&self.own_now).cloned().collect();
        self.own_now = own;
        for (one, pod) in watched.iter().flat_map(|one| one.pods.iter().map(move |pod| (one, pod))) {
            let pod = self.pods.id(&joined(&one.namespace, &pod.name));
            self.pods_seen.note(pod, Subject::Server.metrics(), now);
        }
    }

    /// Drops from looks older than `kept` what is not of a workload that looks back further: a look is that old only for
    /// one that was watched when it was not.
    pub fn thin(&mut self, watched: &[Watched], kept: SignedDuration) {
        let Some(last) = self.looks.back().map(|last| last.at) else { return };
        let far = watched.iter().filter(|one| one.gate.window > kept);
        let pods: HashSet<Id> =
            far.flat_map(|one| one.pods.iter().filter_map(|pod| self.pod(&one.namespace, &pod.name))).collect();
        for look in self.looks.iter_mut().filter(|look| !look.thinned && last.duration_since(look.at) > kept) {
            look.retain(|pod| pods.contains(&pod));
        }
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

    pub(super) fn node(&self, name: &str) -> Option<Id> {
        self.nodes.get(name)
    }

    /// The rows of a node: those in which it was one workload's own, or else (`FOREIGN`) all others.
    pub(super) const OWN_OR_NOT: [Id; 2] = [super::slice::WHOLE, FOREIGN];

    /// Whether `metric` was seen within the last day of this node.
    pub(super) fn measured_node(&self, node: Id, metric: Metric, now: Timestamp) -> bool {
        self.nodes_seen.lately(node, metric.column(), now)
    }

    /// Whether this pod's wait for storage was measured within the last day.
    pub(super) fn measured_io(&self, pod: Id, now: Timestamp) -> bool {
        self.io_seen.lately(pod, 0, now)
    }

    /// What the data sheet of a board says, where its product is in the table.
    pub(super) fn product(&self, board: Id) -> Option<Board> {
        self.sheets.get(self.model(board)? as usize).copied().flatten()
    }

    /// The number of a board's product, whether it is in the table or not.
    pub(super) fn model(&self, board: Id) -> Option<Id> {
        self.products.get(board as usize).copied().flatten()
    }

    /// Whether a look within a day showed another pod on this GPU while `pod`, Ready since `ready`, was there. The pod that
    /// had the GPU before is none: it was gone when this one became Ready.
    pub(super) fn is_shared(&self, board: Id, pod: Id, ready: Timestamp) -> bool {
        let other = |pod_seen: Id| pod_seen != pod && !self.exporters.contains(&pod_seen);
        self.users.of(board).iter().any(|user| other(user.pod) && self.is_all_after(user.last, ready))
    }

    /// Whether any GPU that a look that is kept shows with this pod is shared.
    pub(super) fn shares_a_gpu(&self, pod: Id, ready: Timestamp) -> bool {
        let boards = self.looks.iter().flat_map(|look| look.boards_of(pod));
        boards.into_iter().any(|board| self.is_shared(*board, pod, ready))
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
        let pods = self.pods_kept(slice);
        let boards: Vec<Id> = slice.boards.names().map(|name| self.boards.id(name)).collect();
        for board in &boards {
            self.boards_seen.note(*board, Subject::Gpu.metrics(), slice.at);
        }
        self.exporters.extend(slice.exporters.iter().filter_map(|exporter| pods[*exporter as usize]));
        let containers = self.containers_kept(slice, &pods);
        let nodes: Vec<(Id, Id)> = slice.nodes.names().map(|name| self.node_kept(name, slice.at)).collect();
        self.products.resize(self.boards.len(), None);
        for (board, model) in &slice.products {
            let model = self.models.id(slice.models.name(*model));
            let new = self.models.names().skip(self.sheets.len()).map(|name| board_of(name, &self.configured));
            self.sheets.extend(new.collect::<Vec<_>>());
            self.products[boards[*board as usize] as usize] = Some(model);
        }
        let all = self.pods.len();
        let pod = |id: Id| pods[id as usize];
        Look {
            at: slice.at,
            thinned: false,
            gpus: slice.gpus.grouped(|(id, board)| Some((pod(id)?, boards[board as usize])), all),
            by_container: slice.by_container.grouped(|(id, name)| Some((pod(id)?, containers[name as usize]?)), all),
            by_pod: slice.by_pod.grouped(|(id, whole)| Some((pod(id)?, whole)), all),
            by_node: slice.by_node.grouped(|(id, _)| Some(nodes[id as usize]), self.nodes.len()),
        }
    }

    /// A node's number, and whether it is one workload's own.
    fn node_kept(&mut self, name: &str, at: Timestamp) -> (Id, Id) {
        let node = self.nodes.id(name);
        self.nodes_seen.note(node, Subject::Node.metrics(), at);
        (node, if self.own.contains(name) { super::slice::WHOLE } else { FOREIGN })
    }

    /// The pods of a slice whose rows are kept: those with a GPU, exporters, and those that are known from before.
    fn pods_kept(&mut self, slice: &Slice) -> Vec<Option<Id>> {
        let mut has_gpu = vec![!self.sparing; slice.pods.len()];
        for pod in slice.gpus.keys().map(|(pod, _)| pod).chain(slice.exporters.iter().copied()) {
            has_gpu[pod as usize] = true;
        }
        let names = slice.pods.names().zip(has_gpu);
        let pods: Vec<Option<Id>> =
            names.map(|(name, gpu)| if gpu { Some(self.pods.id(name)) } else { self.pods.get(name) }).collect();
        for pod in pods.iter().flatten() {
            self.pods_seen.note(*pod, Subject::Server.metrics(), slice.at);
        }
        pods
    }

    /// The names of containers of these pods.
    fn containers_kept(&mut self, slice: &Slice, pods: &[Option<Id>]) -> Vec<Option<Id>> {
        let mut kept = vec![None; slice.containers.len()];
        for (_, name) in slice.by_container.keys().filter(|(pod, _)| pods[*pod as usize].is_some()) {
            let id = self.containers.id(slice.containers.name(name));
            self.containers_seen.note(id, 0, slice.at);
            kept[name as usize] = Some(id);
        }
        kept
    }

    fn note(&mut self, look: &Look) {
        for (pod, board, row) in look.gpus.rows() {
            if !self.exporters.contains(&pod) {
                self.users.note(board, pod, look.at);
            }
            for column in (0..Subject::Gpu.metrics()).filter(|column| row.get(*column).is_some()) {
                self.boards_seen.note(board, column, look.at);
            }
        }
        for (pod, _, row) in look.by_pod.rows() {
            // The mean of nothing says of no metric that its pod has it.
            let told = |column: &usize| row.get(*column).is_some_and(|value| value > OF_NOTHING);
            for column in (0..Subject::Server.metrics()).filter(told) {
                self.pods_seen.note(pod, column, look.at);
            }
        }
        for (pod, ..) in look.by_container.rows().filter(|(.., row)| row.get(Metric::IoPressure.column()).is_some()) {
            self.io_seen.note(pod, 0, look.at);
        }
        for (node, _, row) in look.by_node.rows() {
            for column in (0..Subject::Node.metrics()).filter(|column| row.get(*column).is_some()) {
                self.nodes_seen.note(node, column, look.at);
            }
        }
    }

    /// Forgets pods, containers and GPUs that nothing was seen of for a day.
    fn age(&mut self, now: Timestamp) {
        forget_old(&mut self.pods, &mut self.pods_seen, now, |pod| {
            self.exporters.remove(&pod);
            self.io_seen.forget(pod);
        });
        forget_old(&mut self.nodes, &mut self.nodes_seen, now, |_| {});
        forget_old(&mut self.containers, &mut self.containers_seen, now, |_| {});
        forget_old(&mut self.boards, &mut self.boards_seen, now, |board| self.products[board as usize] = None);
    }

    /// How many pods, GPUs and containers are known.
    #[cfg(test)]
    pub(super) fn known(&self) -> (usize, usize, usize) {
        (self.pods.names().count(), self.boards.names().count(), self.containers.names().count())
    }

    /// How many rows there are in all looks.
    #[cfg(test)]
    pub(super) fn rows(&self) -> usize {
        let rows = |look: &Look| [&look.gpus, &look.by_container, &look.by_pod].map(|rows| rows.rows().count());
        self.looks.iter().flat_map(rows).sum()
    }
}

fn forget_old(names: &mut Numbering, seen: &mut LastSeen, now: Timestamp, mut forgotten: impl FnMut(Id)) {
    for id in (0..names.len()).filter_map(|id| Id::try_from(id).ok()) {
        if names.is_used(id) && !seen.any_lately(id, now) {
            names.forget(id);
            seen.forget(id);
            forgotten(id);
        }
    }
}
