//! What the rules compare with: named, overridable per workload, each with its source.

use serde::{Deserialize, Serialize};

/// All shares are 0–1. Those without a source are wellfed's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Below it a GPU is hardly used: the class "low" of kempnerpulse.
    pub underused_below: f64,
    /// Below it a GPU waits for something: half of the time, the line that NVIDIA draws for ineffective use.
    pub starved_below: f64,
    /// From it on a GPU is busy, if it also does work.
    pub busy_from: f64,
    /// Work: SMs in use. NVIDIA calls less ineffective.
    pub sm_busy_from: f64,
    /// SMs in use that leave room for more: NVIDIA calls 0.8 necessary for effective use.
    pub sm_full_from: f64,
    /// Work: memory bandwidth in use. The practical peak is about 0.8; LLM decode lives here.
    pub dram_busy_from: f64,
    /// Work: tensor pipe in use.
    pub tensor_busy_from: f64,
    /// CPU used over its limit: at the limit, allowing for sampling.
    pub cpu_of_limit_from: f64,
    /// Cores of a limit at which its use tells anything without throttling: an inference engine polls on one core, and keeps
    /// a limit of one busy with it.
    pub cpu_limit_cores_from: f64,
    /// Throttled periods over all periods: the alert of kubernetes-mixin.
    pub throttled_from: f64,
    /// CPU used over its limit by a container whose throttling is more than a burst now and then.
    pub throttled_cpu_from: f64,
    /// Share of time that tasks waited for a CPU.
    pub cpu_pressure_from: f64,
    /// Host to device, bytes a second, that means input is being copied: a class of kempnerpulse.
    pub pcie_rx_from: f64,
    /// SMs in use while input is being copied.
    pub sm_waiting_below: f64,
    /// Requests in service, or in one batch, that mean one after another.
    pub serial_below: f64,
    /// Requests that wait at each replica: on average there is always one.
    pub waiting_from: f64,
    /// KV cache in use by one request that leaves no room for a second like it.
    pub kv_limits_from: f64,
    /// KV cache in use that means full: the watch value of aiperf.
    pub kv_full_from: f64,
    /// Requests thrown out of the KV cache, a second: one in ten minutes, as aiperf takes any as memory pressure.
    pub preemptions_from: f64,
    /// Memory bandwidth in use that makes it the bottleneck: a class of kempnerpulse.
    pub bandwidth_from: f64,
    /// Share of time that tasks waited for storage.
    pub io_pressure_from: f64,
    /// The same over the share of time in which GPUs idle: at least a third of it is explained then.
    pub io_of_idle_from: f64,
    /// CPU used over its limit that means that the CPU waits too: the fetch stall of DS-Analyzer.
    pub cpu_idle_below: f64,
    /// Activity of a GPU that may hang: kernels that wait for a peer count as active.
    pub stuck_active_from: f64,
    /// SMs in use by a GPU that hangs.
    pub stuck_sm_below: f64,
    /// Tensor pipe and memory bandwidth in use by a GPU that hangs.
    pub stuck_work_below: f64,
    /// Power over the board's limit of a GPU that hangs.
    pub stuck_power_below: f64,
    /// `NVLink`, `PCIe` or RDMA traffic over the link's peak beside a GPU that hangs: about none.
    pub stuck_link_below: f64,
    /// Network traffic of its pod, bytes a second: 5 % of a link of 25 Gb/s.
    pub stuck_network_below: f64,
    /// Tokens or answers a second that are none: fewer than one in ten seconds.
    pub progress_below: f64,
    /// Activity of a GPU that runs small kernels, at least. Above `stuck_active_from` it is never without a kernel, and
    /// waits for no launch.
    pub launch_active_from: f64,
    /// SMs in use over the time with a kernel, at most: kernels of few blocks.
    pub launch_fill_below: f64,
    /// SMs in use by small kernels: a class of kempnerpulse, as is the next.
    pub launch_sm_below: f64,
    /// Memory bandwidth in use by small kernels.
    pub launch_dram_below: f64,
    /// CPU cores in use while launching is the bottleneck: about one.
    pub launching_cores_from: f64,
    /// CPU cores in use where nobody knows whether the CPU is at its limit: with more, a data loader is as likely as one thread
    /// that launches.
    pub launching_cores_below: f64,
    /// The longest queue over that of half of the replicas.
    pub imbalance_from: f64,
    /// Requests that wait at a replica that rests, and that run there if it runs nothing.
    pub idle_below: f64,
    /// Share of the replicas that rest.
    pub idle_replicas_from: f64,
    /// Share of time at lowered clocks: by gpud's rate, in 0.6 of all minutes.
    pub clocks_held_from: f64,
    /// Events of lowered clocks a minute, where only events are counted: the rate of gpud.
    pub clock_events_from: f64,
    /// Standard deviation of a GPU's activity while it works and waits by turns: between 80 % and 40 %, half of the time each.
    pub swing_from: f64,
    /// Standard deviation of a trainer's GPU activity that shows gaps although the mean is above `starved_below`.
    pub gaps_from: f64,
    /// `NVLink` or `PCIe` traffic over the link's peak, as a mean: a third of the peak for two thirds of the time.
    pub link_from: f64,
    /// Tensor pipe in use by a GPU that spins in an exchange for half of its time or more.
    pub spinning_tensor_below: f64,
    /// Network traffic of a pod, bytes a second: 30 % of a link of 25 Gb/s.
    pub network_from: f64,
    /// The same over what the node's card can carry, where that is known: `network_from` is not asked then.
    pub network_of_peak_from: f64,
    /// GPU memory in use that leaves room: what waits is not short of it.
    pub memory_room_below: f64,
    /// GPU memory in use that leaves no room for a larger batch.
    pub memory_full_from: f64,
    /// Standard deviation of the memory in use that shows that activations come and go.
    pub memory_moves_from: f64,
    /// Long prompts over the median, where padding costs most of the work.
    pub prompt_spread_from: f64,
    /// Tensor pipe in use where padding may be what keeps it low.
    pub padding_tensor_below: f64,
    /// The queue's share of a latency that more replicas would shorten.
    pub queue_share_below: f64,
    /// Requests in service at once that do not slow each other down, while the GPU reads its weights for all of them.
    pub few_running_below: f64,
    /// Memory bandwidth in use by a GPU that reads its weights for each token, launches between them included: half of what
    /// is work elsewhere.
    pub decoding_from: f64,
    /// Share of the latency by which another replica helps.
    pub gain_from: f64,
    /// KV cache in use that adds little to the reading of weights, also of a small model on a large GPU, whose cache is
    /// several times its weights.
    pub kv_small_below: f64,
    /// CPU cores in use where one thread may be the limit; an engine that polls looks the same.
    pub one_core_below: f64,
    /// Distance from the median over the median distance that makes an outlier.
    pub outlier_from: f64,
    /// SM clock over the median of its peers that makes an outlier.
    pub outlier_clock_below: f64,
    /// Distance of a GPU's activity from its peers' median that makes an outlier: the spread of the gate's truth table.
    pub outlier_activity_from: f64,
    /// GPUs among which an outlier can be told.
    pub outlier_among: f64,
    /// Share of the GPUs that must be well for the others to be outliers.
    pub well_from: f64,
    /// Exits for want of GPU memory over the replicas that make it a cause for a service; one is enough for a trainer.
    pub memory_exits_from: f64,
    /// Failed exits of one container within the window that make a restart loop.
    pub restarts_from: f64,
    /// Change of loss and evaluation over their value within the window that is none.
    pub plateau_within: f64,
    /// Change of loss and evaluation over their value within the window that is for the worse beyond their noise.
    pub worse_from: f64,
    /// The share of a step that waits for data, by the trainer's own count.
    pub data_wait_from: f64,
    /// Tokens that a request allows over those of its answer.
    pub cap_over_output_from: f64,
    /// GPU memory in use at its peak that a smaller GPU has too; of a server what its weights and its KV cache need, or where
    /// the weights are not known its KV cache in use.
    pub oversized_memory_below: f64,
    /// Hours, at every look of which `OversizedGpu` and `Underused` must show before they are told without demand: a day, since
    /// a night proves nothing about the day.
    pub quiet_hours_from: f64,
    /// FP32 pipe in use that carries the arithmetic.
    pub fp32_busy_from: f64,
    /// Tensor pipe in use that carries none.
    pub tensor_idle_below: f64,
    /// "Most" GPUs, containers or servers.
    pub most: f64,
    /// Share of the expected GPUs, of the samples of each, and of the window, that must be seen.
    pub coverage: f64,
}

