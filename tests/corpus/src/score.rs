//! Verdicts against labels: how many vetoes were right, and how many that were due were given.

use crate::case::{Case, Group};
use crate::classes;
use crate::dice::Half;
use crate::inloop::{self, InLoop, Looped};
use crate::label::{Label, label};
use crate::watch::{Watch, defaults};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use wellfed_engine::policy::GatePolicy;
use wellfed_engine::rules::RuleName;

/// One scenario with its label and what the gate made of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The scenario's name.
    pub name: String,
    /// Its class.
    pub class: &'static str,
    /// What the class is about.
    pub group: Group,
    /// What would have helped.
    pub label: Label,
    /// The rules that refused, each with the second at which it first did.
    pub refusals: Vec<(RuleName, f64)>,
    /// How it went with replicas that follow what is decided, where that was played.
    pub looped: Option<Looped>,
}

/// Counts of one rule: its vetoes that were right and wrong, and those that it owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Vetoes that were due and given.
    pub tp: u32,
    /// Vetoes that were wrong, or named another cause.
    pub fp: u32,
    /// Vetoes that were due and not given.
    #[serde(rename = "fn")]
    pub missed: u32,
    /// Right vetoes that were not due: of a mild cause, or without a cause.
    pub mild: u32,
    /// Scenarios in which it was not due and kept silent.
    pub tn: u32,
    /// From the first excess of demand to its right veto where one was due, in the median.
    pub median_seconds: Option<f64>,
}

/// What became of one class of scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// Scenarios.
    pub scenarios: u32,
    /// Those in which demand exceeded its target.
    pub asked: u32,
    /// Those in which one replica more helped.
    pub helped: u32,
    /// Those in which a veto was due.
    pub due: u32,
    /// Those of them in which it was given.
    pub given: u32,
    /// Those with a veto.
    pub vetoed: u32,
    /// Those with a veto, and none but right ones.
    pub right: u32,
}

/// Recall and precision; none of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Vetoes given of those that were due.
    pub recall: Option<f64>,
    /// Vetoes that were right of those that were given.
    pub precision: Option<f64>,
}

/// How long the gate took from the first excess of demand to a right veto, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Half of them took at most this.
    pub median: Option<f64>,
    /// 95 of 100 took at most this.
    pub p95: Option<f64>,
}

/// The result over one half of the ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Recall and precision.
    #[serde(flatten)]
    pub rates: Rates,
    /// Scenarios of working GPUs that were refused more.
    pub false_vetoes_saturated: u32,
    /// Scenarios that were refused although what was measured did not tell.
    pub vetoes_on_unknown: u32,
    /// How long right vetoes took.
    pub time_to_verdict_seconds: Times,
    /// By the rule that refused, or that was due to.
    pub per_rule: BTreeMap<String, Counts>,
    /// By what is the matter: in how many scenarios each rule refused, and in how many none did.
    pub confusion: BTreeMap<String, BTreeMap<String, u32>>,
    /// By class.
    pub per_class: BTreeMap<&'static str, ClassCounts>,
    /// Recall and precision where a veto is right only if adding did not help at all.
    pub strict: Rates,
    /// The same scenarios with replicas that follow what is decided.
    pub in_loop: InLoop,
}

/// Labels and judges every scenario of `half` after the first `beyond` of each class, on all cores.
pub fn judge_all(half: Half, beyond: u64) -> Result<Vec<Judged>> {
    let cases = classes::corpus_from(half, beyond)?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Judged)>> {
        let mut done = Vec::new();
        while let Some((at, case)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
        {
            done.push((at, Judged { looped: inloop::played(case)?, ..judged(case)? }));
        }
        Ok(done)
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut all = Vec::new();
    for part in parts {
        all.extend(part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, judged)| judged).collect())
}

/// Labels and judges one scenario with the gate's defaults.
pub fn judged(case: &Case) -> Result<Judged> {
    judged_with(case, defaults(case.draft.work)?)
}

/// Labels and judges one scenario with this gate.
pub fn judged_with(case: &Case, gate: GatePolicy) -> Result<Judged> {
    let mut watch = Watch::new(case, gate);
    let label = label(case, &mut watch)?;
    let refusals = watch.refusals();
    Ok(Judged { name: case.name.clone(), class: case.class, group: case.group, label, refusals, looped: None })
}

impl Judged {
    /// Whether a veto that names the cause is due.
    pub fn due(&self) -> bool {
        matches!(self.group, Group::Cause(_)) && self.label.veto_is_right(self.group)
    }

    /// What is the matter with it: the cause where its veto is due, and else the kind of its class.
    fn matter(&self) -> String {
        match self.group {
            Group::Cause(name) if self.due() => name.to_owned(),
            Group::Cause(name) => format!("{name}, not due"),
            Group::Mild(name) => format!("{name}, mild"),
            Group::Working => "GPUs at work".to_owned(),
            Group::Idle => "no demand".to_owned(),
            Group::Unknown => "not to be told".to_owned(),
        }
    }

    /// Whether `rule` is its cause.
    pub fn names_its_cause(&self, rule: RuleName) -> bool {
        self.group.cause().is_some_and(|cause| cause == rule.to_string())
    }

    /// Whether a veto by `rule` was right. One that names no cause is right where adding did not help, whatever the cause.
    pub fn is_right(&self, rule: RuleName) -> bool {
        (self.names_its_cause(rule) && self.label.veto_is_right(self.group)) || self.is_right_hold(rule)
    }

    fn is_right_hold(&self, rule: RuleName) -> bool {
        rule == RuleName::Underused && self.label.veto_is_strictly_right(self.group)
    }

