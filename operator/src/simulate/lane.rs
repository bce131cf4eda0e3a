//! The gate's lane in simulated time: a look a minute while a workload wants to grow, judged as on a real cluster.

use super::lens::Lens;
use super::plant::Plant;
use super::sampler::{SampledPod, Sampler};
use super::scenario::{LOOK_EVERY, Scenario};
use crate::evidence::{History, LONGEST, Watched};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use wellfed_engine::judge;
use wellfed_engine::opinion::Opinions;

/// Time between scrapes, seconds.
const SCRAPE_EVERY: f64 = 15.0;

/// The gate's lane.
#[derive(Debug)]
pub struct Lane {
    sampler: Sampler,
    history: History,
    /// Whether the last look had anybody to look at.
    watching: bool,
    next_scrape: f64,
    next_look: f64,
    /// What stands between exporters and the lane.
    lens: Lens,
    /// What it thinks.
    pub opinions: Opinions,
}

impl Lane {
    /// Nothing seen yet.
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            sampler: Sampler::new(scenario.exporter.clone()),
            history: History::every(SignedDuration::from_secs(60)),
            watching: false,
            next_scrape: 0.0,
            next_look: 0.0,
            lens: scenario.lens.clone(),
            opinions: Opinions::new(),
        }
    }

    /// What is due at `now`: a scrape, a look. While nobody wants to grow, nothing is scraped: no slice from before demand
    /// exceeded its target is ever judged.
    pub fn turn(
        &mut self,
        now: f64,
        at: Timestamp,
        watched: &[Watched],
        plant: &Plant,
        pods: impl FnOnce() -> Vec<SampledPod>,
    ) {
        let looks = now >= self.next_look;
        let scrapes = self.watching && now >= self.next_scrape;
        if looks && watched.is_empty() {
            self.watching = false;
            self.opinions.clear();
        } else if looks || scrapes {
            if !self.watching {
                self.sampler.pause();
            }
            let pods = pods();
            plant.scrape(&mut self.sampler, &pods);
            self.next_scrape = now + SCRAPE_EVERY;
            if looks && self.watching {
                self.look(at, watched, &pods);
            }
            self.watching = true;
        }
        if looks {
            self.next_look = now + LOOK_EVERY;
        }
    }

    fn look(&mut self, at: Timestamp, watched: &[Watched], pods: &[SampledPod]) {
        self.history.hear(watched, at);
        if let Some(slice) = self.lens.through(self.sampler.slice(at), pods) {
            self.history.push(slice, LONGEST);
        }
        let judged = |one: &Watched| Some((one.uid.clone(), Arc::new(judge(&self.history.evidence(one)?))));
        self.opinions = watched.iter().filter_map(judged).collect();
    }
}
