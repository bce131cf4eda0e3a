//! What is seen while nobody asks for more is told, and decides nothing.

use crate::evidence::any_evidence;
use crate::removal::lose_evidence;
use proptest::collection::vec;
use proptest::prelude::*;
use wellfed_engine::evidence::{Demand, Evidence};
use wellfed_engine::gate::Verdict;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Weight};
use wellfed_engine::rules::RuleName::{OversizedGpu, Underused};
use wellfed_engine::testing::{Scenario, server, world};

fn at_rest(seen: Evidence) -> Evidence {
    Evidence { demand: Demand::Met, ..seen }
}

/// A service that has what it wants.
fn met() -> Scenario {
    world().workload(server("chat").running(4).wanting(4))
}

/// The judge has looked at this.
fn looked(scenario: Scenario, seen: &Evidence) -> Scenario {
    let scenario = scenario.later(60);
    let now = scenario.world.now;
    let opinion = judge(&Evidence { at: now, ..seen.clone() });
    let told = scenario.change("chat", |chat| {
        chat.rest.see(Some(&opinion), &chat.policy.gate, now);
        chat.opinion = Some(opinion);
    });
    told.remembered(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a finding at rest that keeps its weight, a lean by it.
    #[test]
    fn without_demand_every_finding_only_advises(seen in any_evidence()) {
        let opinion = judge(&at_rest(seen));

        prop_assert!(opinion.findings.iter().all(|finding| finding.weight == Weight::Advice));
        prop_assert!(matches!(opinion.lean, Lean::Unknown(_)), "{:?}", opinion.lean);
    }

    /// Kills: `look` without its filter of opinions at rest, `cause` or `sources` that they move.
    #[test]
    fn whatever_is_seen_without_demand_the_decision_is_as_if_nobody_had_looked(seen in vec(any_evidence(), 1..8)) {
        let (mut looking, mut blind) = (met(), met());
        for seen in seen {
            looking = looked(looking, &at_rest(seen));
            blind = blind.later(60).remembered(true);
        }
        let wants = |scenario: Scenario| scenario.becomes(server("chat").running(4).wanting(9)).decision("chat");
        let (with, without) = (wants(looking), wants(blind));

        prop_assert_eq!(with.verdict, Verdict::Unknown(Gap::NotAsked));
        prop_assert_eq!((&with.steps, &with.pools), (&without.steps, &without.pools));
        let mut gate = with.memory.gate;
        gate.at_rest.clear();
        prop_assert_eq!(gate, without.memory.gate);
    }

    /// Kills: `may_apply` in the place of `judge`.
    #[test]
    fn removing_evidence_never_finds_idle_gpus(
        seen in any_evidence(),
        lost in vec((0..88_u8, any::<usize>()), 1..4),
    ) {
        let (before, mut after) = (at_rest(seen.clone()), at_rest(seen));
        for (what, which) in lost {
            lose_evidence(&mut after, what, which);
        }
        let shows = |seen, rule| judge(seen).at_rest.shows.contains(&rule);

        prop_assert!(shows(&before, Underused) || !shows(&after, Underused));
        // That requests wait is said by the server alone.
        let heard = |seen: &Evidence| seen.servers.iter().map(|one| one.waiting).collect::<Vec<_>>();
        let unheard = heard(&before) != heard(&after);
        prop_assert!(unheard || shows(&before, OversizedGpu) || !shows(&after, OversizedGpu));
    }
}
