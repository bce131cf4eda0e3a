//! dcgm-exporter's page of one node.

use super::text::{Kind, Text};
use crate::{product::Product, rack::Rack, scenario::Exporter};
use wellfed_sim::meter::Sample;

/// Where a GPU is put down: namespace, pod and container.
pub type Attribution = Option<(String, String, String)>;

/// A field of the counter file: name, kind, help, value.
struct Field(&'static str, Kind, &'static str, fn(&Sample, &Rack) -> f64);

/// The fields of the default counter file that the models drive, in its order (dcgm-exporter etc/default-counters.csv).
static FIELDS: [Field; 13] = [
    Field("DCGM_FI_DEV_SM_CLOCK", Kind::Gauge, "SM clock frequency (in MHz).", |sample, _| sample.sm_clock),
    Field("DCGM_FI_DEV_GPU_TEMP", Kind::Gauge, "GPU temperature (in C).", |sample, _| sample.temperature.round()),
    Field("DCGM_FI_DEV_POWER_USAGE", Kind::Gauge, "Power draw (in W).", |sample, _| sample.power),
    Field(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        Kind::Counter,
        "Total energy consumption since boot (in mJ).",
        |sample, _| sample.energy.round(),
    ),
    Field("DCGM_FI_DEV_GPU_UTIL", Kind::Gauge, "GPU utilization (in %).", |sample, _| (sample.busy * 100.0).round()),
    Field("DCGM_FI_DEV_XID_ERRORS", Kind::Gauge, "Value of the last XID error encountered.", |_, _| 0.0),
    Field("DCGM_FI_DEV_FB_FREE", Kind::Gauge, "Framebuffer memory free (in MiB).", |sample, rack| {
        (rack.memory_mib - sample.memory_used).round()
    }),
    Field("DCGM_FI_DEV_FB_USED", Kind::Gauge, "Framebuffer memory used (in MiB).", |sample, _| {
        sample.memory_used.round()
    }),
    Field("DCGM_FI_PROF_GR_ENGINE_ACTIVE", Kind::Gauge, "Ratio of time the graphics engine is active.", |sample, _| {
        sample.busy
    }),
    Field(
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        Kind::Gauge,
        "Ratio of cycles the tensor (HMMA) pipe is active.",
        |sample, _| sample.tensor,
    ),
    Field(
        "DCGM_FI_PROF_DRAM_ACTIVE",
        Kind::Gauge,
        "Ratio of cycles the device memory interface is active sending or receiving data.",
        |sample, _| sample.dram,
    ),
    Field(
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        Kind::Gauge,
        "The rate of data transmitted over the PCIe bus - including both protocol headers and data payloads - in bytes per second.",
        |sample, _| sample.pcie_tx.round(),
    ),
    Field(
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        Kind::Gauge,
        "The rate of data received over the PCIe bus - including both protocol headers and data payloads - in bytes per second.",
        |sample, _| sample.pcie_rx.round(),
    ),
];

/// Not in the default counter file; the most wanted of those that must be added by hand.
static SM_ACTIVE: Field = Field(
    "DCGM_FI_PROF_SM_ACTIVE",
    Kind::Gauge,
    "The ratio of cycles an SM has at least 1 warp assigned.",
    |sample, _| sample.sm,
);

/// Further fields that must be added by hand.
static FURTHER: [Field; 7] = [
    Field("DCGM_FI_DEV_PCIE_LINK_WIDTH", Kind::Gauge, "PCIe current link width.", |_, _| LANES),
    Field("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", Kind::Gauge, "PCIe max link width.", |_, _| LANES),
    Field(
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        Kind::Gauge,
        "The rate of data transmitted over NVLink, not including protocol headers, in bytes per second.",
        |sample, _| sample.nvlink_tx.round(),
    ),
    Field(
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
        Kind::Gauge,
        "The rate of data received over NVLink, not including protocol headers, in bytes per second.",
        |sample, _| sample.nvlink_rx.round(),
    ),
    Field("DCGM_FI_PROF_PIPE_FP32_ACTIVE", Kind::Gauge, "Ratio of cycles the fp32 pipes are active.", |sample, _| {
        sample.fp32
    }),
    Field("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Kind::Gauge, "Current clock event reasons (bitmask).", |sample, _| {
        reasons(sample)
    }),
    Field("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", Kind::Gauge, "Effective power limit (in W).", |_, rack| {
        Product::named(&rack.product).power_limit
    }),
];
/// Lanes of each card.
const LANES: f64 = 16.0;
/// Bits of the clock event reasons: nothing runs, and heat as the driver sees it.
const REASONS: (f64, f64) = (1.0, 32.0);

fn reasons(sample: &Sample) -> f64 {
    match (sample.busy > 0.0, sample.clocks_held > 0.0) {
        (_, true) => REASONS.1,
        (false, false) => REASONS.0,
        (true, false) => 0.0,
    }
}

/// The fields that an exporter with these settings has.
fn fields(exporter: &Exporter) -> impl Iterator<Item = &'static Field> {
    let sm = exporter.sm_active.then_some(&SM_ACTIVE);
    let further = exporter.further_counters.then_some(&FURTHER).into_iter().flatten();
    FIELDS.iter().chain(sm).chain(further)
}

/// One row of the page: a GPU's index, what was read, and whose it is.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of the GPU in its node.
    pub index: usize,
    /// What was read; `None` shows as `NaN`.
    pub sample: Option<Sample>,
    /// Whose it is.
    pub pod: Attribution,
}

/// The page of `node`.
pub fn page(node: &str, rack: &Rack, rows: &[Row], exporter: &Exporter) -> String {
    let model = rack.product.replace('-', " ");
    let mut text = Text::default();
    for Field(name, kind, help, value) in fields(exporter) {
        text.family(name, *kind, help);
        for row in rows {
            let gpu = &rack.gpus[row.index];
            let (index, device) = (row.index.to_string(), format!("nvidia{}", row.index));
            let mut labels = vec![
                ("gpu", index.as_str()),
                ("UUID", &gpu.uuid),
                ("pci_bus_id", &gpu.pci),
                ("device", &device),
                ("modelName", &model),
                ("Hostname", node),
                ("DCGM_FI_DRIVER_VERSION", &exporter.driver_version),
            ];
            if let Some((namespace, pod, container)) = &row.pod {
                labels.extend([("container", container.as_str()), ("namespace", namespace), ("pod", pod)]);
            }
            text.sample(name, &labels, row.sample.map_or(f64::NAN, |sample| value(&sample, rack)));
        }
    }
    text.finish()
}
