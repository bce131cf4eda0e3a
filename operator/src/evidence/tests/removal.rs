//! A sample that is missing widens what is known, whichever it is: no rule may take silence for proof.

use super::*;
use proptest::prelude::*;
use wellfed_engine::span::Span;

const METRICS: [Metric; 8] = [
    Metric::Engine,
    Metric::Swing,
    Metric::Memory,
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

fn spans(seen: &Evidence) -> [Option<Span>; 7] {
    let (gpu, container) = (&seen.gpus[0], &seen.containers[0]);
    let (server, trainer) = (&seen.servers[0], &seen.trainers[0]);
    [gpu.engine, gpu.swing, gpu.memory, gpu.nvlink, container.network, server.running, trainer.data_wait_seconds]
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
