//! The nodes of a pool: those that always exist, those that come when asked for, and what reclaims them.

use crate::simulate::scenario::PoolShape;
use wellfed_engine::units::NodeName;
use wellfed_sim::meter::digest;

/// A node beyond those that always exist goes after this without a pod (the cluster autoscaler's default), seconds.
const IDLE: f64 = 600.0;

/// A pool of equal nodes.
#[derive(Clone, Debug)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// The product of its GPUs.
    pub product: String,
    /// Price of a GPU for an hour.
    pub price: f64,
    nodes: Vec<Node>,
    gpus: u32,
    always: usize,
    most: usize,
    provisioning: f64,
    reclaimed_every: Option<f64>,
    seed: u64,
    /// Nodes made so far.
    made: u64,
}

#[derive(Clone, Debug)]
struct Node {
    number: u64,
    /// Which pod's GPU it is: the pods' numbers are not needed, only whether it is taken.
    taken: Vec<bool>,
    /// When it comes, or came.
    comes: f64,
    here: bool,
    /// When it is taken away.
    reclaimed: Option<f64>,
    idle_since: f64,
    /// GPUs that pods which wait will take once it is here.
    promised: u32,
}

/// Where a pod sits.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// The node's number.
    pub node: u64,
    /// Which of its GPUs.
    pub gpus: Vec<usize>,
}

impl NodePool {
    /// The pool at the start.
    pub fn new(shape: &PoolShape, seed: u64) -> Self {
        let mut pool = Self {
            name: shape.name.clone(),
            product: shape.product.clone(),
            price: shape.price_per_gpu_hour,
            nodes: Vec::new(),
            gpus: shape.gpus_per_node,
            always: shape.nodes as usize,
            most: shape.max_nodes.unwrap_or(shape.nodes) as usize,
            provisioning: shape.provisioning.seconds(),
            reclaimed_every: shape.reclaimed_every.map(wellfed_sim::scenario::Span::seconds),
            seed,
            made: 0,
        };
        for _ in 0..pool.always {
            pool.make(0.0, true);
        }
        pool
    }

    fn make(&mut self, comes: f64, here: bool) {
        let number = self.made;
        self.made += 1;
        let taken = vec![false; self.gpus as usize];
        let reclaimed = self.reclaimed_every.map(|mean| comes + self.lifetime(number) * mean);
        self.nodes.push(Node { number, taken, comes, here, reclaimed, idle_since: comes, promised: 0 });
    }

    /// Exponential with a mean of one; the same for every policy that is played.
    fn lifetime(&self, number: u64) -> f64 {
        let drawn = digest(&(self.seed, &self.name, number)) as f64 / u64::MAX as f64;
        -(1.0 - drawn).max(1e-12).ln()
    }

    /// Takes nodes away whose time has come, and says which; those that always exist are replaced.
    pub fn reclaim(&mut self, now: f64) -> Vec<u64> {
        let due = |node: &Node| node.reclaimed.is_some_and(|at| at <= now);
        let gone: Vec<(u64, f64)> = self
            .nodes
            .iter()
            .filter(|node| due(node))
            .map(|node| (node.number, node.reclaimed.unwrap_or(now)))
            .collect();
        self.nodes.retain(|node| !due(node));
        for (_, at) in &gone {
            if self.nodes.len() < self.always {
                self.make(at + self.provisioning, false);
            }
        }
        gone.into_iter().map(|(number, _)| number).collect()
    }

    /// Nodes on their way arrive.
    pub fn come(&mut self, now: f64) {
        for node in self.nodes.iter_mut().filter(|node| !node.here && node.comes <= now) {
            node.here = true;
            node.idle_since = now;
        }
    }

    /// Nodes beyond those that always exist go when they have been idle for long.
    pub fn retire(&mut self, now: f64) {
        let mut surplus = self.nodes.len().saturating_sub(self.always);
        self.nodes.retain(|node| {
            let idle = node.here && node.taken.iter().all(|taken| !taken) && now - node.idle_since >= IDLE;
            let goes = idle && surplus > 0;
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// Forgets what was promised on nodes that are on their way.
    pub fn plan(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.promised = 0);
    }

    /// A seat with `gpus` GPUs on the fullest node that has them; without one a node is asked for, as far as there may be.
    pub fn seat(&mut self, gpus: u32, now: f64) -> Option<Seat> {
        let free = |node: &Node| node.taken.iter().filter(|taken| !**taken).count() as u64;
        let fitting = self.nodes.iter_mut().filter(|node| node.here && free(node) >= u64::from(gpus));
        if let Some(node) = fitting.min_by_key(|node| (free(node), node.number)) {
            let open = (0..node.taken.len()).filter(|at| !node.taken[*at]).take(gpus as usize);
            let seats: Vec<usize> = open.collect();
            for at in &seats {
                node.taken[*at] = true;
            }
            return Some(Seat { node: node.number, gpus: seats });
        }
        self.promise(gpus, now);
        None
    }

    fn promise(&mut self, gpus: u32, now: f64) {
        let room = |node: &&mut Node| !node.here && node.taken.len() as u64 >= u64::from(node.promised + gpus);
        if let Some(node) = self.nodes.iter_mut().find(room) {
            node.promised += gpus;
        } else if self.nodes.len() < self.most && gpus <= self.gpus {
            self.make(now + self.provisioning, false);
            if let Some(node) = self.nodes.last_mut() {
                node.promised = gpus;
            }
        }
    }

    /// The pod that sat there is gone.
    pub fn leave(&mut self, seat: &Seat, now: f64) {
        if let Some(node) = self.nodes.iter_mut().find(|node| node.number == seat.node) {
            for at in &seat.gpus {
                node.taken[*at] = false;
            }
            node.idle_since = now;
        }
    }

    /// The nodes that are here, and their free GPUs.
    pub fn usable(&self) -> impl Iterator<Item = (NodeName, u32)> {
        self.nodes.iter().filter(|node| node.here).map(|node| {
            let free = node.taken.iter().map(|taken| u32::from(!taken)).sum();
            (NodeName(format!("{}-{}", self.name, node.number)), free)
        })
    }

    /// The UUIDs of the GPUs of a seat.
    pub fn uuids(&self, seat: &Seat) -> Vec<String> {
        seat.gpus.iter().map(|at| format!("GPU-{}-{}-{at}", self.name, seat.node)).collect()
    }
}
