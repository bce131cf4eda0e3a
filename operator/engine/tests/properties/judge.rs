//! What must hold for any evidence: its order does not matter, nor how cards are sliced.

use crate::evidence::any_evidence;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use wellfed_engine::evidence::{Evidence, GpuEvidence, Sources};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Opinion, Weight};
use wellfed_engine::rules::RuleName;

/// As instances of a card show themselves: no utilisation, no links, no clocks and no power of their own.
fn instance(gpu: &GpuEvidence) -> GpuEvidence {
    GpuEvidence {
        util: None,
        power: None,
        nvlink: None,
        pcie: None,
        pcie_rx: None,
        lanes: None,
        lanes_most: None,
        clock: None,
        clocks_held: None,
        clock_events: None,
        product: None,
        ..*gpu
    }
}

fn sliced(seen: &Evidence, into: u32) -> Evidence {
    let gpus = seen.gpus.iter().flat_map(|gpu| (0..into).map(|_| instance(gpu))).collect();
    Evidence { gpus, expected_gpus: seen.expected_gpus * into, ..seen.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a rule that looks at the first GPU alone, `largest` that keeps whatever comes after a number that is none.
    #[test]
    fn the_order_of_gpus_and_replicas_does_not_matter(seen in any_evidence(), by in 0_usize..7, reverse: bool) {
        let mut other = seen.clone();
        let turn = |length: usize| by % length.max(1);
        other.gpus.rotate_left(turn(seen.gpus.len()));
        other.containers.rotate_left(turn(seen.containers.len()));
        other.ended.rotate_left(turn(seen.ended.len()));
        other.servers.rotate_left(turn(seen.servers.len()));
        other.trainers.rotate_left(turn(seen.trainers.len()));
        if reverse {
            other.gpus.reverse();
            other.containers.reverse();
            other.ended.reverse();
            other.servers.reverse();
            other.trainers.reverse();
        }
        let (other, seen) = (judge(&other), judge(&seen));

        prop_assert_eq!(other.lean, seen.lean);
        prop_assert_eq!(rules(&other), rules(&seen));
    }

    /// Kills: a share of the GPUs taken over the pods, a count of GPUs compared with one that is fixed.
    #[test]
    fn it_does_not_matter_into_how_many_instances_cards_are_sliced(seen in any_evidence(), into in 2_u32..8) {
        // Outliers are told among four and more, and an exchange takes two: below, slices are more than cards.
        if seen.gpus.len() < 4 {
            return Ok(());
        }
        let (one, many) = (judge(&sliced(&seen, 1)), judge(&sliced(&seen, into)));

        prop_assert_eq!(many.lean, times(one.lean, into));
        prop_assert_eq!(rules(&many), rules(&one));
    }

    /// One way only: an instance shows neither utilisation nor power, links and clocks of its own, and a cause that they
    /// told is told no more. What they spoke against must not be refused for want of them: they are known to be lost.
    /// Kills: an instance's missing power or links that contradict nothing.
    #[test]
    fn what_is_not_refused_on_whole_cards_is_not_refused_on_their_slices(seen in any_evidence(), into in 1_u32..8) {
        // Of one card there is nobody to exchange with.
        if refuses(&seen) || seen.expected_gpus < 2 {
            return Ok(());
        }
        let mut slices = sliced(&seen, into);
        slices.lose(Sources::of(&seen).without_pods());

        prop_assert!(!refuses(&slices), "{:?} → {:?}\n{slices:#?}", judge(&seen).lean, judge(&slices).lean);
    }
}

/// A property over cards that are never refused would prove nothing: four and more are, whole and sliced, by several rules.
#[test]
fn the_generator_makes_refusals_of_four_cards_and_of_their_slices() {
    let mut runner = TestRunner::deterministic();
    let seen = (0..2_000).map(|_| any_evidence().new_tree(&mut runner).unwrap().current());
    let four: Vec<Evidence> = seen.filter(|seen| seen.gpus.len() >= 4).collect();
    let whole = four.iter().filter(|seen| refuses(seen)).count();
    let causes: Vec<RuleName> = four.iter().filter_map(|seen| refused_by(judge(&sliced(seen, 3)).lean)).collect();
    let by: BTreeSet<RuleName> = causes.iter().copied().collect();

    assert!((100..four.len()).contains(&whole), "{whole} of {}", four.len());
    assert!((100..four.len()).contains(&causes.len()), "{} of {}", causes.len(), four.len());
    assert!(by.len() >= 8, "{by:?}");
}

/// The verdict on `into` times as many GPUs, of which as large a share is not seen.
const fn times(lean: Lean, into: u32) -> Lean {
    match lean {
        Lean::Unknown(Gap::GpusUnseen { seen, expected }) => {
            Lean::Unknown(Gap::GpusUnseen { seen: seen * into, expected: expected * into })
        }
        Lean::Unknown(Gap::Contradiction { gpus }) => Lean::Unknown(Gap::Contradiction { gpus: gpus * into }),
        other => other,
    }
}

fn refuses(seen: &Evidence) -> bool {
    refused_by(judge(seen).lean).is_some()
}

const fn refused_by(lean: Lean) -> Option<RuleName> {
    match lean {
        Lean::Refuse(rule) => Some(rule),
        Lean::Allow | Lean::Unknown(_) => None,
    }
}

fn rules(opinion: &Opinion) -> Vec<(RuleName, Weight)> {
    opinion.findings.iter().map(|finding| (finding.rule, finding.weight)).collect()
}
