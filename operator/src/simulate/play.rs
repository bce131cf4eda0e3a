//! One policy, played through a scenario from its start to its end.

use super::board::{Board, READ_EVERY};
use super::cluster::{Bill, Cluster, Set};
use super::error::SimulateError;
use super::figures::{Count, Counted, Figures};
use super::operator::Operator;
use super::plant::{Look, Plant};
use super::rivals::{Policy, Rivals, Sight};
use super::scenario::Scenario;
use super::series::{Point, Series};
use std::collections::BTreeMap;
use wellfed_engine::decision::{Decision, Step};
use wellfed_engine::world::World;
use wellfed_sim::sim::Replica;
use wellfed_sim::sim::training::TrainingRun;

/// How one workload fared under one policy.
#[derive(Clone, Debug)]
pub struct Fared {
    /// What it cost and gave.
    pub figures: Figures,
    /// How it went over time.
    pub points: Vec<Point>,
}

/// Who is told of every cycle of wellfed: the world that it saw, and what it decided.
pub type Witness<'a> = &'a mut dyn FnMut(&World, &[Decision]);

/// Plays `policy`; how each workload fared, in the scenario's order.
pub fn play(scenario: &Scenario, policy: Policy, witness: Witness<'_>) -> Result<Vec<Fared>, SimulateError> {
    let mut play = Play::new(scenario, policy)?;
    let mut cycle: u64 = 0;
    loop {
        let now = cycle as f64 * scenario.cycle;
        if now >= scenario.length {
            return Ok(play.finish());
        }
        play.cycle(now, (now + scenario.cycle).min(scenario.length), witness)?;
        cycle += 1;
    }
}

/// Who decides.
enum Driver {
    Wellfed(Box<Operator>),
    Rival(Rivals),
}

struct Play<'a> {
    scenario: &'a Scenario,
    cluster: Cluster,
    plant: Plant,
    driver: Driver,
    boards: Vec<Board>,
    next_read: f64,
    /// The cluster's version that `replicas` shows.
    shows: Option<u64>,
    replicas: BTreeMap<String, Vec<Replica>>,
    tracks: Vec<Track>,
}

/// What is kept of one workload from cycle to cycle.
struct Track {
    look: Look,
    /// Requests or samples a second, over the last cycle.
    rate: f64,
    /// Requests or samples finished a second, over the last cycle.
    throughput: f64,
    refused: u32,
    count: Count,
    series: Series,
}

impl<'a> Play<'a> {
    fn new(scenario: &'a Scenario, policy: Policy) -> Result<Self, SimulateError> {
        let track = |slo| Track {
            look: Look::default(),
            rate: 0.0,
            throughput: 0.0,
            refused: 0,
            count: Count::new(slo),
            series: Series::new(scenario.length, scenario.cycle),
        };
        let driver = match policy {
            Policy::Wellfed => Driver::Wellfed(Box::new(Operator::new(scenario))),
            Policy::WellfedWithoutGate => Driver::Wellfed(Box::new(Operator::without_gate(scenario))),
            rival => Driver::Rival(Rivals::new(rival, scenario)),
        };
        Ok(Self {
            scenario,
            cluster: Cluster::new(scenario),
            plant: Plant::new(scenario)?,
            driver,
            boards: vec![Board::default(); scenario.workloads.len()],
            next_read: 0.0,
            shows: None,
            replicas: BTreeMap::new(),
            tracks: scenario.workloads.iter().map(|subject| track(subject.slo)).collect(),
        })
    }

    /// The cycle at `now`, and what comes of it until the next one.
    fn cycle(&mut self, now: f64, next: f64, witness: Witness<'_>) -> Result<(), SimulateError> {
        self.cluster.advance(now);
        let reads = now >= self.next_read;
        if reads {
            self.next_read = now + READ_EVERY;
        }
        match &mut self.driver {
            Driver::Wellfed(operator) => {
                operator.observe(self.scenario.at(now), self.scenario, &self.cluster);
                if reads {
                    for (at, subject) in self.scenario.workloads.iter().enumerate() {
                        let (track, workload) = (&self.tracks[at], &operator.world.workloads[at]);
                        let now = operator.world.now;
                        let signals = self.boards[at].read(
                            subject,
                            (&self.plant, at),
                            (&track.look, track.rate),
                            &workload.pools,
                            now,
                        );
                        operator.read(at, subject, signals, track.throughput);
                    }
                }
                operator.look(now, self.scenario, &self.plant, &self.cluster);
                let decisions = operator.cycle(self.scenario, &mut self.cluster, witness)?;
                for decision in &decisions {
                    let at = self.scenario.workloads.iter().position(|one| one.id == decision.id);
                    if let Some(at) = at {
                        self.tracks[at].refused = refused(decision);
                    }
                }
            }
            Driver::Rival(rivals) if reads => {
                for (at, subject) in self.scenario.workloads.iter().enumerate() {
                    let Track { look, rate, .. } = &self.tracks[at];
                    let sight = Sight { at: self.scenario.at(now), subject, plant: &self.plant, look, rate: *rate };
                    rivals.turn(now, at, sight, &mut self.cluster);
                }
            }
            Driver::Rival(_) => {}
        }
        self.elapse(now, next);
        Ok(())
    }

    /// Carries out what was asked for, and plays until `next`.
    fn elapse(&mut self, now: f64, next: f64) {
        let seconds = next - now;
        self.cluster.advance(now);
        if self.shows != Some(self.cluster.version) {
            self.shows = Some(self.cluster.version);
            self.replicas = self.cluster.replicas(self.scenario);
        }
        self.cluster.bill(seconds);
        self.plant.advance(next, &self.replicas);
        for at in 0..self.scenario.workloads.len() {
            self.cluster.restarts(at, self.plant.run(at).and_then(TrainingRun::outage), next);
        }
        for (at, subject) in self.scenario.workloads.iter().enumerate() {
            let replicas = self.replicas.get(&subject.id.name).map_or(&[][..], Vec::as_slice);
            let look = self.plant.look(at, replicas);
            let track = &mut self.tracks[at];
            let arrived = look.arrived - track.look.arrived;
            let one = Counted {
                now,
                seconds,
                look,
                arrived,
                asked: self.cluster.of(at).map(|set| set.asked).sum(),
                ready: self.cluster.of(at).map(Set::ready_pods).sum(),
                refused: track.refused,
                gpus: subject.pod.gpus,
            };
            track.rate = arrived / seconds;
            track.throughput = (look.done - track.look.done) / seconds;
            track.look = look;
            track.count.add(&one);
            track.series.add(&one);
        }
    }

    fn finish(self) -> Vec<Fared> {
        let finished = |(track, bill): (Track, &Bill)| Fared {
            figures: track.count.finish(bill.gpu_hours, bill.cost),
            points: track.series.finish(),
        };
        self.tracks.into_iter().zip(&self.cluster.bills).map(finished).collect()
    }
}

/// Replicas that the gate held back.
fn refused(decision: &Decision) -> u32 {
    let gate = decision.steps.iter().find(|record| record.step == Step::Gate);
    gate.map_or(0, |record| record.before.minus(record.after).0)
}
