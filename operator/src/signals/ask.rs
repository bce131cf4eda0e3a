//! One question for one Prometheus, and the question how old its answer is.

use super::promql::{self, Query};
use std::collections::BTreeSet;

/// All questions of all workloads; equal ones are asked once.
pub type Asks = BTreeSet<Ask>;

/// The label that tells the selectors of one question apart in the answer about their ages.
pub const SELECTOR: &str = "wellfed_selector";

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask {
    /// The name of the Prometheus.
    pub endpoint: String,
    /// What is asked.
    pub query: String,
    /// What tells when the samples behind the answer were taken; none where the question has no selector.
    pub ages: Option<String>,
    /// The labels by which rows belong to workloads.
    pub by: Vec<String>,
    /// The question itself sets such a label, so that a row's age can't be found by it.
    pub relabels: bool,
}

impl Ask {
    /// The question `query`, whose rows belong to workloads by the labels `by`.
    pub fn new(endpoint: &str, query: &Query, by: Vec<String>) -> Self {
        let text = query.text();
        let sets =
            |label: &String| text.contains(&format!("(\"{label}\"")) || text.contains(&format!(", \"{label}\","));
        let relabels = (text.contains("label_replace") || text.contains("label_join")) && by.iter().any(sets);
        Self { endpoint: endpoint.to_owned(), query: text.to_owned(), ages: ages(query, &by), by, relabels }
    }
}

/// The newest sample of each selector, by the labels that rows are told apart by.
fn ages(query: &Query, by: &[String]) -> Option<String> {
    let by = by.join(", ");
    let each = promql::ages(query)
        .into_iter()
        .enumerate()
        .map(|(number, age)| format!(r#"label_replace(max by ({by}) ({age}), "{SELECTOR}", "{number}", "", "")"#));
    let all: Vec<_> = each.collect();
    (!all.is_empty()).then(|| all.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_selector_is_asked_for_its_age() {
        let query = promql::parse(r#"sum by (queue) (depth{a="1"}) + sum by (queue) (rate(arrivals[1m]))"#).unwrap();
        let ask = Ask::new("default", &query, vec!["queue".into()]);

        let ages = ask.ages.unwrap();
        assert!(ages.contains("max by (queue) (timestamp(arrivals))"), "{ages}");
        assert!(ages.contains(r#"max by (queue) (timestamp(depth{a="1"}))"#), "{ages}");
        assert!(promql::parse(&ages).is_ok(), "{ages}");
    }

    #[test]
    fn a_constant_has_no_age() {
        let query = promql::parse("vector(3)").unwrap();

        assert_eq!(Ask::new("default", &query, Vec::new()).ages, None);
    }
}
