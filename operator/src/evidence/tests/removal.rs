//! A sample that is missing widens what is known, whichever it is: no rule may take silence for proof.

use super::*;
use proptest::prelude::*;
use wellfed_engine::span::Span;

const METRICS: [Metric; 9] = [
    Metric::Engine,
    Metric::Swing,
    Metric::Memory,
    Metric::MemoryPeak,
    Metric::NvlinkRx,
    Metric::NvlinkTx,
    Metric::NetworkRx,
    Metric::Running,
    Metric::DataWaitSeconds,
];
const MINUTES: usize = 8;

fn largest(metric: Metric) -> f64 {
    match metric {
        Metric::Swing => 0.5,
        Metric::NvlinkRx | Metric::NvlinkTx => 450.0e9,
        _ => 1.0,
    }
}

/// Looks at all of `values` but one; utilisation and power stand still, so that every look has something.
fn without(values: &[f64], gone: Option<usize>) -> Evidence {
    let slices = (0..MINUTES).map(|minute| {
        let mut noted = vec![(Metric::Util, 50.0), (Metric::Power, 300.0)];
        for (place, metric) in METRICS.into_iter().enumerate() {
            let at = minute * METRICS.len() + place;
            if gone != Some(at) {
                noted.push((metric, values[at] * largest(metric)));
            }
        }
        said(i64::try_from(minute).unwrap() + 1, &noted)
    });
    history(slices.collect()).evidence(&watched(0, &[("a", -60)])).unwrap()
}

fn spans(seen: &Evidence) -> [Option<Span>; 8] {
    let (gpu, container) = (&seen.gpus[0], &seen.containers[0]);
    let (server, trainer) = (&seen.servers[0], &seen.trainers[0]);
    let of_gpu = [gpu.engine, gpu.swing, gpu.memory, gpu.memory_peak];
    let [engine, swing, memory, peak] = of_gpu;
    [engine, swing, memory, peak, gpu.nvlink, container.network, server.running, trainer.data_wait_seconds]
}

proptest! {
    /// Kills the mutant whose swing has the same lower bound however many looks lack it (`deviation(count)` for `low`).
    #[test]
    fn a_sample_that_is_gone_only_widens_every_span(
        values in prop::collection::vec(0.0..=1.0_f64, MINUTES * METRICS.len()),
        gone in 0..MINUTES * METRICS.len(),
    ) {
        let (whole, rest) = (without(&values, None), without(&values, Some(gone)));
        for (whole, rest) in spans(&whole).into_iter().zip(spans(&rest)) {
            let (whole, rest) = (whole.unwrap(), rest.unwrap());
            // Sums of single-precision samples.
            let noise = 1.0e-6 * whole.low.abs().max(1.0);
            prop_assert!(rest.low <= whole.low + noise, "low {} became {}", whole.low, rest.low);
            prop_assert!(rest.high >= whole.high - noise, "high {} became {}", whole.high, rest.high);
        }
    }
}

/// Minutes of a server: one in which no request came, or one with a queue of so many seconds. Of one nothing is known.
fn queue(minutes: &[Option<f64>], gone: Option<usize>) -> (Option<Span>, bool) {
    let looks = minutes.iter().enumerate().map(|(place, queue)| {
        let seconds = [(Metric::QueueSeconds, queue.unwrap_or(f64::NAN)), (Metric::FirstTokenSeconds, f64::NAN)];
        let noted = [(Metric::Util, 50.0)].into_iter().chain(seconds.into_iter().filter(|_| gone != Some(place)));
        said(i64::try_from(place).unwrap() + 1, &noted.collect::<Vec<_>>())
    });
    let evidence = history(looks.collect()).evidence(&watched(0, &[("a", -60)])).unwrap();
    (evidence.servers[0].queue_seconds, evidence.servers[0].first_token_lost)
}

#[test]
fn a_minute_without_a_request_misses_nothing_of_a_mean_over_requests() {
    let seldom = [None, Some(0.25), None, None, Some(0.75), None, None, None];

    assert_eq!(queue(&seldom, None), (Some(Span::exact(0.5)), false));
    let rest = Span { mean: 0.5, low: 1.0 / 3.0, high: f64::INFINITY };
    assert_eq!(queue(&seldom, Some(0)).0, Some(rest), "nobody knows whether one came");
    assert_eq!(queue(&[None; 8], None), (None, false), "a first token that never was is not lost");
}

proptest! {
    /// Kills the mutant that leaves out a look that is missing as it leaves out one without a request.
    #[test]
    fn a_minute_that_is_gone_only_widens_a_mean_over_requests(
        minutes in prop::collection::vec(prop::option::of(0.0..=1.0_f64), MINUTES),
        gone in 0..MINUTES,
    ) {
        let unknown = Span { mean: 0.5, low: 0.0, high: f64::INFINITY };
        let [whole, rest] = [None, Some(gone)].map(|gone| queue(&minutes, gone).0);
        // Where no request is known of, nothing is.
        prop_assert!(whole.is_some() || rest.is_none());
        let (whole, rest) = (whole.unwrap_or(unknown), rest.unwrap_or(unknown));
        prop_assert!(rest.low <= whole.low + 1.0e-6, "low {} became {}", whole.low, rest.low);
        prop_assert!(rest.high >= whole.high - 1.0e-6, "high {} became {}", whole.high, rest.high);
    }
}

