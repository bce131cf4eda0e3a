//! One physical GPU: whose work runs on it, and its meters.

use std::collections::BTreeMap;
use wellfed_sim::meter::{Meter, Sample};
use wellfed_sim::product::Product;
use wellfed_sim::sim::{Ledger, Usage};

/// One physical GPU.
#[derive(Debug)]
pub struct Gpu {
    meter: Meter,
    /// What owners that are gone did on it: its meters never run backwards.
    past: Usage,
    /// What each owner did on it so far, by uid.
    owners: BTreeMap<String, Ledger>,
    /// When its meters were read.
    read: Option<f64>,
    /// What they showed then.
    pub last: Option<Sample>,
}

impl Gpu {
    /// At rest, with no owner.
    pub fn of(name: &str) -> Self {
        let past = Usage::default();
        Self { meter: Meter::of(name), past, owners: BTreeMap::new(), read: None, last: None }
    }

    /// The pod `uid` holds it, and did this since it was made.
    pub fn owned(&mut self, uid: &str, ledger: Ledger) {
        if let Some(known) = self.owners.get_mut(uid) {
            *known = ledger;
        } else {
            self.owners.insert(uid.to_owned(), ledger);
        }
    }

    /// Takes the work of owners that are gone over into the past.
    pub fn keep_only(&mut self, alive: impl Fn(&str) -> bool) {
        let past = &mut self.past;
        self.owners.retain(|uid, ledger| {
            let kept = alive(uid);
            if !kept {
                *past += ledger.used;
            }
            kept
        });
    }

    /// What the exporter shows, which reads the meters every `interval` seconds; none before the second time. Owners that
    /// share the GPU see the same.
    pub fn read(&mut self, at: f64, interval: f64, product: Product) -> Option<Sample> {
        if self.read.is_some_and(|read| at - read < interval - 1e-6) {
            return self.last;
        }
        let mut all = Ledger { used: self.past, ..Ledger::default() };
        for owner in self.owners.values() {
            all.used += owner.used;
            all.level.gpu_memory_mib += owner.level.gpu_memory_mib;
            all.level.clock_lost = all.level.clock_lost.max(owner.level.clock_lost);
        }
        let since = self.read.replace(at);
        let sample = self.meter.read(&all, product, f64::from(product.memory_mib), at - since.unwrap_or(at - 1.0));
        self.last = since.map(|_| sample);
        self.last
    }
}
