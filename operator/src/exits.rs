//! How GPU containers ended, from the pods' own status.

use crate::catalog::{Catalog, Target, TargetKey};
use crate::evidence::{Exit, ExitCause};
use crate::slim::{SlimPod, Terminated};

/// What frameworks say when a GPU's memory does not suffice (`PyTorch`, the CUDA driver and runtime, `cuBLAS`, `TensorFlow`,
/// JAX); compared in lower case.
const GPU_MEMORY: [&str; 7] = [
    "cuda out of memory",
    "torch.outofmemoryerror",
    "cuda error: out of memory",
    "cuda_error_out_of_memory",
    "cudaerrormemoryallocation",
    "cublas_status_alloc_failed",
    "resource_exhausted: out of memory",
];

/// Ends of the GPU containers of these targets' pods: of each container the last one, and the one before if it was started
/// again since. Kubernetes keeps no more; `Endings` does.
pub fn exits(targets: &[(TargetKey, Target)], catalog: &Catalog) -> Vec<Exit> {
    let pods = |key: &TargetKey| catalog.pods.get(key).into_iter().flatten();
    targets.iter().flat_map(|(key, target)| pods(key).flat_map(|pod| of_pod(pod, &target.container))).collect()
}

fn of_pod<'a>(pod: &'a SlimPod, container: &'a str) -> impl Iterator<Item = Exit> + 'a {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let statuses = pod.status.container_statuses.iter().filter(move |status| status.name == container);
    let ends = statuses.flat_map(|status| [&status.last_state.terminated, &status.state.terminated]).flatten();
    ends.filter_map(move |end| {
        let at = end.finished_at.as_ref()?.0;
        Some(Exit { pod: name.clone(), at, cause: cause(end)? })
    })
}

/// None for an end as it should be, and for one that somebody asked for: a stop is no failure of the work.
fn cause(end: &Terminated) -> Option<ExitCause> {
    let words = end.message.to_lowercase();
    if GPU_MEMORY.iter().any(|phrase| words.contains(phrase)) {
        return Some(ExitCause::GpuMemory);
    }
    match (end.reason.as_str(), end.exit_code) {
        ("OOMKilled", _) => Some(ExitCause::HostMemory),
        // SIGINT, SIGTERM.
        (_, 0 | 130 | 143) => None,
        _ => Some(ExitCause::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn end(reason: &str, code: i32, message: &str, minute: u32) -> serde_json::Value {
        json!({ "terminated": { "exitCode": code, "reason": reason, "message": message,
            "finishedAt": format!("2026-01-01T00:{minute:02}:00Z") } })
    }

    fn causes(state: &serde_json::Value, last: &serde_json::Value) -> Vec<(ExitCause, i64)> {
        let pod = json!({ "metadata": { "name": "a" }, "status": { "containerStatuses": [
            { "name": "train", "state": state, "lastState": last },
            { "name": "sidecar", "lastState": end("Error", 1, "", 1) }] } });
        let pod: SlimPod = serde_json::from_value(pod).unwrap();
        of_pod(&pod, "train").map(|exit| (exit.cause, exit.at.as_second() / 60 % 60)).collect()
    }

    #[test]
    fn a_container_tells_of_its_last_end_and_of_the_one_before() {
        let torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
        let found = causes(&end("Error", 1, torch, 9), &end("OOMKilled", 137, "", 4));

        assert_eq!(found, [(ExitCause::HostMemory, 4), (ExitCause::GpuMemory, 9)]);
    }

    #[test]
    fn what_runs_or_was_stopped_is_no_failure() {
        let runs = json!({ "running": {} });

        assert_eq!(causes(&runs, &json!({})), []);
        assert_eq!(causes(&runs, &end("Error", 143, "", 4)), []);
        assert_eq!(causes(&end("Completed", 0, "", 5), &end("Error", 1, "NCCL error", 4)), [(ExitCause::Failed, 4)]);
    }

    #[test]
    fn each_framework_s_words_for_a_full_gpu_are_known() {
        for words in [
            "RuntimeError: CUDA error: out of memory",
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        ] {
            assert_eq!(causes(&end("Error", 1, words, 3), &json!({})), [(ExitCause::GpuMemory, 3)], "{words}");
        }
    }
}
