//! The gradient exchange: a ring all-reduce over one link.

use crate::{
    scenario::{Link, Training},
    sim::usage::Usage,
};

/// One exchange among a group of replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ring {
    /// How long it takes, seconds.
    pub seconds: f64,
    /// Bytes that each GPU sends, and as many that it receives.
    pub bytes: f64,
    link: Option<Link>,
}

impl Ring {
    /// Among `count` replicas that compute for `compute` seconds a step; nothing for one alone.
    pub(super) fn of(training: &Training, count: f64, compute: f64) -> Self {
        let share = (count - 1.0) / count;
        let plain = compute * training.communication_fraction * share;
        let Some(exchange) = &training.exchange else { return Self { seconds: plain, ..Self::default() } };
        let bytes = 2.0 * share * exchange.bytes_per_step;
        let seconds = plain + bytes / exchange.bytes_per_second + exchange.latency_seconds * (count - 1.0);
        Self { seconds, bytes, link: Some(exchange.over) }
    }

    /// The traffic of `steps` exchanges, on every link that it passes.
    pub(super) fn traffic(&self, steps: f64) -> Usage {
        let bytes = steps * self.bytes;
        match self.link {
            None => Usage::default(),
            Some(Link::NvLink) => Usage { nvlink_rx_bytes: bytes, nvlink_tx_bytes: bytes, ..Usage::default() },
            Some(Link::Pcie) => Usage { pcie_rx_bytes: bytes, pcie_tx_bytes: bytes, ..Usage::default() },
            Some(Link::Network) => Usage {
                pcie_rx_bytes: bytes,
                pcie_tx_bytes: bytes,
                net_rx_bytes: bytes,
                net_tx_bytes: bytes,
                ..Usage::default()
            },
        }
    }
}