    /// Whether it was right and named the cause.
    fn is_named(&self, rule: RuleName) -> bool {
        self.names_its_cause(rule) && self.is_right(rule)
    }

    /// When the right veto came, seconds after demand first exceeded its target.
    fn right_after(&self) -> Option<f64> {
        let (_, second) = self.refusals.iter().find(|(rule, _)| self.is_named(*rule))?;
        Some(second - self.label.asked?)
    }

    /// Whether nothing is wrong with it: the right veto where one is due, and no wrong one.
    pub fn is_well(&self) -> bool {
        self.refusals.iter().all(|(rule, _)| self.is_right(*rule)) && (!self.due() || self.right_after().is_some())
    }
}

impl Score {
    /// Of these scenarios.
    pub fn of(all: &[Judged]) -> Self {
        let count = |test: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| test(one)).count() as u32;
        let vetoed = |group: Group| count(&|one| one.group == group && !one.refusals.is_empty());
        Self {
            rates: rates(all, Judged::due, Judged::is_right, Judged::is_named),
            false_vetoes_saturated: vetoed(Group::Working),
            vetoes_on_unknown: vetoed(Group::Unknown),
            time_to_verdict_seconds: times(all.iter()),
            per_rule: per_rule(all),
            confusion: confusion(all),
            per_class: per_class(all),
            strict: rates(
                all,
                |one| matches!(one.group, Group::Cause(_)) && one.label.veto_is_strictly_right(one.group),
                |one, rule| {
                    (one.names_its_cause(rule) && one.label.veto_is_strictly_right(one.group))
                        || one.is_right_hold(rule)
                },
                |one, rule| one.names_its_cause(rule) && one.label.veto_is_strictly_right(one.group),
            ),
            in_loop: InLoop::of(all),
        }
    }

    /// Whether it reaches the goal: 95 % of the vetoes that are due, 98 % of them right; in the loop too none of working
    /// GPUs, by verdict or by ceiling, and none where what is measured does not tell.
    pub fn reaches_the_goal(&self) -> bool {
        let InLoop { refused_working, capped_working, refused_unknown, .. } = self.in_loop;
        self.rates.recall.is_some_and(|recall| recall >= 0.95)
            && self.rates.precision.is_some_and(|precision| precision >= 0.98)
            && [self.false_vetoes_saturated, refused_working, capped_working] == [0; 3]
            && [self.vetoes_on_unknown, refused_unknown] == [0; 2]
    }
}

/// Precision counts what is `right`, recall those that are `due` and `named`.
fn rates(
    all: &[Judged],
    due: impl Fn(&Judged) -> bool,
    right: impl Fn(&Judged, RuleName) -> bool,
    named: impl Fn(&Judged, RuleName) -> bool,
) -> Rates {
    let owed: Vec<&Judged> = all.iter().filter(|one| due(one)).collect();
    let given = owed.iter().filter(|one| one.refusals.iter().any(|(rule, _)| named(one, *rule))).count();
    let vetoes: Vec<bool> = all.iter().flat_map(|one| one.refusals.iter().map(|(rule, _)| right(one, *rule))).collect();
    let share = |some: usize, of: usize| (of > 0).then(|| some as f64 / of as f64);
    Rates {
        recall: share(given, owed.len()),
        precision: share(vetoes.iter().filter(|right| **right).count(), vetoes.len()),
    }
}

fn times<'a>(all: impl Iterator<Item = &'a Judged>) -> Times {
    let mut times: Vec<f64> = all.filter(|one| one.due()).filter_map(Judged::right_after).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get(((times.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied();
    Times { median: at(0.5), p95: at(0.95) }
}

fn per_rule(all: &[Judged]) -> BTreeMap<String, Counts> {
    let mut rules: BTreeMap<String, Counts> = BTreeMap::new();
    for one in all {
        for (rule, _) in &one.refusals {
            let counts = rules.entry(rule.to_string()).or_default();
            match (one.is_right(*rule), one.due() && one.is_named(*rule)) {
                (true, true) => counts.tp += 1,
                (true, false) => counts.mild += 1,
                (false, _) => counts.fp += 1,
            }
        }
        if let (Some(cause), true, None) = (one.group.cause(), one.due(), one.right_after()) {
            rules.entry(cause.to_owned()).or_default().missed += 1;
        }
    }
    for (rule, counts) in &mut rules {
        let due: Vec<&Judged> = all.iter().filter(|one| one.due() && one.group.cause() == Some(rule)).collect();
        counts.median_seconds = times(due.into_iter()).median;
        counts.tn = all.len() as u32 - counts.tp - counts.fp - counts.mild - counts.missed;
    }
    rules
}

fn confusion(all: &[Judged]) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut matrix: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for one in all {
        let named = matrix.entry(one.matter()).or_default();
        for (rule, _) in &one.refusals {
            *named.entry(rule.to_string()).or_default() += 1;
        }
        if one.refusals.is_empty() {
            *named.entry("none".to_owned()).or_default() += 1;
        }
    }
    matrix
}

fn per_class(all: &[Judged]) -> BTreeMap<&'static str, ClassCounts> {
    let mut classes: BTreeMap<&'static str, ClassCounts> = BTreeMap::new();
    for one in all {
        let counts = classes.entry(one.class).or_default();
        let vetoed = !one.refusals.is_empty();
        counts.scenarios += 1;
        counts.asked += u32::from(one.label.asked.is_some());
        counts.helped += u32::from(one.label.helped);
        counts.due += u32::from(one.due());
        counts.given += u32::from(one.due() && one.right_after().is_some());
        counts.vetoed += u32::from(vetoed);
        counts.right += u32::from(vetoed && one.refusals.iter().all(|(rule, _)| one.is_right(*rule)));
    }
    classes
}
