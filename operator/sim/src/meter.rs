//! The meters of one GPU: what an exporter finds on it, from what the pod that holds it did.

use crate::product::Product;
use crate::sim::{Ledger, Usage};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Degrees at no power, and degrees more at the power limit.
const TEMPERATURE: (f64, f64) = (30.0, 42.0);
/// Share of the way to its final temperature that a GPU goes in a second.
const WARMING: f64 = 0.06;
/// Most by which a sensor's reading is off, as a share of the value: real meters never stand still under load.
const NOISE: f64 = 0.02;
/// SM clock without work, MHz.
const CLOCK_IDLE: f64 = 345.0;
/// Degrees at which heat begins to hold the clocks down.
const HOT: f64 = 87.0;

/// What one collection finds, over the time since the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Share of time with a kernel on the GPU, 0–1.
    pub busy: f64,
    /// Share of SMs with a warp, 0–1.
    pub sm: f64,
    /// Share of the tensor pipe's cycles, 0–1.
    pub tensor: f64,
    /// Share of the FP32 pipe's cycles, 0–1.
    pub fp32: f64,
    /// Share of the memory's peak bandwidth, 0–1.
    pub dram: f64,
    /// Bytes a second from the host.
    pub pcie_rx: f64,
    /// Bytes a second to the host.
    pub pcie_tx: f64,
    /// Bytes a second from other GPUs.
    pub nvlink_rx: f64,
    /// Bytes a second to other GPUs.
    pub nvlink_tx: f64,
    /// Memory in use, MiB.
    pub memory_used: f64,
    /// W.
    pub power: f64,
    /// °C.
    pub temperature: f64,
    /// mJ since boot.
    pub energy: f64,
    /// MHz.
    pub sm_clock: f64,
    /// Share of time in which heat held the clocks down, 0–1.
    pub clocks_held: f64,
}

/// The meters of one GPU.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Whose meters: the seed of their noise.
    name: String,
    seen: Usage,
    temperature: f64,
    energy: f64,
    readings: u64,
}

impl Meter {
    /// The meters of the GPU called `name`, at rest.
    pub fn of(name: impl Into<String>) -> Self {
        Self { name: name.into(), seen: Usage::default(), temperature: TEMPERATURE.0, energy: 0.0, readings: 0 }
    }

    /// Another pod holds the GPU now: its ledger starts at nothing.
    pub fn another_owner(&mut self) {
        self.seen = Usage::default();
    }