impl Default for Thresholds {
    #[allow(clippy::too_many_lines)] // one a line
    fn default() -> Self {
        Self {
            underused_below: 0.30,
            starved_below: 0.50,
            busy_from: 0.70,
            sm_busy_from: 0.50,
            sm_full_from: 0.80,
            dram_busy_from: 0.40,
            tensor_busy_from: 0.15,
            cpu_of_limit_from: 0.85,
            cpu_limit_cores_from: 2.0,
            throttled_from: 0.25,
            throttled_cpu_from: 0.70,
            cpu_pressure_from: 0.20,
            pcie_rx_from: 1.0e9,
            sm_waiting_below: 0.30,
            serial_below: 1.5,
            waiting_from: 1.0,
            kv_limits_from: 0.50,
            kv_full_from: 0.90,
            preemptions_from: 1.0 / 600.0,
            bandwidth_from: 0.50,
            io_pressure_from: 0.10,
            io_of_idle_from: 1.0 / 3.0,
            cpu_idle_below: 0.50,
            stuck_active_from: 0.90,
            stuck_sm_below: 0.10,
            stuck_work_below: 0.02,
            stuck_power_below: 0.35,
            stuck_link_below: 0.05,
            stuck_network_below: 0.15625e9,
            progress_below: 0.1,
            launch_active_from: 0.15,
            launch_fill_below: 0.50,
            launch_sm_below: 0.25,
            launch_dram_below: 0.30,
            launching_cores_from: 0.80,
            launching_cores_below: 2.0,
            imbalance_from: 4.0,
            idle_below: 0.5,
            idle_replicas_from: 0.20,
            clocks_held_from: 0.60,
            clock_events_from: 0.60,
            swing_from: 0.20,
            gaps_from: 0.25,
            link_from: 0.20,
            spinning_tensor_below: 0.25,
            network_from: 0.9375e9,
            network_of_peak_from: 0.30,
            memory_room_below: 0.80,
            memory_full_from: 0.92,
            memory_moves_from: 0.02,
            prompt_spread_from: 4.0,
            padding_tensor_below: 0.20,
            queue_share_below: 0.30,
            few_running_below: 8.0,
            decoding_from: 0.20,
            gain_from: 0.10,
            kv_small_below: 0.10,
            one_core_below: 1.2,
            outlier_from: 4.0,
            outlier_clock_below: 0.80,
            outlier_activity_from: 0.40,
            outlier_among: 4.0,
            well_from: 0.75,
            memory_exits_from: 0.50,
            restarts_from: 3.0,
            plateau_within: 0.001,
            worse_from: 0.05,
            data_wait_from: 0.20,
            cap_over_output_from: 4.0,
            oversized_memory_below: 0.40,
            quiet_hours_from: 24.0,
            fp32_busy_from: 0.30,
            tensor_idle_below: 0.05,
            most: 0.80,
            coverage: 0.80,
        }
    }
}