/// How a number goes from minute to minute.
#[derive(Clone, Copy, Debug)]
enum Course {
    Still,
    /// For the last five minutes.
    StillLately,
    Jitters,
    Moves,
    /// In one minute, and else jitters.
    MovesOnce,
    Never,
}

impl Course {
    fn at(self, minute: i64) -> Option<f64> {
        match self {
            Self::Still => Some(1.0),
            Self::StillLately => Some(if minute > 5 { 1.0 } else { 1.0 + 0.001 * minute as f64 }),
            Self::Jitters => Some(1.0 + 0.001 * minute as f64),
            Self::MovesOnce if minute == 4 => Some(1.4),
            Self::MovesOnce => Self::Jitters.at(minute),
            Self::Moves => Some(if minute % 2 == 0 { 1.0 } else { 1.4 }),
            Self::Never => None,
        }
    }
}

const ACTIVITY: [(Metric, f64); 5] =
    [(Metric::Util, 22.0), (Metric::Engine, 0.22), (Metric::Sm, 0.12), (Metric::Dram, 0.05), (Metric::Tensor, 0.04)];
const WATTS: (Metric, f64) = (Metric::Power, 150.0);

/// Ten looks at a GPU that does little, without those samples that are `gone`, or whole looks.
fn little(activity: Course, power: Course, gone: &[(i64, Option<Metric>)]) -> Evidence {
    let look = |minute: i64| {
        let of = |course: Course, (metric, value): (Metric, f64)| Some((metric, value * course.at(minute)?));
        let noted = ACTIVITY.into_iter().filter_map(|one| of(activity, one)).chain(of(power, WATTS));
        let left: Vec<_> = noted.filter(|(metric, _)| !gone.contains(&(minute, Some(*metric)))).collect();
        said(minute, &left)
    };
    let looks = (1..=10).filter(|minute| !gone.contains(&(*minute, None))).map(look);
    history(looks.collect()).evidence(&watched(0, &[("a", -60)])).unwrap()
}

fn refused(seen: &Evidence) -> bool {
    matches!(wellfed_engine::judge(seen).lean, wellfed_engine::opinion::Lean::Refuse(_))
}

/// What is known of ten looks, by how activity and power go.
#[test]
fn what_stands_still_is_frozen_where_its_power_does_not_speak_against_it() {
    let refuses = |activity, power| refused(&little(activity, power, &[]));

    for course in [Course::Jitters, Course::Moves, Course::Never] {
        assert!(refuses(Course::Jitters, course), "{course:?}: the control");
    }
    assert!(refuses(Course::Still, Course::Never), "nothing to hold it against");
    assert!(refuses(Course::Still, Course::Jitters), "an even load draws even power");
    for frozen in [
        (Course::Still, Course::Still),
        (Course::Still, Course::Moves),
        (Course::Still, Course::MovesOnce),
        (Course::StillLately, Course::StillLately),
        (Course::StillLately, Course::Still),
    ] {
        assert!(!refuses(frozen.0, frozen.1), "{frozen:?}");
    }
}

#[test]
fn where_activity_stands_still_and_one_sample_of_power_is_gone_nobody_knows_whether_it_moved() {
    assert!(!refused(&little(Course::Still, Course::Jitters, &[(4, Some(Metric::Power))])));
    assert!(!refused(&little(Course::Still, Course::Jitters, &[(4, None)])));
    assert!(!refused(&little(Course::Still, Course::MovesOnce, &[(4, Some(Metric::Power))])), "the one that told");
    assert!(refused(&little(Course::Jitters, Course::Jitters, &[(4, Some(Metric::Power))])), "the control");
}

fn course() -> impl Strategy<Value = Course> {
    let jittering = [Course::Jitters, Course::Moves, Course::MovesOnce];
    prop::sample::select([&[Course::Still, Course::StillLately, Course::Never][..], &jittering].concat())
}

