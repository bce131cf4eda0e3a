//! What an operator that ran before this one knew of a workload's sources: for a day it is missed like what was seen here.

use super::last_seen::REMEMBERED;
use super::watched::Watched;
use jiff::Timestamp;
use std::collections::HashMap;
use wellfed_engine::evidence::{Evidence, Sources};

/// Until this process has looked for a day itself.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    began: Option<Timestamp>,
    /// By the workload's uid: what was known when it was first watched here.
    known: HashMap<String, Sources>,
}

impl Inherited {
    /// A look at `now` is about to be taken in: what is known of these workloads before it comes from before this process.
    pub fn note(&mut self, watched: &[Watched], now: Timestamp) {
        let began = *self.began.get_or_insert(now);
        if now.duration_since(began) > REMEMBERED {
            self.known.clear();
            return;
        }
        for one in watched {
            self.known.entry(one.uid.clone()).or_insert(one.sources);
        }
    }

    /// Marks as lost what was known then and is missing.
    pub fn mark(&self, evidence: &mut Evidence, workload: &Watched) {
        if let Some(known) = self.known.get(&workload.uid) {
            evidence.lose(*known);
        }
    }
}
