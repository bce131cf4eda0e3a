//! Workloads that nobody asks more of are judged over their whole window.

use super::*;
use wellfed_engine::evidence::Demand;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Weight};
use wellfed_engine::rules::RuleName;

fn at_rest() -> Watched {
    Watched { since: None, ..watched(0, &[("a", -60)]) }
}

fn idle() -> History {
    history((1..=20).map(|minute| slice(minute, vec![engine("a", "g", 0.1)])).collect())
}

#[test]
fn without_demand_the_whole_window_is_evidence_and_with_it_only_what_came_since() {
    let (quiet, asked) = (idle().evidence(&at_rest()).unwrap(), idle().evidence(&watched(17, &[("a", -60)])).unwrap());

    assert_eq!((quiet.demand, quiet.covered), (Demand::Met, MINUTE * 10));
    assert_eq!((asked.demand, asked.covered), (Demand::Above, MINUTE * 3));
}

#[test]
fn what_is_found_without_demand_advises_and_leans_to_nothing() {
    let opinion = judge(&idle().evidence(&at_rest()).unwrap());

    let found: Vec<_> = opinion.findings.iter().map(|finding| (finding.rule, finding.weight)).collect();
    assert_eq!(found, [(RuleName::Underused, Weight::Advice)]);
    assert_eq!((opinion.lean, opinion.at_rest.whole), (Lean::Unknown(Gap::NotAsked), true));
}

/// The exporter was restarted: what its GPUs did meanwhile may have been anything.
#[test]
fn looks_without_a_sample_leave_open_what_they_may_hide() {
    let seen = |activity: f64, gone: std::ops::Range<i64>| {
        let look = |minute| {
            let rows = if gone.contains(&minute) { Vec::new() } else { vec![engine("a", "g", activity)] };
            slice(minute, rows)
        };
        judge(&history((1..=10).map(look).collect()).evidence(&at_rest()).unwrap()).at_rest
    };

    assert_eq!(seen(0.25, 4..5).open, [RuleName::Underused]);
    assert_eq!(seen(0.1, 4..5).shows, [RuleName::Underused], "whatever it was");
    assert!(seen(0.6, 4..5).open.is_empty() && seen(0.6, 4..5).whole);
    assert!(!seen(0.1, 4..8).whole, "too little is known");
}
