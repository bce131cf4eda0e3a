//! dcgm-exporter's page of one node.

use super::text::{Kind, Text};
use crate::{rack::Rack, scenario::Exporter};
use wellfed_sim::meter::Sample;

/// Where a GPU is put down: namespace, pod and container.
pub type Attribution = Option<(String, String, String)>;

/// A field of the counter file: name, kind, help, value.
struct Field(&'static str, Kind, &'static str, fn(&Sample, f64) -> f64);

/// The fields of the default counter file that the models drive, in its order (dcgm-exporter etc/default-counters.csv).
const FIELDS: [Field; 14] = [
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
    Field("DCGM_FI_DEV_FB_FREE", Kind::Gauge, "Framebuffer memory free (in MiB).", |sample, memory| {
        (memory - sample.memory_used).round()
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
    SM_ACTIVE,
];

/// Not in the default counter file.
const SM_ACTIVE: Field = Field(
    "DCGM_FI_PROF_SM_ACTIVE",
    Kind::Gauge,
    "The ratio of cycles an SM has at least 1 warp assigned.",
    |sample, _| sample.sm,
);

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
    for Field(name, kind, help, value) in FIELDS.iter().filter(|field| exporter.sm_active || field.0 != SM_ACTIVE.0) {
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
            text.sample(name, &labels, row.sample.map_or(f64::NAN, |sample| value(&sample, rack.memory_mib)));
        }
    }
    text.finish()
}
