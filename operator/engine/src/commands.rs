//! Ready commands to look deeper into a finding, filled with the pod and container that they are for.

use crate::policy::Class;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The workload's namespace.
    pub namespace: String,
    /// One of its Ready pods.
    pub pod: String,
    /// The container that has the GPUs.
    pub container: String,
    /// What kind of work it is.
    pub class: Class,
}

/// One command, or one piece of code to put into the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What it shows, and what it needs or disturbs.
    pub shows: String,
    /// To be copied as it is.
    pub run: String,
}

/// Shown wherever a profiler is.
pub const FREEZES: &str =
    "before Hopper, profiling freezes DCGM's PROF metrics meanwhile: no verdict comes of that time";

/// What there is to look with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    PySpyTop,
    PySpyDump,
    TorchProfiler,
    Nsys,
    Topology,
    Clocks,
    Memory,
    LastExit,
    ServerMetrics,
}

/// The commands for `finding`, the one that tells most first.
pub fn commands(finding: impl Display, subject: &Subject) -> Vec<Command> {
    tools(&finding.to_string(), subject.class).iter().map(|tool| command(*tool, subject)).collect()
}

/// By name, since not every finding is a rule's.
fn tools(finding: &str, class: Class) -> &'static [Tool] {
    use Tool::{Clocks, LastExit, Memory, Nsys, PySpyDump, PySpyTop, ServerMetrics, Topology, TorchProfiler};
    match (finding, class) {
        ("Stalled", _) => &[PySpyDump, Topology, Clocks],
        ("Throttled" | "Straggler", _) => &[Clocks, Topology, PySpyDump],
        ("CommunicationBound", _) => &[Topology, Nsys, TorchProfiler],
        ("MemoryBound" | "OversizedGpu", _) => &[Memory],
        ("GpuOutOfMemory", _) => &[LastExit, Memory],
        ("RunNotProgressing", _) => &[LastExit, PySpyDump],
        // Found by what a server counts, so there is one, whatever the class.
        ("SerialRequests" | "KvPressure" | "Imbalance" | "GenerationCapTooHigh" | "Padding", _) => &[ServerMetrics],
        ("LatencyNotQueueBound", _) | ("BandwidthBound", Class::Inference) => &[ServerMetrics, Nsys],
        ("BandwidthBound", Class::Batch) => &[ServerMetrics, Nsys, TorchProfiler],
        ("AddingJustified", _) => &[],
        ("LaunchBound" | "PrecisionUnused" | "BandwidthBound" | "HostDeviceTransfer", _) => &[Nsys, TorchProfiler],
        ("CpuStage", _) | (_, Class::Inference) => &[PySpyTop, Nsys],
        (_, Class::Training | Class::Batch) => &[PySpyTop, Nsys, TorchProfiler],
    }
}

fn command(tool: Tool, subject: &Subject) -> Command {
    let (shows, run) = match tool {
        Tool::PySpyTop => (PY_SPY_TOP.to_owned(), exec(subject, "-it ", "py-spy top --pid 1")),
        Tool::PySpyDump => (PY_SPY_DUMP.to_owned(), exec(subject, "", "py-spy dump --pid 1")),
        Tool::TorchProfiler => (profiler("the operations of three steps; put it around the training loop"), TORCH.to_owned()),
        Tool::Nsys => (profiler(NSYS_SHOWS), exec(subject, "", NSYS)),
        Tool::Topology => ("how the GPUs are linked".to_owned(), exec(subject, "", "nvidia-smi topo -m")),
        Tool::Clocks => ("what holds the clocks down, and the width of the PCIe link".to_owned(), exec(subject, "", CLOCKS)),
        Tool::Memory => ("memory in use of each GPU, every five seconds".to_owned(), exec(subject, "", MEMORY)),
        Tool::LastExit => (LAST_WORDS.to_owned(), last_words(subject)),
        Tool::ServerMetrics => (
            "what the server counts; run the second line beside the first (8000 is vLLM's port, 30000 SGLang's, 8002 Triton's)".to_owned(),
            server_metrics(subject),
        ),
    };
    Command { shows, run }
}

const PY_SPY_TOP: &str =
    "where the Python code spends its time; needs py-spy in the image and the capability SYS_PTRACE";
const PY_SPY_DUMP: &str = "where each thread waits; run it in every pod and look for the one that waits elsewhere; needs py-spy in the image \
                           and the capability SYS_PTRACE";
const LAST_WORDS: &str = "the last words of the container that ended; the first line shows which pods restarted: put one of them into the \
                          second, since a pod that never ended has none";
const NSYS_SHOWS: &str = "how busy the GPUs' units are, ten thousand times a second; needs nsys in the image, and for the GPUs' metrics the \
                          capability SYS_ADMIN, or NVreg_RestrictProfilingToAdminUsers=0 for the driver of the node";
