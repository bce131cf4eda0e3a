//! What the gate counts: rows of looks, and what becomes of them when looks are lost.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use wellfed_engine::evidence::Demand;
use wellfed_engine::facts::Facts;
use wellfed_engine::gate::{GateMemory, Verdict};
use wellfed_engine::opinion::{Confidence, Finding, Gap, Lean, Opinion, Weight};
use wellfed_engine::policy::{Class, GatePolicy};
use wellfed_engine::rest::Answers;
use wellfed_engine::rules::{RULES, RuleName};
use wellfed_engine::testing::{at, gate, secs};

/// One evaluation, so many seconds after the one before.
#[derive(Clone, Debug)]
struct Look {
    after: i64,
    /// What fires, each rule with its weight; none is a look without evidence.
    fires: Option<Vec<(RuleName, Weight)>>,
}

/// All rules, more than are counted at a time; every third refuses. Of more than ten that refuse at once some are not
/// counted, and what is said here of losses does not hold.
fn rules() -> Vec<(RuleName, Weight)> {
    let weights = [Weight::Veto, Weight::Advice, Weight::Either].into_iter().cycle();
    RULES.iter().map(|rule| rule.name()).zip(weights).collect()
}

/// Mostly one cause, which starts to fire and stops; sometimes another, or more at once than are counted.
fn looks() -> impl Strategy<Value = Vec<Look>> {
    let few = prop_oneof![
        6 => Just(Some(rules()[..1].to_vec())),
        2 => Just(Some(Vec::new())),
        1 => Just(Some(rules()[..2].to_vec())),
        1 => Just(None),
    ];
    let all = rules().len();
    let many = prop_oneof![
        6 => Just(Some(rules())),
        3 => Just(Some(rules()[all - 2..].to_vec())),
        2 => subsequence(rules(), 0..all).prop_shuffle().prop_map(Some),
        1 => Just(None),
    ];
    let after = select(vec![5, 29, 30, 60, 60, 60, 60, 60, 61, 601, 1_799, 1_800]);
    let look = |fires| (after.clone(), fires).prop_map(|(after, fires)| Look { after, fires });
    prop_oneof![vec(look(few.boxed()), 1..24), vec(look(many.boxed()), 1..24)]
}

fn policy() -> GatePolicy {
    gate(Class::Inference)
}

fn opinion(look: &Look, seconds: i64) -> Opinion {
    let finding = |(rule, weight): &(RuleName, Weight)| Finding {
        rule: *rule,
        weight: *weight,
        confidence: Confidence::High,
        measured: Vec::new(),
        window: secs(600),
    };
    let Some(fires) = &look.fires else {
        let gap = Gap::GpusUnseen { seen: 0, expected: 4 };
        return leaning(Lean::Unknown(gap), Vec::new(), seconds);
    };
    let cause = fires.iter().find(|(_, weight)| *weight == Weight::Veto);
    let lean = cause.map_or(Lean::Allow, |(rule, _)| Lean::Refuse(*rule));
    leaning(lean, fires.iter().map(finding).collect(), seconds)
}

fn leaning(lean: Lean, findings: Vec<Finding>, seconds: i64) -> Opinion {
    let (at_rest, facts) = (Answers::default(), Facts::default());
    Opinion { at: at(seconds), demand: Demand::Above, lean, findings, at_rest, facts }
}

/// The memory after each look; `between` is what happens to it before the next.
fn memories(looks: &[Look], between: impl Fn(GateMemory) -> GateMemory) -> Vec<(i64, GateMemory)> {
    let mut seconds = 0;
    let mut memory = GateMemory::default();
    let each = looks.iter().map(|look| {
        seconds += look.after;
        let mut next = between(memory.clone());
        next.count(Some(&opinion(look, seconds)), &policy(), at(seconds));
        memory = next.clone();
        (seconds, next)
    });
    each.collect()
}

fn verdicts(looks: &[Look]) -> Vec<Verdict> {
    memories(looks, |memory| memory).iter().map(|(_, memory)| memory.verdict(&policy())).collect()
}

