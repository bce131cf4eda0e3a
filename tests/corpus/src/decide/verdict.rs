//! Whether the gate is worth having, by what was measured.

use super::bench::Played;
use super::mixture::Part;
use super::row::{Arm, Row};
use super::sum::sums;
use wellfed::simulate::Policy;

/// Saturated workloads may cost this share more or less.
const SAME: f64 = 0.01;

/// Everything that speaks against the gate; nothing is good.
pub fn against(played: &[Played]) -> Vec<String> {
    let saturated = played.iter().filter(|one| one.part == Part::Saturated).filter_map(differs);
    saturated.chain(starved(played)).collect()
}

fn differs(one: &Played) -> Option<String> {
    let hours = |policy| one.row(Arm::AsIs(policy)).map(|row: &Row| row.gpu_hours);
    let (with, without) = (hours(Policy::Wellfed)?, hours(Policy::WellfedWithoutGate)?);
    ((with - without).abs() > SAME * without).then(|| {
        let name = &one.name;
        format!("{name} is saturated, and the gate changes its GPU-hours a day from {without:.1} to {with:.1}")
    })
}

fn starved(played: &[Played]) -> Option<String> {
    let sums = sums(played, Some(Part::Starved));
    let of = |policy| sums.iter().find(|sum| sum.arm == Arm::AsIs(policy));
    let (with, without) = (of(Policy::Wellfed)?, of(Policy::WellfedWithoutGate)?);
    (with.gpu_hours > without.gpu_hours).then(|| {
        format!(
            "starved workloads hold {:.0} GPU-hours a day with the gate, {:.0} without",
            with.gpu_hours, without.gpu_hours
        )
    })
}
