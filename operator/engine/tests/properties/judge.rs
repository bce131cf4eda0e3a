//! What must hold for any evidence: its order does not matter, nor how cards are sliced, nor how absurd its numbers are.

use crate::evidence::any_evidence;
use proptest::prelude::*;
use proptest::sample::select;
use wellfed_engine::evidence::{Evidence, Exits, GpuEvidence, Trend};
use wellfed_engine::judge;
use wellfed_engine::opinion::Lean;
use wellfed_engine::span::Span;

/// As instances of a card show themselves: no utilisation, no links and no power of their own.
fn instance(gpu: &GpuEvidence) -> GpuEvidence {
    GpuEvidence {
        util: None,
        power: None,
        nvlink: None,
        pcie: None,
        pcie_rx: None,
        clock: None,
        clocks_held: None,
        product: None,
        ..*gpu
    }
}

fn sliced(seen: &Evidence, into: usize) -> Evidence {
    let gpus: Vec<_> = seen.gpus.iter().flat_map(|gpu| vec![instance(gpu); into]).collect();
    let expected = usize::try_from(seen.expected_gpus).unwrap() * into;
    Evidence { gpus, expected_gpus: u32::try_from(expected).unwrap(), ..seen.clone() }
}

/// Puts one absurd number everywhere in a part of the evidence, at the places where `which` has a bit.
fn absurd(seen: &mut Evidence, number: f64, which: u64) {
    let mut bit = 0_u32;
    let mut put = |field: &mut Option<Span>| {
        bit += 1;
        let at = |shift: u32| which >> ((bit + shift) % 64) & 1 == 1;
        if at(0) {
            let of = |there: bool, value: f64| if there { number } else { value };
            let now = field.unwrap_or(Span::exact(0.5));
            *field = Some(Span { mean: of(at(1), now.mean), low: of(at(2), now.low), high: of(at(3), now.high) });
        }
    };
    for gpu in &mut seen.gpus {
        let work = [&mut gpu.util, &mut gpu.engine, &mut gpu.sm, &mut gpu.dram, &mut gpu.tensor, &mut gpu.fp32];
        work.into_iter().for_each(&mut put);
        let links = [&mut gpu.pcie_rx, &mut gpu.pcie, &mut gpu.nvlink, &mut gpu.swing, &mut gpu.memory];
        links.into_iter().for_each(&mut put);
        let card = [&mut gpu.memory_swing, &mut gpu.memory_peak, &mut gpu.clock, &mut gpu.clocks_held, &mut gpu.power];
        card.into_iter().for_each(&mut put);
        put(&mut gpu.lanes);
        gpu.lanes_most = if which & 4 == 4 { Some(number) } else { gpu.lanes_most };
    }
    for one in &mut seen.containers {
        let cpu = [&mut one.cores, &mut one.throttled, &mut one.pressure, &mut one.io_pressure, &mut one.network];
        cpu.into_iter().for_each(&mut put);
        [&mut one.node_iowait, &mut one.network_of_peak, &mut one.rdma].into_iter().for_each(&mut put);
        one.limit = if which & 1 == 1 { Some(number) } else { one.limit };
    }
    for one in &mut seen.servers {
        let counts = [&mut one.running, &mut one.waiting, &mut one.batch, &mut one.kv, &mut one.preemptions];
        counts.into_iter().for_each(&mut put);
        let times = [&mut one.queue_seconds, &mut one.first_token_seconds, &mut one.whole_seconds];
        times.into_iter().for_each(&mut put);
        let lengths = [&mut one.prompt_spread, &mut one.output_tokens, &mut one.output_cap, &mut one.progress];
        lengths.into_iter().for_each(&mut put);
    }
    put(&mut seen.own.throughput);
    for one in &mut seen.trainers {
        let rates = [&mut one.step_seconds, &mut one.data_wait_seconds, &mut one.throughput, &mut one.steps];
        rates.into_iter().for_each(&mut put);
        one.loss = Some(Trend::Moved { first: number, last: if which & 2 == 2 { number } else { 1.0 } });
    }
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
        let rules = |seen: &Evidence| {
            judge(seen).findings.iter().map(|finding| (finding.rule, finding.weight)).collect::<Vec<_>>()
        };

        prop_assert_eq!(judge(&other).lean, judge(&seen).lean);
        prop_assert_eq!(rules(&other), rules(&seen));
    }

    /// Kills: a share of the GPUs taken over the pods, a count of GPUs compared with one that is fixed.
    #[test]
    fn slicing_every_card_keeps_the_verdict(seen in any_evidence(), into in 2_usize..8) {
        // Outliers are told among four and more, and an exchange takes two: below, slices are more than cards.
        if seen.gpus.len() < 4 {
            return Ok(());
        }
        let refuses = |seen: &Evidence| matches!(judge(seen).lean, Lean::Refuse(_));

        prop_assert_eq!(refuses(&sliced(&seen, into)), refuses(&sliced(&seen, 1)));
    }

    /// Kills: `select_nth_unstable_by` with `partial_cmp().unwrap()`, an index from a float.
    #[test]
    fn no_number_makes_a_rule_panic(
        seen in any_evidence(),
        number in select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0, 5e-324, 1e308, -1e308, f64::MAX]),
        which: u64,
        expected in select(vec![0, 1, 8, u32::MAX]),
    ) {
        let mut absurdly = Evidence { expected_gpus: expected, ..seen };
        absurd(&mut absurdly, number, which);

        let judged = judge(&absurdly);

        prop_assert!(expected != u32::MAX || !matches!(judged.lean, Lean::Allow), "nearly nothing of it is seen");
    }

    /// Kills: a threshold compared with the mean where the span says that it may have been anything.
    #[test]
    fn numbers_that_are_none_make_no_case(seen in any_evidence()) {
        let mut blank = seen;
        absurd(&mut blank, f64::NAN, u64::MAX);
        blank.containers.iter_mut().for_each(|one| one.exits = Exits::default());
        blank.ended.clear();
        blank.trainers.iter_mut().for_each(|one| (one.loss, one.quality) = (None, None));
        (blank.own.progress, blank.own.quality) = (None, None);

        prop_assert!(!matches!(judge(&blank).lean, Lean::Refuse(_)));
    }
}
