//! What workloads' own signals said at each look, while somebody watched them.

use super::assemble::trend_of;
use super::history::{History, Look};
use super::lane::LONGEST;
use super::last_seen::REMEMBERED;
use super::watched::{OwnSaid, Watched};
use jiff::Timestamp;
use std::collections::{BTreeMap, VecDeque};
use wellfed_engine::evidence::{OwnEvidence, Trend};
use wellfed_engine::span::Span;

/// By the workload's uid.
#[derive(Clone, Debug, Default)]
pub struct OwnHistory(BTreeMap<String, Said>);

/// What one workload's signals said.
#[derive(Clone, Debug, Default)]
struct Said {
    /// One a look, oldest first.
    looks: VecDeque<(Timestamp, OwnSaid)>,
    throughput: Option<Timestamp>,
    progress: Option<Timestamp>,
    quality: Option<Timestamp>,
}

impl OwnHistory {
    /// Notes what they say at the look `at`, and forgets what nobody has told for a day.
    pub fn note(&mut self, watched: &[Watched], at: Timestamp) {
        for one in watched {
            match self.0.get_mut(&one.uid) {
                Some(said) => said.note(one.own, at),
                None if one.own == OwnSaid::default() => {}
                None => self.0.entry(one.uid.clone()).or_default().note(one.own, at),
            }
        }
        self.0.retain(|_, said| said.any_lately(at));
    }
}

impl Said {
    fn note(&mut self, said: OwnSaid, at: Timestamp) {
        self.looks.push_back((at, said));
        while self.looks.front().is_some_and(|(first, _)| at.duration_since(*first) > LONGEST) {
            self.looks.pop_front();
        }
        self.throughput = said.throughput.map(|_| at).or(self.throughput);
        self.progress = said.progress.map(|_| at).or(self.progress);
        self.quality = said.quality.map(|_| at).or(self.quality);
    }

    fn any_lately(&self, now: Timestamp) -> bool {
        [self.throughput, self.progress, self.quality].into_iter().any(|last| is_late(last, now))
    }

    /// One place a look; none where nothing was said.
    fn each(&self, looks: &[&Look], value: impl Fn(&OwnSaid) -> Option<f64>) -> Vec<Option<f64>> {
        let at = |look: &&Look| {
            let place = self.looks.binary_search_by_key(&look.at, |(at, _)| *at).ok()?;
            value(&self.looks[place].1)
        };
        looks.iter().map(at).collect()
    }
}

impl History {
    /// Notes what the own signals of these workloads say at a look.
    pub fn hear(&mut self, watched: &[Watched], at: Timestamp) {
        self.said.note(watched, at);
    }

    /// What `workload`'s own signals said at these looks, of `expected` that there should be.
    pub(super) fn own_evidence(&self, workload: &Watched, looks: &[&Look], expected: usize) -> OwnEvidence {
        let (Some(said), Some(now)) = (self.said.0.get(&workload.uid), looks.last().map(|last| last.at)) else {
            return OwnEvidence::default();
        };
        let work: Vec<f64> = said.each(looks, |said| said.throughput).into_iter().flatten().collect();
        let throughput = Span::of(&work, expected, f64::INFINITY);
        let level =
            |value: fn(&OwnSaid) -> Option<f64>| -> Option<Trend> { trend_of(&said.each(looks, value), expected) };
        let (progress, quality) = (level(|said| said.progress), level(|said| said.quality));
        OwnEvidence {
            throughput,
            throughput_noise: noise(&work).filter(|_| work.len() >= expected),
            throughput_lost: throughput.is_none() && is_late(said.throughput, now),
            progress,
            progress_lost: progress.is_none() && is_late(said.progress, now),
            quality,
            quality_lost: quality.is_none() && is_late(said.quality, now),
        }
    }
}

/// Looks that tell how much a number varies.
const TELLING: usize = 5;

/// The standard deviation of `said`; none of too few, and where the last third is above the first by more than twice that: a
/// rate over a long time still rises long after what was added works.
fn noise(said: &[f64]) -> Option<f64> {
    if said.len() < TELLING {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (middle, third) = (mean(said), said.len() / 3);
    let squares: f64 = said.iter().map(|one| (one - middle).powi(2)).sum();
    let deviation = (squares / (said.len() - 1) as f64).sqrt();
    let risen = mean(&said[said.len() - third..]) - mean(&said[..third]);
    (risen <= 2.0 * deviation).then_some(deviation)
}

fn is_late(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_some_and(|last| now.duration_since(last) <= REMEMBERED)
}