fn refuses(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refuse { .. })
}

/// By hand: whether `rule` fired in three looks in a row, each half a minute after the one before or later.
fn in_a_row(looks: &[Look], rule: RuleName) -> bool {
    let (mut seconds, mut counted, mut row) = (0_i64, None, 0);
    looks.iter().any(|look| {
        seconds += look.after;
        if counted.is_some_and(|last| seconds - last < 30) {
            return false;
        }
        counted = Some(seconds);
        let fires = look.fires.iter().flatten().any(|(one, weight)| *one == rule && *weight == Weight::Veto);
        row = if fires { row + 1 } else { 0 };
        row >= 3
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a look without evidence that is passed over instead of counted as one without the cause; rows of what
    /// refuses dropped before those of advice.
    #[test]
    fn a_look_that_lost_its_evidence_never_makes_a_refusal_then_or_later(looks in looks(), lost in vec(any::<bool>(), 24)) {
        let fewer: Vec<Look> = looks
            .iter()
            .zip(&lost)
            .map(|(look, lost)| if *lost { Look { fires: None, ..look.clone() } } else { look.clone() })
            .collect();
        let both = verdicts(&looks).into_iter().zip(verdicts(&fewer));
        for (before, after) in both {
            prop_assert!(refuses(&before) || !refuses(&after), "{before:?} → {after:?}");
        }
    }

    /// Kills: two in a row that suffice, looks counted however close they are, a miss that leaves the row as long as it was.
    #[test]
    fn a_refusal_needs_three_looks_in_a_row_half_a_minute_apart(looks in looks()) {
        for (place, verdict) in verdicts(&looks).into_iter().enumerate() {
            if let Verdict::Refuse { rule, .. } = verdict {
                prop_assert!(in_a_row(&looks[..=place], rule), "{rule:?} at {place}");
            }
        }
    }

    /// Kills: an expiry from when it began to stand, and none at all.
    #[test]
    fn what_fired_within_half_an_hour_and_was_not_missed_twice_stands_and_what_did_not_does_not(
        looks in looks(),
        later in 0_i64..4_000,
    ) {
        let Some((seconds, mut memory)) = memories(&looks, |memory| memory).pop() else { return Ok(()) };
        let standing = |memory: &GateMemory| {
            let counts = memory.counts.iter().filter(|count| count.standing.is_some());
            counts.map(|count| (count.rule, count.last.0)).collect::<Vec<_>>()
        };
        let before = standing(&memory);

        memory.count(None, &policy(), at(seconds + later));

        let lasting = before.into_iter().filter(|(_, last)| at(seconds + later) < *last + secs(1_800));
        prop_assert_eq!(standing(&memory), lasting.collect::<Vec<_>>());
    }

    /// Kills: room for an eleventh.
    #[test]
    fn never_more_than_ten_rules_are_counted(looks in looks()) {
        for (_, memory) in memories(&looks, |memory| memory) {
            prop_assert!(memory.counts.len() <= 10, "{}", memory.counts.len());
        }
    }

    /// Kills: a count whose last time, weight or misses are not written.
    #[test]
    fn what_is_written_and_read_in_between_changes_no_verdict(looks in looks()) {
        let restarted = |memory: GateMemory| {
            let text = serde_json::to_string(&memory).unwrap();
            serde_json::from_str(&text).unwrap()
        };

        prop_assert_eq!(memories(&looks, restarted), memories(&looks, |memory| memory));
    }
}

/// Properties over looks that never refuse, or never overflow, would prove nothing.
#[test]
fn the_generator_makes_refusals_and_too_many_rows() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let all: Vec<Vec<Look>> = (0..500).map(|_| looks().new_tree(&mut runner).unwrap().current()).collect();
    let refused = all.iter().filter(|looks| verdicts(looks).iter().any(refuses)).count();
    let full =
        |looks: &&Vec<Look>| memories(looks, |memory| memory).iter().any(|(_, memory)| memory.counts.len() == 10);

    assert!((100..450).contains(&refused), "{refused} of 500 refuse");
    assert!(all.iter().filter(full).count() > 100);
}
