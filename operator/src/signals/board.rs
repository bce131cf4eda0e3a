//! The latest answer to each question: written by the collector, read by cycles.

use super::ask::{Ask, Asks, SELECTOR};
use super::client::Row;
use jiff::{SignedDuration, Timestamp};
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
    /// Which read of its question this is, from 1.
    pub number: u64,
}

#[derive(Clone, Debug, Default)]
struct Indexed {
    rows: Vec<DatedRow>,
    /// Positions by label and value, so that a workload finds its rows without a walk.
    by: HashMap<(String, String), Vec<usize>>,
}

impl Latest {
    /// An answer: `rows` asked for at `asked`, dated by `ages`; without those it counts as of now.
    pub fn answered(ask: &Ask, rows: Vec<Row>, ages: Option<&[Row]>, asked: Timestamp) -> Self {
        let ages = Ages::of(ask, ages);
        let dated = |row: Row| {
            let at = ages.of_row(&key(&ask.by, &row.labels), asked)?;
            Some(DatedRow { labels: row.labels, value: row.value, at })
        };
        let rows: Vec<_> = rows.into_iter().filter_map(dated).collect();
        let mut by: HashMap<_, Vec<usize>> = HashMap::new();
        for (position, row) in rows.iter().enumerate() {
            for (label, value) in ask.by.iter().filter_map(|label| row.labels.get_key_value(label)) {
                by.entry((label.clone(), value.clone())).or_default().push(position);
            }
        }
        Self { rows: Ok(Indexed { rows, by }), number: 1 }
    }

    /// The same, as the read after `before`.
    #[must_use]
    pub fn after(mut self, before: Option<&Self>) -> Self {
        self.number = before.map_or(0, |before| before.number) + 1;
        self
    }

    /// The same, taken `by` earlier: the clock by which it was asked for is behind that of whom it was asked.
    #[must_use]
    pub fn older(mut self, by: SignedDuration) -> Self {
        for row in self.rows.iter_mut().flat_map(|answer| &mut answer.rows) {
            row.at = row.at.saturating_sub(by).unwrap_or(row.at);
        }
        self
    }

    /// No answer.
    pub const fn failed(why: ReadFailure) -> Self {
        Self { rows: Err(why), number: 1 }
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

/// When the samples behind an answer were taken.
enum Ages {
    /// The question has no selector, or its age can't be asked for: its answer is of now.
    Constant,
    /// The newest sample of each selector, by the labels that rows are told apart by.
    Known { selectors: HashMap<String, HashMap<Vec<String>, Timestamp>>, relabelled: bool },
}

impl Ages {
    fn of(ask: &Ask, rows: Option<&[Row]>) -> Self {
        let Some(rows) = rows else { return Self::Constant };
        let mut selectors: HashMap<String, HashMap<Vec<String>, Timestamp>> = HashMap::new();
        for row in rows {
            let Some(at) = timestamp(row.value) else { continue };
            let selector = row.labels.get(SELECTOR).cloned().unwrap_or_default();
            selectors.entry(selector).or_default().insert(key(&ask.by, &row.labels), at);
        }
        Self::Known { selectors, relabelled: ask.relabels }
    }

    /// The oldest of its selectors' newest samples. None for a row without any current sample behind it: a range function
    /// answers from the past for minutes after its series ended, and `or vector(0)` answers from nothing at all.
    fn of_row(&self, key: &[String], asked: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Constant => Some(asked),
            Self::Known { selectors, relabelled: false } => {
                selectors.values().filter_map(|selector| selector.get(key)).min().copied()
            }
            Self::Known { selectors, relabelled: true } => {
                selectors.values().filter_map(|selector| selector.values().max()).min().copied()
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::promql;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

    fn row(labels: &[(&str, &str)], value: f64) -> Row {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Row { labels, value, at: NOW }
    }

    fn answered(query: &str, by: &[&str], rows: Vec<Row>, ages: &[Row]) -> Vec<(f64, i64)> {
        let by = by.iter().map(ToString::to_string).collect();
        let ask = Ask::new("default", &promql::parse(query).unwrap(), by);
        let ages = ask.ages.is_some().then_some(ages);
        Latest::answered(&ask, rows, ages, NOW).all().iter().map(|row| (row.value, row.at.as_second())).collect()
    }

    #[test]
    fn a_sum_is_as_old_as_the_selector_that_fell_silent() {
        let ages = [row(&[(SELECTOR, "0")], 999_990.0), row(&[(SELECTOR, "1")], 999_700.0)];

        assert_eq!(answered("sum(a) + sum(b)", &[], vec![row(&[], 5.0)], &ages), [(5.0, 999_700)]);
    }

    #[test]
    fn a_range_that_answers_from_the_past_is_no_answer() {
        assert_eq!(answered("sum(rate(requests[5m]))", &[], vec![row(&[], 3.0)], &[]), []);
    }

    #[test]
    fn zero_made_of_nothing_is_no_answer() {
        assert_eq!(answered("sum(queue) or vector(0)", &[], vec![row(&[], 0.0)], &[]), []);
    }

    #[test]
    fn the_row_of_a_pod_that_fell_silent_is_left_out_although_others_speak() {
        let by = ["namespace", "pod"];
        let pod = |name| [("namespace", "demo"), ("pod", name)];
        let rows = vec![row(&pod("a"), 1.0), row(&pod("b"), 2.0)];
        let ages = [row(&[("namespace", "demo"), ("pod", "a"), (SELECTOR, "0")], 999_999.0)];

        assert_eq!(answered("rate(x[5m])", &by, rows, &ages), [(1.0, 999_999)]);
    }

    #[test]
    fn a_constant_is_of_now() {
        assert_eq!(answered("vector(3)", &[], vec![row(&[], 3.0)], &[]), [(3.0, 1_000_000)]);
    }
}
