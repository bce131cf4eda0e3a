//! Synchronous data-parallel training: a step takes the longest of GPU, loader and storage time.

mod charge;
mod crash;
mod exchange;
mod loader;
mod loss;
mod pace;

use super::{
    Tick,
    replica::{Replica, Stage},
    usage::{Ledger, Usage},
};
use crate::scenario::{Phase, Since, Training};
use charge::Part;
use crash::Process;
pub use crash::{Ended, Outage};
pub use pace::Pace;
use std::collections::BTreeMap;

/// Share of the GPU memory that a checkpoint writes: weights and optimizer state, without activations.
const SAVED: f64 = 0.4;

/// The state of one training run.
#[derive(Debug, Default)]
pub struct TrainingRun {
    /// Samples that wait.
    pub backlog: f64,
    /// Samples worked through.
    pub samples: f64,
    /// The pace of the last step.
    pub pace: Pace,
    /// Loss of the last step; NaN once it diverged.
    pub loss: f64,
    /// When the scenario began, on the models' clock: times of causes are counted from here.
    pub began: f64,
    /// Samples and steps of each replica, by uid.
    pub progress: BTreeMap<String, Progress>,
    /// Samples that made the model better, as far as it was not lost again.
    learned: f64,
    /// Share of right answers in the last evaluation; none before the first.
    pub quality: Option<f64>,
    process: Process,
    evaluations: u64,
    /// What the last checkpoint holds of it.
    saved: f64,
    did: Doing,
    steps: f64,
}

/// What one replica has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Samples.
    pub samples: f64,
    /// Steps.
    pub steps: f64,
    /// When it turned Ready, on the models' clock.
    pub since: f64,
}

/// What a group does at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doing {
    Down,
    WarmingUp,
    Hanging,
    Checkpointing,
    Evaluating,
    #[default]
    Training,
}

impl TrainingRun {
    /// A run with the backlog that the scenario gives it.
    pub fn new(training: &Training) -> Self {
        Self { backlog: training.backlog, loss: loss::loss(0.0, 0), ..Self::default() }
    }

    /// Trains over `tick` with `arrived` new samples; `ledgers` gets what the replicas used.
    pub fn step(
        &mut self,
        training: &Training,
        arrived: f64,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) {
        self.backlog += arrived;
        let ready: Vec<&Replica> = replicas.iter().filter(|replica| replica.stage == Stage::Ready).collect();
        self.follow(replicas, &ready, tick.from);
        if ready.is_empty() {
            self.pace = Pace::default();
            return;
        }
        // Synchronous: all wait for the replica with the least CPU.
        let limit = ready.iter().filter_map(|replica| replica.cpu_limit).min_by(f64::total_cmp);
        let count = ready.len() as u32;
        self.run_or_end(training, &ready, tick);
        let doing = self.doing(training, tick);
        self.note(doing);
        let (pace, steps) = match doing {
            Doing::Training => self.train(training, Pace::of(training, count, limit), &ready, tick),
            Doing::Evaluating => {
                let pace = Pace::forward(training, count, limit);
                (pace, tick.length() / pace.step)
            }
            _ => (self.pace, 0.0),
        };
        for (index, replica) in ready.iter().enumerate() {
            let part = part(training, index);
            let used = match doing {
                Doing::Training | Doing::Evaluating => charge::steps(training, &pace, part, steps, tick.length()),
                _ => self.pause(doing, training, replica, tick),
            };
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += used;
            let used = training.memory.as_ref().map(|memory| memory.used(pace.at_once, f64::from(count)));
            let held = used.unwrap_or(training.gpu_memory_mib);
            ledger.level.gpu_memory_mib = if doing == Doing::Down { 0.0 } else { held };
            ledger.level.memory_bytes = 2.4e10;
            ledger.level.clock_lost = 1.0 - part.clock;
        }
    }

    fn follow(&mut self, replicas: &[Replica], ready: &[&Replica], now: f64) {
        self.progress.retain(|uid, _| replicas.iter().any(|replica| replica.uid == *uid));
        for replica in ready.iter().filter(|replica| !self.progress.contains_key(&replica.uid)).collect::<Vec<_>>() {
            self.progress.insert(replica.uid.clone(), Progress { since: now, ..Progress::default() });
        }
    }