    /// From -1 to 1, another one for each sensor and reading, the same in every run.
    fn noise(&self, sensor: &str) -> f64 {
        digest(&(&self.name, self.readings, sensor)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    /// Reads the meters `seconds` after the last reading; `ledger` is the owner's.
    pub fn read(&mut self, ledger: &Ledger, product: Product, memory_mib: f64, seconds: f64) -> Sample {
        let (now, before) = (ledger.used, std::mem::replace(&mut self.seen, ledger.used));
        let share = |now: f64, before: f64| ((now - before) / seconds).clamp(0.0, 1.0);
        let rate = |now: f64, before: f64| ((now - before) / seconds).max(0.0);
        self.readings += 1;
        let noisy = |value: f64, sensor: &str| value * (1.0 + NOISE * self.noise(sensor));
        let busy = share(now.gpu_busy, before.gpu_busy);
        let sm = share(now.sm_active, before.sm_active).min(busy);
        let dram = (rate(now.dram_bytes, before.dram_bytes) / product.bandwidth).min(0.92);
        let clock = 1.0 - ledger.level.clock_lost;
        // A lower clock needs less voltage too: power falls faster than the clock.
        let work = (0.15 * busy + 0.45 * sm + 0.40 * dram) * clock * clock;
        let power = noisy(product.power_idle + (product.power_limit - product.power_idle) * work, "power");
        let (busy, sm, dram) = (noisy(busy, "busy").min(1.0), noisy(sm, "sm"), noisy(dram, "dram"));
        let tensor = noisy(share(now.tensor_active, before.tensor_active), "tensor").min(0.93);
        let fp32 = noisy(share(now.fp32_active, before.fp32_active), "fp32").min(0.93);
        let clocks_held = share(now.held_seconds, before.held_seconds);
        let cooled = TEMPERATURE.0 + TEMPERATURE.1 * power / product.power_limit;
        let goal = if clocks_held > 0.0 { cooled.max(HOT) } else { cooled };
        self.temperature = goal + (self.temperature - goal) * (1.0 - WARMING).powf(seconds);
        self.energy += power * seconds * 1000.0;
        Sample {
            busy,
            sm,
            tensor,
            fp32,
            dram,
            pcie_rx: rate(now.pcie_rx_bytes, before.pcie_rx_bytes),
            pcie_tx: rate(now.pcie_tx_bytes, before.pcie_tx_bytes),
            nvlink_rx: rate(now.nvlink_rx_bytes, before.nvlink_rx_bytes),
            nvlink_tx: rate(now.nvlink_tx_bytes, before.nvlink_tx_bytes),
            memory_used: held(ledger.level.gpu_memory_mib, memory_mib),
            power,
            temperature: self.temperature,
            energy: self.energy,
            sm_clock: if busy > 0.0 { product.clock * clock } else { CLOCK_IDLE },
            clocks_held,
        }
    }
}

/// A server that fills the card takes nine tenths of it; the driver keeps a little for itself whoever asks.
fn held(asked: f64, card: f64) -> f64 {
    let most = if asked.is_infinite() { 0.9 } else { 0.99 };
    asked.min(most * card).max(1.0)
}

/// A number for `what` that is the same in every run.
pub fn digest(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::sim::Level;

    #[test]
    fn an_idle_gpu_draws_its_idle_power_and_a_busy_one_more() {
        let product = Product::named("NVIDIA-H100-80GB-HBM3");
        let mut gpu = Meter::of("n1-0");
        let idle = gpu.read(&Ledger::default(), product, 81_559.0, 1.0);
        let used = Usage { gpu_busy: 0.9, sm_active: 0.6, dram_bytes: 1.7e12, ..Usage::default() };
        let busy = gpu.read(&Ledger { used, ..Ledger::default() }, product, 81_559.0, 1.0);

        assert_eq!((idle.busy, idle.sm_clock, busy.sm_clock), (0.0, 345.0, 1980.0));
        assert!((68.6..=71.4).contains(&idle.power), "{}", idle.power);
        assert!((0.88..=0.92).contains(&busy.busy), "{}", busy.busy);
        assert!(busy.power > 350.0 && busy.energy > idle.energy);
    }

    #[test]
    fn kernels_that_only_spin_draw_less_than_a_third_of_the_limit() {
        let mut gpu = Meter::of("n1-0");
        let used = Usage { gpu_busy: 1.0, sm_active: 0.02, ..Usage::default() };

        let spinning = gpu.read(&Ledger { used, ..Ledger::default() }, Product::named("H100"), 81_559.0, 1.0);

        // 70 W at rest + 630 W × (0.15 + 0.45 × 0.02).
        assert!((166.0..=174.0).contains(&spinning.power), "{}", spinning.power);
    }

    #[test]
    fn a_gpu_whose_clock_heat_holds_down_is_hot_slow_and_says_so() {
        let mut gpu = Meter::of("n1-0");
        let used = Usage { gpu_busy: 60.0, sm_active: 45.0, held_seconds: 60.0, ..Usage::default() };
        let ledger = Ledger { used, level: Level { clock_lost: 0.4, ..Level::default() } };

        let hot = gpu.read(&ledger, Product::named("H100"), 81_559.0, 60.0);

        assert_eq!((hot.clocks_held, hot.sm_clock.round()), (1.0, 1188.0));
        // 70 W at rest + 630 W × (0.15 + 0.45 × 0.75) × 0.6².
        assert!((176.9..=184.3).contains(&hot.power), "{}", hot.power);
        assert!(hot.temperature > 80.0, "{}", hot.temperature);
    }

    #[test]
    fn meters_under_load_never_stand_still() {
        let mut gpu = Meter::of("n1-0");
        let mut ledger = Ledger::default();
        let mut read = || {
            ledger.used.gpu_busy += 0.5;
            gpu.read(&ledger, Product::named("H100"), 81_559.0, 1.0).busy
        };

        let readings = [read(), read(), read()];

        assert!(readings[0] != readings[1] && readings[1] != readings[2], "{readings:?}");
    }
}