const NSYS: &str = "nsys profile --gpu-metrics-devices=all --duration=20 --output=/tmp/wellfed sleep 20";
const CLOCKS: &str = "nvidia-smi --query-gpu=index,clocks.sm,clocks.max.sm,clocks_event_reasons.active,temperature.gpu,pcie.link.width.current --format=csv";
const MEMORY: &str = "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv -l 5";
const TORCH: &str = r#"from torch.profiler import profile, schedule, tensorboard_trace_handler
with profile(schedule=schedule(wait=5, warmup=2, active=3), on_trace_ready=tensorboard_trace_handler("/tmp/wellfed")) as p:
    for batch in loader:
        step(batch)  # your training step
        p.step()"#;

fn profiler(shows: &str) -> String {
    format!("{shows}; {FREEZES}")
}

fn exec(subject: &Subject, flags: &str, command: &str) -> String {
    let Subject { namespace, pod, container, .. } = subject;
    format!("kubectl exec {flags}-n {namespace} {pod} -c {container} -- {command}")
}

fn last_words(subject: &Subject) -> String {
    let Subject { namespace, pod, container, .. } = subject;
    format!("kubectl get pods -n {namespace}\nkubectl logs -n {namespace} {pod} -c {container} --previous --tail=50")
}

fn server_metrics(subject: &Subject) -> String {
    let Subject { namespace, pod, .. } = subject;
    format!("kubectl port-forward -n {namespace} pod/{pod} 8000:8000\ncurl -s http://127.0.0.1:8000/metrics")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedies;

    fn subject(class: Class) -> Subject {
        let text = str::to_owned;
        Subject { namespace: text("demo"), pod: text("vision-train-7d9c-x2x4k"), container: text("train"), class }
    }

    #[test]
    fn a_starved_trainer_is_shown_where_its_python_code_spends_its_time() {
        let commands = commands("DataLoader", &subject(Class::Training));

        assert_eq!(commands[0].run, "kubectl exec -it -n demo vision-train-7d9c-x2x4k -c train -- py-spy top --pid 1");
        assert!(commands[1].run.starts_with("kubectl exec -n demo vision-train-7d9c-x2x4k -c train -- nsys profile "));
        assert!(commands[2].run.contains("torch.profiler"));
    }

    #[test]
    fn whatever_profiles_says_that_it_freezes_metrics_before_hopper() {
        for (finding, _) in remedies::all() {
            for class in [Class::Training, Class::Batch, Class::Inference] {
                for command in commands(finding, &subject(class)) {
                    let profiles = command.run.contains("nsys profile") || command.run.contains("torch.profiler");
                    assert_eq!(profiles, command.shows.contains(FREEZES), "{finding}: {}", command.run);
                }
            }
        }
    }

    /// A batch job, and a trainer that generates, may serve with vLLM: none of their loops is to be profiled then.
    #[test]
    fn what_a_server_counts_is_looked_up_at_the_server_whatever_the_class() {
        let of_servers =
            ["SerialRequests", "KvPressure", "Imbalance", "GenerationCapTooHigh", "Padding", "LatencyNotQueueBound"];
        for finding in of_servers {
            for class in [Class::Training, Class::Batch, Class::Inference] {
                let commands = commands(finding, &subject(class));
                assert!(commands[0].run.ends_with("/metrics"), "{finding} {class:?}: {}", commands[0].run);
                assert!(commands.iter().all(|one| one.run != TORCH), "{finding} {class:?}");
            }
        }
        let before_the_server = commands("CpuStage", &subject(Class::Batch));
        assert!(before_the_server.iter().all(|one| one.run != TORCH), "a tokeniser has no training loop");
    }

    #[test]
    fn the_gpus_metrics_need_a_right_that_pods_seldom_have() {
        let nsys = &commands("DataLoader", &subject(Class::Training))[1];

        assert!(nsys.shows.contains("the capability SYS_ADMIN, or NVreg_RestrictProfilingToAdminUsers=0"));
    }

    #[test]
    fn every_finding_but_the_one_that_is_no_fault_has_a_command() {
        for (finding, _) in remedies::all() {
            let expected = *finding != "AddingJustified";
            assert_eq!(!commands(finding, &subject(Class::Training)).is_empty(), expected, "{finding}");
        }
    }

    /// The pod that is known is a Ready one, which may never have ended.
    #[test]
    fn last_words_are_those_of_a_pod_that_restarted() {
        let last = &commands("GpuOutOfMemory", &subject(Class::Training))[0];

        assert_eq!(
            last.run,
            "kubectl get pods -n demo\nkubectl logs -n demo vision-train-7d9c-x2x4k -c train --previous --tail=50"
        );
        assert!(last.shows.ends_with("since a pod that never ended has none"), "{}", last.shows);
    }

    #[test]
    fn a_server_is_asked_for_its_own_counts() {
        let commands = commands("SerialRequests", &subject(Class::Inference));

        assert_eq!(
            commands[0].run,
            "kubectl port-forward -n demo pod/vision-train-7d9c-x2x4k 8000:8000\ncurl -s http://127.0.0.1:8000/metrics"
        );
    }
}
