//! A query of the user's own: one number for the workload, or one a pod.

use super::{Ask, DatedRow, Latest, Seen, SignalSource};
use std::collections::BTreeMap;
use wellfed_crds::SignalType;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::units::PodName;
use wellfed_engine::world::SignalValue;

/// A parsed, confined query and how its rows belong to the workload.
pub struct PrometheusSignal {
    /// The question.
    pub ask: Ask,
    /// One row, or one a pod.
    pub kind: SignalType,
    /// Only rows with these labels.
    pub rows: BTreeMap<String, String>,
}

impl PrometheusSignal {
    /// The labels by which rows belong to workloads.
    pub fn keys(kind: SignalType, rows: &BTreeMap<String, String>) -> Vec<String> {
        let pods = match kind {
            SignalType::Pods => &["namespace", "pod"][..],
            SignalType::External => &[],
        };
        let mut keys: Vec<_> = rows.keys().cloned().chain(pods.iter().map(ToString::to_string)).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn matches(&self, row: &DatedRow) -> bool {
        self.rows.iter().all(|(label, value)| row.labels.get(label) == Some(value))
    }

    fn one_number(&self, latest: &Latest, seen: &Seen<'_>) -> Reading<f64> {
        match self.rows.iter().next() {
            Some((label, value)) => only(latest.with(label, value).filter(|row| self.matches(row)), seen),
            None => only(latest.all().iter(), seen),
        }
    }
}

/// The reading of the only row; none is missing, several are one too many.
fn only<'a>(mut rows: impl Iterator<Item = &'a DatedRow>, seen: &Seen<'_>) -> Reading<f64> {
    match (rows.next(), rows.next()) {
        (None, _) => Reading::Missing,
        (Some(row), None) => seen.reading(row),
        (Some(_), Some(_)) => Reading::Failed(ReadFailure::TooManyRows),
    }
}

impl SignalSource for PrometheusSignal {
    fn ask(&self) -> Option<&Ask> {
        Some(&self.ask)
    }

    fn read(&self, seen: &Seen<'_>) -> SignalValue {
        match (seen.rows(), self.kind) {
            (Err(failure), SignalType::External) => SignalValue::External(Reading::Failed(failure)),
            (Err(failure), SignalType::Pods) => SignalValue::PodsUnread(Reading::Failed(failure)),
            (Ok(latest), SignalType::External) => SignalValue::External(self.one_number(latest, seen)),
            (Ok(latest), SignalType::Pods) => {
                let own = |row: &&DatedRow| row.labels.get("namespace").is_some_and(|name| name == seen.namespace);
                let of = |pod: &&str| {
                    let rows = latest.with("pod", pod).filter(own).filter(|row| self.matches(row));
                    (PodName::from(*pod), only(rows, seen))
                };
                SignalValue::Pods(seen.pods.iter().map(of).collect())
            }
        }
    }
}
