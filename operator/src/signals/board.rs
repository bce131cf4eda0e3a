//! The latest answer to each question: written by the collector, read by cycles.

use super::ask::{Ask, Asks, SELECTOR};
use super::client::Row;
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use wellfed_engine::reading::ReadFailure;

/// One number, what it belongs to, and when its oldest input was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DatedRow {
    /// The labels of the series.
    pub labels: BTreeMap<String, String>,
    /// The number as it came.
    pub value: f64,
    /// When the oldest of the samples behind it was taken.
    pub at: Timestamp,
}

/// The latest answer to one question.
#[derive(Clone, Debug)]
pub struct Latest {
    rows: Result<Indexed, ReadFailure>,
    /// Failed reads in a row.
    pub failures: u32,
}

#[derive(Clone, Debug, Default)]
struct Indexed {
    rows: Vec<DatedRow>,
    /// Positions by label and value, so that a workload finds its rows without a walk.
    by: HashMap<(String, String), Vec<usize>>,
}

impl Latest {
    /// An answer: `rows` asked for at `asked`, dated by `ages`.
    pub fn answered(ask: &Ask, rows: Vec<Row>, ages: &[Row], asked: Timestamp) -> Self {
        let ages = Ages::of(&ask.by, ages);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| {
                let at = ages.oldest(&key(&ask.by, &row.labels)).unwrap_or(asked);
                DatedRow { labels: row.labels, value: row.value, at }
            })
            .collect();
        let mut by: HashMap<_, Vec<usize>> = HashMap::new();
        for (position, row) in rows.iter().enumerate() {
            for (label, value) in ask.by.iter().filter_map(|label| row.labels.get_key_value(label)) {
                by.entry((label.clone(), value.clone())).or_default().push(position);
            }
        }
        Self { rows: Ok(Indexed { rows, by }), failures: 0 }
    }

    /// No answer, `failures` times in a row.
    pub const fn failed(why: ReadFailure, failures: u32) -> Self {
        Self { rows: Err(why), failures }
    }

    /// Why there is no answer, if there is none.
    pub fn failure(&self) -> Option<ReadFailure> {
        self.rows.as_ref().err().copied()
    }

    /// Every row.
    pub fn all(&self) -> &[DatedRow] {
        self.rows.as_ref().map_or(&[], |rows| &rows.rows)
    }

    /// The rows with this value of this label, which is one of those that rows are told apart by.
    pub fn with<'a>(&'a self, label: &str, value: &str) -> impl Iterator<Item = &'a DatedRow> {
        let indexed = self.rows.as_ref().ok();
        let positions = indexed.and_then(|rows| rows.by.get(&(label.to_owned(), value.to_owned())));
        positions.into_iter().flatten().filter_map(move |position| indexed?.rows.get(*position))
    }
}

fn key(by: &[String], labels: &BTreeMap<String, String>) -> Vec<String> {
    by.iter().map(|label| labels.get(label).cloned().unwrap_or_default()).collect()
}

/// The newest sample of each selector, by the labels that rows are told apart by.
struct Ages(HashMap<String, HashMap<Vec<String>, Timestamp>>);

impl Ages {
    fn of(by: &[String], rows: &[Row]) -> Self {
        let mut ages: HashMap<String, HashMap<Vec<String>, Timestamp>> = HashMap::new();
        for row in rows {
            let Some(at) = timestamp(row.value) else { continue };
            let selector = row.labels.get(SELECTOR).cloned().unwrap_or_default();
            ages.entry(selector).or_default().insert(key(by, &row.labels), at);
        }
        Self(ages)
    }

    /// The oldest over all selectors. A selector that does not tell rows apart by these labels counts with its newest.
    fn oldest(&self, key: &[String]) -> Option<Timestamp> {
        self.0.values().filter_map(|selector| selector.get(key).or_else(|| selector.values().max()).copied()).min()
    }
}

#[allow(clippy::cast_possible_truncation)] // milliseconds since 1970 fit
fn timestamp(seconds: f64) -> Option<Timestamp> {
    seconds.is_finite().then(|| Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()).flatten()
}

/// The latest answers of all questions.
#[derive(Clone, Default)]
pub struct Board(Arc<RwLock<HashMap<Ask, Arc<Latest>>>>);

impl Board {
    /// All answers as they stand.
    pub fn snapshot(&self) -> HashMap<Ask, Arc<Latest>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The latest answer to `ask`.
    pub fn latest(&self, ask: &Ask) -> Option<Arc<Latest>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(ask).cloned()
    }

    /// Puts an answer up.
    pub fn post(&self, ask: Ask, latest: Latest) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(ask, Arc::new(latest));
    }

    /// Takes down what nobody asks any more.
    pub fn keep_only(&self, asks: &Asks) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|ask, _| asks.contains(ask));
    }
}