    fn doing(&self, training: &Training, tick: Tick) -> Doing {
        let middle = f64::midpoint(tick.from, tick.until) - self.began;
        let within = |phase: Option<Phase>| {
            phase.is_some_and(|phase| middle % phase.every.seconds() >= phase.every.seconds() - phase.lasts.seconds())
        };
        if self.process.is_down(tick.from) {
            Doing::Down
        } else if self.progress.values().any(|one| warming(training, one, tick)) {
            Doing::WarmingUp
        } else if training.hang.is_some_and(|hang| hang.holds(tick.from - self.began)) {
            Doing::Hanging
        } else if within(training.phases.checkpoint) {
            Doing::Checkpointing
        } else if within(training.phases.evaluation) {
            Doing::Evaluating
        } else {
            Doing::Training
        }
    }

    /// Ends the processes that are due to end.
    fn run_or_end(&mut self, training: &Training, ready: &[&Replica], tick: Tick) {
        let started = ready.iter().filter_map(|replica| self.progress.get(&replica.uid)).map(|one| one.since);
        let started = started.fold(0.0, f64::max);
        let uids = ready.iter().map(|replica| replica.uid.as_str());
        if let Some(crash) = crash::due(training, ready.len() as u32)
            && self.process.ends(crash, started, tick.from, uids)
        {
            // What was learned since must be learned again.
            self.backlog += (self.learned - self.saved).max(0.0);
            self.learned = self.saved;
        }
    }

    /// Keeps what a checkpoint saved, and what an evaluation found.
    fn note(&mut self, doing: Doing) {
        match std::mem::replace(&mut self.did, doing) {
            before if before == doing => {}
            Doing::Checkpointing => self.saved = self.learned,
            Doing::Evaluating => {
                self.evaluations += 1;
                self.quality = Some(loss::quality(self.learned, self.evaluations));
            }
            _ => {}
        }
    }

    /// Samples that made the model better: where processes end again and again, those that a checkpoint holds.
    pub fn useful(&self) -> f64 {
        if self.process.outage.is_some() { self.saved } else { self.learned }
    }

    /// How processes ended so far, oldest first.
    pub fn ends(&self) -> &[Ended] {
        &self.process.ends
    }

    /// The last stretch without a process, if there was one.
    pub fn outage(&self) -> Option<Outage> {
        self.process.outage
    }

    /// Takes what the group can of the backlog; returns the pace and the steps that each replica made.
    fn train(&mut self, training: &Training, pace: Pace, ready: &[&Replica], tick: Tick) -> (Pace, f64) {
        self.pace = pace;
        let most = ready.len() as f64 * pace.samples * tick.length() / pace.step;
        let taken = self.backlog.min(most);
        let steps = taken / (ready.len() as f64 * pace.samples);
        self.backlog -= taken;
        self.samples += taken;
        for replica in ready {
            let progress = self.progress.entry(replica.uid.clone()).or_default();
            progress.samples += pace.samples * steps;
            progress.steps += steps;
        }
        self.learn(training, taken, steps, tick);
        (pace, steps)
    }

    fn learn(&mut self, training: &Training, samples: f64, steps: f64, tick: Tick) {
        let begun = tick.from - self.began;
        let holds = |since: Option<Since>| since.is_some_and(|since| since.holds(begun));
        if !holds(training.plateaus) && !holds(training.diverges) {
            self.learned += samples;
        }
        self.steps += steps;
        self.loss = if holds(training.diverges) { f64::NAN } else { loss::loss(self.learned, self.steps as u64) };
    }

    /// What a replica uses while the group makes no steps; one that has warmed up waits for those that have not.
    fn pause(&self, doing: Doing, training: &Training, replica: &Replica, tick: Tick) -> Usage {
        let seconds = tick.length();
        let warm = |uid: &String| self.progress.get(uid).is_none_or(|one| !warming(training, one, tick));
        match doing {
            Doing::Down => Usage::default(),
            Doing::WarmingUp if warm(&replica.uid) => Usage::default(),
            Doing::WarmingUp => charge::warm_up(replica.cpu_limit, seconds),
            Doing::Hanging => charge::hung(replica.cpu_limit, seconds),
            _ => {
                let lasts = training.phases.checkpoint.map_or(seconds, |phase| phase.lasts.seconds());
                let bytes = training.gpu_memory_mib * 1_048_576.0 * SAVED * seconds / lasts;
                charge::checkpoint(bytes, training.storage.remote, replica.cpu_limit, seconds)
            }
        }
    }
}

fn warming(training: &Training, one: &Progress, tick: Tick) -> bool {
    tick.from < one.since + training.warm_up.seconds()
}

fn part(training: &Training, index: usize) -> Part {
    match &training.slow {
        Some(slow) if index < slow.replicas as usize => Part { clock: slow.clock, held: slow.thermal },
        _ => Part { clock: 1.0, held: false },
    }
}
