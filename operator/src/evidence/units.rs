//! The units of metrics that come in several over versions and exporters: as they are built in, or as configured.

use super::names;
use crate::config::{EvidenceError, Unit};
use std::collections::BTreeMap;

/// Units by name, as configured.
pub type Units = BTreeMap<String, Unit>;

const SHARES: &str = "Ratio, Percent";
const AMOUNTS: &str = "Bytes, KB, KiB, MB, MiB";

/// Metrics of 0 to 1, or of 0 to 100, by any of their names.
const SHARE_NAMES: [&[&str]; 8] =
    [names::UTIL, names::ENGINE, names::SM, names::DRAM, names::TENSOR, names::FP32, names::MEMORY, names::KV];

/// Whether `unit` can be that of the metric `name`.
pub fn check(name: &str, unit: Unit) -> Result<(), EvidenceError> {
    let possible = if names::NVLINK_TOTAL.contains(&name) {
        AMOUNTS
    } else if shares().any(|share| share == name) {
        SHARES
    } else {
        let known = shares().chain(names::NVLINK_TOTAL.iter().copied()).collect();
        return Err(EvidenceError::OneUnit { name: name.to_owned(), known });
    };
    if bytes(unit).is_some() == (possible == AMOUNTS) {
        return Ok(());
    }
    Err(EvidenceError::WrongUnit { name: name.to_owned(), unit, possible })
}

fn shares() -> impl Iterator<Item = &'static str> {
    // A matcher is no part of the name that people write.
    SHARE_NAMES.into_iter().flatten().map(|name| name.split('{').next().unwrap_or(name))
}

/// What a share by this name is counted in where nothing is configured.
fn built_in(name: &str) -> Unit {
    if name == names::UTIL[0] { Unit::Percent } else { Unit::Ratio }
}

/// `expression`, of the metric `name`, in the unit `wanted`: a share as ratio or percent.
pub fn converted(expression: String, name: &str, wanted: Unit, units: &Units) -> String {
    let bare = name.split('{').next().unwrap_or(name);
    match (units.get(bare).copied().unwrap_or_else(|| built_in(bare)), wanted) {
        (Unit::Percent, Unit::Ratio) => format!("{expression} / 100"),
        (Unit::Ratio, Unit::Percent) => format!("{expression} * 100"),
        _ => expression,
    }
}

/// Bytes in one of this unit; none where it does not count bytes.
pub const fn bytes(unit: Unit) -> Option<u32> {
    match unit {
        Unit::Bytes => Some(1),
        Unit::KB => Some(1_000),
        Unit::KiB => Some(1_024),
        Unit::MB => Some(1_000_000),
        Unit::MiB => Some(1_048_576),
        Unit::Ratio | Unit::Percent => None,
    }
}
