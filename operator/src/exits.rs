//! How GPU containers ended, from the pods' own status, and what it no longer shows.

use crate::catalog::{Catalog, Target, TargetKey};
use crate::evidence::{Exit, ExitCause, LONGEST};
use crate::sharing::Sharing;
use crate::slim::{SlimPod, Terminated};
use jiff::Timestamp;
use std::collections::BTreeMap;
use wellfed_engine::hash::fnv1a;
use wellfed_engine::memory::Restarts;

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

/// Of one pod so many ends are kept, the latest: a container that keeps ending is started again every five minutes.
const MOST: usize = 64;

/// So many of them are kept over a restart of the operator, of the pod that has most.
const KEPT: usize = 12;

/// So many a pod's status shows.
const SHOWN: usize = 2;

/// Ends of the GPU containers of one workload, by the uid of the pod and by when. A pod's status shows the last two only, so
/// that a restart loop is seen only by remembering.
#[derive(Debug, Default)]
pub struct Ends(BTreeMap<String, BTreeMap<Timestamp, Exit>>);

impl Ends {
    /// Every known end within the longest window, of the pods that these targets have now; `remembered` are ends that another
    /// process saw. Pods that are being deleted are left out: an end after the grace period looks like a failure and is none.
    pub fn see(
        &mut self,
        (targets, remembered): (&[(TargetKey, Target)], Option<&Restarts>),
        catalog: &Catalog,
        sharing: &Sharing,
        now: Timestamp,
    ) -> Vec<Exit> {
        let mut before = std::mem::take(&mut self.0);
        for (key, target) in targets {
            let pods = catalog.pods.get(key).into_iter().flatten();
            for pod in pods.filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
                let uid = pod.metadata.uid.as_deref().unwrap_or_default();
                let mut ends = before.remove(uid).unwrap_or_default();
                let shared = sharing.of(pod);
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                for at in remembered.filter(|kept| kept.pod == short(uid)).into_iter().flat_map(|kept| &kept.ends) {
                    let failed = || Exit { pod: name.to_owned(), at: *at, cause: ExitCause::Failed, shared };
                    ends.entry(*at).or_insert_with(failed);
                }
                ends.extend(of_pod(pod, &target.container).map(|exit| (exit.at, Exit { shared, ..exit })));
                ends.retain(|at, _| now.duration_since(*at) <= LONGEST);
                while ends.len() > MOST {
                    ends.pop_first();
                }
                if !ends.is_empty() {
                    self.0.insert(uid.to_owned(), ends);
                }
            }
        }
        self.0.values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// What a process that begins now could not read from the pods: the latest failed ends of the pod that has most. Of the
    /// others it would know two each, as their status shows them.
    pub fn restarts(&self) -> Option<Restarts> {
        let failed = |ends: &BTreeMap<Timestamp, Exit>| -> Vec<Timestamp> {
            ends.values().filter(|exit| exit.cause != ExitCause::GpuMemory).map(|exit| exit.at).collect()
        };
        let (uid, ends) = self.0.iter().map(|(uid, ends)| (uid, failed(ends))).max_by_key(|(_, ends)| ends.len())?;
        let kept = ends.len().saturating_sub(KEPT);
        (ends.len() > SHOWN).then(|| Restarts { pod: short(uid), ends: ends[kept..].to_vec() })
    }
}

fn short(uid: &str) -> u32 {
    u32::try_from(fnv1a(uid.bytes()) >> 32).unwrap_or_default()
}