/// A sample, or (of a look between the others) the whole look.
fn gone() -> impl Strategy<Value = (i64, Option<Metric>)> {
    let metrics: Vec<_> = ACTIVITY.iter().map(|(metric, _)| *metric).chain([Metric::Power]).collect();
    // Often the one sample in which a power that moves once has moved.
    let telling = (Just(4_i64), Just(Some(Metric::Power)));
    let any = (1..=10_i64, prop::sample::select(metrics).prop_map(Some));
    prop_oneof![4 => any, 2 => telling, 1 => (2..=9_i64, Just(None))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `power_may_move` without its look at what is missing, `stands_for` that ends where a sample is missing or
    /// counts samples, looks that were never taken without a place, a GPU known by any sample.
    #[test]
    fn no_sample_that_is_gone_turns_into_a_refusal(
        activity in course(),
        power in course(),
        before in prop::collection::vec(gone(), 0..4),
        more in gone(),
    ) {
        let fewer = [&before[..], &[more]].concat();
        let (whole, rest) = (little(activity, power, &before), little(activity, power, &fewer));

        prop_assert!(refused(&whole) || !refused(&rest), "{activity:?} and {power:?} without {before:?}, then {more:?}");
    }
}

/// Ten looks at GPU `g`, which does little for pod `a`; pod `b` has a row in those that `other` names.
fn beside(other: impl Fn(i64) -> bool) -> Vec<Slice> {
    shown(|pod, minute| pod == "a" || other(minute))
}

/// Ten looks at GPU `g`, which show the pods that `shows` names.
fn shown(shows: impl Fn(&str, i64) -> bool) -> Vec<Slice> {
    let look = |minute: i64| {
        let mut slice = Slice::ending(at(minute));
        for pod in ["a", "b"].into_iter().filter(|pod| shows(pod, minute)) {
            let labels = [("namespace", "demo"), ("pod", pod), ("UUID", "g")];
            for (metric, value) in [(Metric::Util, 22.0), (Metric::Engine, 0.22), (Metric::Sm, 0.12)] {
                slice.take(metric, vec![row(value, &labels)]);
            }
        }
        slice
    };
    (1..=10).map(look).collect()
}

fn shared(slices: Vec<Slice>, ready: i64) -> bool {
    history(slices).evidence(&watched(0, &[("a", ready)])).unwrap().gpus[0].shared
}

#[test]
fn a_gpu_stays_shared_where_the_last_looks_lack_the_other_pod() {
    let refuses = |slices| {
        let evidence = history(slices).evidence(&watched(0, &[("a", -60)])).unwrap();
        matches!(wellfed_engine::judge(&evidence).lean, wellfed_engine::opinion::Lean::Refuse(_))
    };

    assert!(shared(beside(|minute| minute <= 8), -60));
    assert!(!refuses(beside(|minute| minute <= 8)), "what is shared only advises");
    assert!(refuses(beside(|_| false)), "the control");
}

#[test]
fn a_pod_that_was_gone_when_its_successor_became_ready_does_not_share_its_gpu() {
    // The look of minute 3 covers the last of one and the first of the other.
    assert!(!shared(beside(|minute| minute <= 3), 3));
    assert!(shared(beside(|minute| minute <= 4), 3));
}

/// However short the window, and however few looks are kept.
#[test]
fn a_gpu_that_was_shared_is_its_pods_own_again_after_a_day() {
    let mut kept = History::every(MINUTE);
    let mut shared = |slice: Slice| {
        let minute = slice.at.duration_since(at(0)).as_mins();
        kept.push(slice, MINUTE * 5);
        kept.evidence(&watched(minute - 2, &[("a", -60)])).unwrap().gpus[0].shared
    };
    let alone = |minute| slice(minute, vec![engine("a", "g", 0.2)]);

    assert!(beside(|minute| minute <= 4).into_iter().all(&mut shared));
    assert_eq!([shared(alone(24 * 60 + 4)), shared(alone(24 * 60 + 5))], [true, false]);
}

/// What its container counts is a neighbour's doing as before when the GPU's own rows are lost.
#[test]
fn a_pod_whose_shared_gpu_is_not_shown_any_more_is_still_on_it() {
    let exit = Exit { pod: "a".into(), at: at(9), cause: ExitCause::GpuMemory, shared: false };
    let lean = |shows: &dyn Fn(&str, i64) -> bool| {
        let workload = Watched { exits: vec![exit.clone()], ..watched(3, &[("a", -60)]) };
        let evidence = history(shown(shows)).evidence(&workload).unwrap();
        wellfed_engine::judge(&evidence).lean
    };
    let refused = wellfed_engine::opinion::Lean::Refuse(wellfed_engine::rules::RuleName::GpuOutOfMemory);

    assert_ne!(lean(&|_, minute| minute <= 2), refused);
    assert_eq!(lean(&|pod, minute| pod == "a" && minute <= 2), refused, "the control");
}

/// Pods come and go on a shared GPU: who was there is remembered of a few, and that one was not alone of all.
#[test]
fn of_many_pods_of_a_gpu_none_is_taken_for_its_only_one() {
    let row = |pod: &str| engine(pod, "g", 0.2);
    let looks = (1..=9).map(|minute| slice(minute, vec![row(&format!("b{minute}")), row("a")]));
    let alone = slice(10, vec![row("a")]);

    assert!(shared(looks.chain([alone]).collect(), -60));
}

proptest! {
    /// Kills the mutant that asks only the last look.
    #[test]
    fn no_row_that_is_gone_makes_a_shared_gpu_its_pods_own(
        shows in prop::collection::vec(any::<bool>(), 10),
        gone in (prop::sample::select(&["a", "b"][..]), 1..=10_i64),
    ) {
        let others = |minute: i64| shows[usize::try_from(minute - 1).unwrap()];
        // Of what was seen once, nothing is known without it.
        prop_assume!((1..=10).filter(|minute| others(*minute)).count() > 1);

        prop_assert!(shared(beside(others), 0));
        prop_assert!(shared(shown(|pod, minute| (pod, minute) != gone && (pod == "a" || others(minute))), 0));
    }
}
