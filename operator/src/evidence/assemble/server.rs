//! What a pod's model server says.

use super::Samples;
use crate::evidence::history::History;
use crate::evidence::metric::Metric;
use crate::evidence::numbering::Id;
use wellfed_engine::evidence::ServerEvidence;

impl History {
    /// What the server in this pod said.
    pub(super) fn server(&self, pod: Option<Id>, samples: &mut Samples<'_>) -> ServerEvidence {
        let ever = |metric| self.ever_said(pod, metric);
        let waiting = if ever(Metric::WaitingForRoom) { Metric::WaitingForRoom } else { Metric::Waiting };
        // A server that counts tokens is never taken for one that counts answers, not even while it says nothing.
        let answers = ever(Metric::Answers) && !ever(Metric::Progress);
        let work = if answers { Metric::Answers } else { Metric::Progress };
        let (kv, progress) = (samples.mean(Metric::Kv), samples.mean(work));
        let first_token_seconds = samples.mean(Metric::FirstTokenSeconds);
        ServerEvidence {
            running: samples.mean(Metric::Running),
            waiting: samples.mean(waiting),
            // A server that counts what runs batches while it runs: its executions say nothing then.
            batch: samples.mean(Metric::Batch).filter(|_| !ever(Metric::Running)),
            kv,
            kv_lost: kv.is_none() && ever(Metric::Kv),
            preemptions: samples.mean(Metric::Preemptions),
            progress,
            progress_lost: progress.is_none() && ever(work),
            answers,
            queue_seconds: samples.mean(Metric::QueueSeconds),
            first_token_seconds,
            first_token_lost: first_token_seconds.is_none() && ever(Metric::FirstTokenSeconds),
            whole_seconds: samples.mean(Metric::WholeSeconds),
            prompt_spread: samples.mean(Metric::PromptSpread),
            output_tokens: samples.mean(Metric::OutputTokens),
            output_cap: samples.mean(Metric::OutputCap),
        }
    }

    /// Whether the pod said it within the last day.
    pub(super) fn ever_said(&self, pod: Option<Id>, metric: Metric) -> bool {
        let last = pod.zip(self.looks.back());
        last.is_some_and(|(pod, last)| self.measured_pod(pod, metric, last.at))
    }
}