/// Of each container the last end, and the one before if it was started again since.
fn of_pod<'a>(pod: &'a SlimPod, container: &'a str) -> impl Iterator<Item = Exit> + 'a {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let statuses = pod.status.container_statuses.iter().filter(move |status| status.name == container);
    let ends = statuses.flat_map(|status| [&status.last_state.terminated, &status.state.terminated]).flatten();
    ends.filter_map(move |end| {
        let at = end.finished_at.as_ref()?.0;
        Some(Exit { pod: name.clone(), at, cause: cause(end)?, shared: false })
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
    use std::sync::Arc;

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

    /// The minutes of the ends that are known after a look at `pod`.
    fn known(ends: &mut Ends, pod: serde_json::Value, now: &str) -> Vec<i64> {
        let key: TargetKey = ("demo".into(), "Deployment".into(), "train".into());
        let pods = vec![Arc::new(serde_json::from_value(pod).unwrap())];
        let catalog = Catalog { pods: [(key.clone(), pods)].into(), ..Catalog::default() };
        let target = Target { container: "train".into(), ..Target::default() };
        let seen = ends.see((&[(key, target)], None), &catalog, &Sharing::default(), now.parse().unwrap());
        seen.iter().map(|exit| exit.at.as_second() / 60 % 60).collect()
    }

    fn failing(uid: &str, minutes: [u32; 2]) -> serde_json::Value {
        let [last, now] = minutes.map(|minute| end("Error", 1, "", minute));
        json!({ "metadata": { "name": "a", "uid": uid }, "status": { "containerStatuses": [
            { "name": "train", "state": now, "lastState": last }] } })
    }

    #[test]
    fn ends_that_the_pod_no_longer_shows_are_remembered_for_as_long_as_a_window_may_be() {
        let mut ends = Ends::default();

        assert_eq!(known(&mut ends, failing("u", [1, 2]), "2026-01-01T00:02:00Z"), [1, 2]);
        assert_eq!(known(&mut ends, failing("u", [2, 5]), "2026-01-01T00:05:00Z"), [1, 2, 5]);
        assert_eq!(known(&mut ends, failing("u", [5, 9]), "2026-01-01T00:09:00Z"), [1, 2, 5, 9]);
        assert_eq!(known(&mut ends, failing("u", [5, 9]), "2026-01-01T02:02:00Z"), [2, 5, 9]);
    }

    #[test]
    fn the_ends_of_a_pod_go_with_it_even_if_another_has_its_name() {
        let mut ends = Ends::default();
        known(&mut ends, failing("u", [1, 2]), "2026-01-01T00:02:00Z");

        assert_eq!(known(&mut ends, failing("v", [5, 6]), "2026-01-01T00:06:00Z"), [5, 6]);
    }

    #[test]
    fn a_pod_that_is_being_deleted_is_killed_and_does_not_fail() {
        let mut pod = failing("u", [1, 2]);
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:02:00Z".into();

        assert!(known(&mut Ends::default(), pod, "2026-01-01T00:02:00Z").is_empty());
    }

    #[test]
    fn of_a_container_that_never_stops_ending_the_latest_ends_are_kept() {
        let mut ends = Ends::default();
        let hours = (0..2).flat_map(|hour| (0..60).map(move |minute| (hour, minute)));
        let looks = hours.map(|(hour, minute)| {
            let text = failing("u", [minute, minute]).to_string().replace("T00:", &format!("T0{hour}:"));
            let now = format!("2026-01-01T0{hour}:{minute:02}:00Z");
            known(&mut ends, serde_json::from_str(&text).unwrap(), &now)
        });

        let last = looks.last().unwrap();
        assert_eq!((last.len(), last[0], last[63]), (64, 56, 59));
    }

    #[test]
    fn of_a_restart_loop_the_latest_ends_are_kept_and_of_two_ends_none_since_the_pod_shows_them() {
        let mut ends = Ends::default();
        let mut kept = |minute: u32| {
            known(&mut ends, failing("u", [minute, minute + 1]), "2026-01-01T00:59:00Z");
            ends.restarts().map(|kept| kept.ends.iter().map(|at| at.as_second() / 60 % 60).collect::<Vec<_>>())
        };

        assert_eq!(kept(1), None);
        assert_eq!(kept(2), Some(vec![1, 2, 3]));
        let many: Vec<_> = (3..=20).filter_map(kept).collect();
        assert_eq!(many.last(), Some(&(10..=21).collect()));
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
