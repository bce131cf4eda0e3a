//! What the loop made of each class.

use super::played::Looped;
use crate::case::Group;
use crate::score::Judged;
use serde::Serialize;
use std::collections::BTreeMap;

/// One class of scenarios in the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopCounts {
    /// Scenarios that the harness could play.
    pub played: u32,
    /// Those in which a veto was due with fixed replicas, and demand exceeded its target in the loop.
    pub due: u32,
    /// Those of them in which the cause was named and growth refused.
    pub refused: u32,
    /// Scenarios, whatever was due, in which growth was refused at all.
    pub refused_any: u32,
    /// Scenarios in which a ceiling held growth: the last had brought nothing.
    pub capped: u32,
    /// Replicas at the end over those at the start, mean.
    pub replicas_at_end: f64,
    /// Of the replica-hours that were asked for beyond those at the start, the share that was held back.
    pub growth_held: Option<f64>,
    /// From demand to the refusal that names the cause, seconds, median.
    pub time_to_refusal: Option<f64>,
    /// Where a veto was due: replicas beyond those at the start, times hours.
    pub in_vain: f64,
}

/// The loop over one half of the ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InLoop {
    /// Causes that were named and refused of those that were due.
    pub recall: Option<f64>,
    /// The share of growth that was held back where a veto was due.
    pub growth_held: Option<f64>,
    /// Replica-hours grown where a veto was due.
    pub in_vain: f64,
    /// Scenarios of working GPUs whose growth was refused.
    pub refused_working: u32,
    /// Scenarios that were refused although what was measured did not tell.
    pub refused_unknown: u32,
    /// Scenarios of working GPUs whose growth a ceiling held.
    pub capped_working: u32,
    /// By class.
    pub per_class: BTreeMap<&'static str, LoopCounts>,
}

impl InLoop {
    /// Of these scenarios.
    pub fn of(all: &[Judged]) -> Self {
        let mut classes: BTreeMap<&'static str, Vec<&Judged>> = BTreeMap::new();
        for one in all.iter().filter(|one| one.looped.is_some()) {
            classes.entry(one.class).or_default().push(one);
        }
        let per_class: BTreeMap<_, _> = classes.iter().map(|(name, of_class)| (*name, counts(of_class))).collect();
        let sum = |count: fn(&LoopCounts) -> u32| per_class.values().map(count).sum::<u32>();
        let held_back = |group: Group, test: fn(&Looped) -> bool| {
            let of_group = all.iter().filter(|one| one.group == group);
            of_group.filter(|one| one.looped.as_ref().is_some_and(test)).count() as u32
        };
        let refused = |group| held_back(group, |looped| !looped.refusals.is_empty());
        let due: Vec<&Judged> = all.iter().filter(|one| is_due(one)).collect();
        Self {
            recall: share(f64::from(sum(|one| one.refused)), f64::from(sum(|one| one.due))),
            growth_held: held(&due),
            in_vain: per_class.values().map(|one| one.in_vain).sum(),
            refused_working: refused(Group::Working),
            refused_unknown: refused(Group::Unknown),
            capped_working: held_back(Group::Working, |looped| looped.capped.is_some()),
            per_class,
        }
    }
}

fn is_due(one: &Judged) -> bool {
    one.due() && one.looped.as_ref().is_some_and(|looped| looped.asked.is_some())
}

/// When the cause was named and refused, seconds after demand exceeded its target.
fn refused_after(one: &Judged) -> Option<f64> {
    let looped = one.looped.as_ref()?;
    let (_, second) = looped.refusals.iter().find(|(rule, _)| one.names_its_cause(*rule))?;
    Some(second - looped.asked?)
}

fn counts(of_class: &[&Judged]) -> LoopCounts {
    let due: Vec<&Judged> = of_class.iter().copied().filter(|one| is_due(one)).collect();
    let looped = || of_class.iter().filter_map(|one| one.looped.as_ref());
    let mut times: Vec<f64> = due.iter().filter_map(|one| refused_after(one)).collect();
    times.sort_by(f64::total_cmp);
    let grown = |one: &&Judged| one.looped.as_ref().map_or(0.0, |looped| looped.grown);
    let ends: f64 = looped().map(|one| f64::from(one.ended) / f64::from(one.began)).sum();
    LoopCounts {
        played: of_class.len() as u32,
        due: due.len() as u32,
        refused: times.len() as u32,
        refused_any: looped().filter(|one| !one.refusals.is_empty()).count() as u32,
        capped: looped().filter(|one| one.capped.is_some()).count() as u32,
        replicas_at_end: ends / of_class.len().max(1) as f64,
        growth_held: held(of_class),
        time_to_refusal: times.get(times.len().saturating_sub(1) / 2).copied(),
        in_vain: due.iter().map(grown).fold(0.0, |sum, grown| sum + grown),
    }
}

fn held(of: &[&Judged]) -> Option<f64> {
    let looped = || of.iter().filter_map(|one| one.looped.as_ref());
    let (held, grown): (f64, f64) = (looped().map(|one| one.held).sum(), looped().map(|one| one.grown).sum());
    share(held, held + grown)
}

fn share(some: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| some / of)
}
