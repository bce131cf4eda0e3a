//! What is only said: padding, caps, sizes, precision; and that adding is justified.

use super::{cpu, exact, gpu, lean, server, serving, training, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{
    self, AddingJustified, DataLoader, GenerationCapTooHigh, OversizedGpu, Padding, PrecisionUnused, Saturated,
    Throttled,
};
use wellfed_engine::testing::{busy_gpu, evidence, secs};

const ADVICE: Option<Weight> = Some(Weight::Advice);

fn uneven(spread: f64) -> ServerEvidence {
    ServerEvidence { prompt_spread: exact(spread), batch: exact(6.0), waiting: exact(3.0), ..ServerEvidence::default() }
}

#[test]
fn prompts_of_very_different_lengths_are_padded_in_batches_formed_beforehand() {
    let at = |gpu, server| weight(&serving(&[gpu], &[server]), Padding);
    let waiting = gpu(0.45, 0.3, 0.1, 0.1);

    assert_eq!(at(waiting, uneven(4.0)), ADVICE);
    assert_eq!(lean(&serving(&[waiting], &[uneven(9.0)])), Lean::Allow);
    assert_eq!(at(waiting, uneven(3.9)), None);
    assert_eq!(at(gpu(0.5, 0.3, 0.1, 0.1), uneven(4.0)), None);
    assert_eq!(at(gpu(0.45, 0.3, 0.1, 0.2), uneven(4.0)), None);
    let while_it_runs = ServerEvidence { running: exact(6.0), ..uneven(9.0) };
    assert_eq!(at(waiting, while_it_runs), None, "continuous batching fills nothing up");
    assert_eq!(at(waiting, ServerEvidence { batch: None, ..uneven(9.0) }), None, "how it batches is unknown");
}

/// Text Generation Inference with a queue of one, or Triton whose frontend exports the lengths of its prompts.
#[test]
fn a_batch_that_is_measured_without_what_runs_is_one_formed_beforehand() {
    let tgi = ServerEvidence { queue_seconds: exact(0.4), whole_seconds: exact(3.0), ..uneven(5.0) };
    let seen = serving(&[gpu(0.4, 0.2, 0.1, 0.15); 2], &[tgi, tgi]);

    assert_eq!((lean(&seen), weight(&seen, Padding)), (Lean::Allow, ADVICE));
    let one_does_not_say = serving(&[gpu(0.4, 0.2, 0.1, 0.15); 2], &[tgi, ServerEvidence::default()]);
    assert_eq!(weight(&one_does_not_say, Padding), None);
}

/// vLLM takes 90 % of the memory at its start, whatever it needs.
#[test]
fn of_a_server_that_takes_its_memory_in_advance_counts_what_it_needs() {
    let taken = |weights| GpuEvidence { memory: exact(0.9), weights, ..gpu(0.2, 0.1, 0.05, 0.02) };
    let at = |weights, kv| {
        let server = ServerEvidence { kv: exact(kv), ..server(1.0, 0.0) };
        weight(&serving(&[taken(weights)], &[server]), OversizedGpu)
    };

    assert_eq!(at(None, 0.39), ADVICE);
    assert_eq!(at(None, 0.40), None);
    assert_eq!(at(Some(0.1), 0.3), ADVICE, "0.1 + 0.3 × 0.8 = 0.34");
    assert_eq!(at(Some(0.1), 0.38), None, "0.1 + 0.38 × 0.8 = 0.404");
    assert_eq!(at(Some(0.5), 0.01), None, "the weights alone do not fit");
    let lost = ServerEvidence { kv: None, kv_lost: true, ..server(1.0, 0.0) };
    assert_eq!(weight(&serving(&[taken(None)], &[lost]), OversizedGpu), None, "nobody knows what it needs");
    let fuller = ServerEvidence { kv: exact(0.8), ..server(1.0, 0.0) };
    let emptier = ServerEvidence { kv: exact(0.1), ..server(1.0, 0.0) };
    assert_eq!(weight(&serving(&[taken(None); 2], &[emptier, fuller]), OversizedGpu), None, "one of them needs it");
}

#[test]
fn a_cap_far_above_real_answers_is_said_while_requests_wait() {
    let capped = |cap, waiting| {
        let server = ServerEvidence { output_tokens: exact(250.0), output_cap: exact(cap), ..server(40.0, waiting) };
        weight(&serving(&[busy_gpu()], &[server]), GenerationCapTooHigh)
    };

    assert_eq!(capped(1_000.0, 1.0), ADVICE);
    assert_eq!(capped(999.0, 1.0), None);
    assert_eq!(capped(4_096.0, 0.9), None);
    let silent = ServerEvidence { output_cap: exact(4_096.0), ..server(40.0, 9.0) };
    assert_eq!(weight(&serving(&[busy_gpu()], &[silent]), GenerationCapTooHigh), None);
}

#[test]
fn a_gpu_that_is_hardly_active_and_mostly_empty_is_larger_than_its_work() {
    let small =
        |engine, peak| GpuEvidence { memory: exact(0.1), memory_peak: exact(peak), ..gpu(engine, 0.1, 0.05, 0.02) };
    let at = |gpu, waiting| weight(&serving(&[gpu], &[server(3.0, waiting)]), OversizedGpu);

    assert_eq!(at(small(0.29, 0.39), 0.2), ADVICE);
    assert_eq!(at(small(0.30, 0.2), 0.2), None);
    assert_eq!(at(small(0.2, 0.40), 0.2), None, "a server that takes its memory in advance among others");
    assert_eq!(at(small(0.2, 0.9), 0.2), None, "mostly empty on the average, and nearly full at times");
    assert_eq!(at(GpuEvidence { memory_peak: None, ..small(0.2, 0.2) }, 0.2), None, "nobody knows how full it gets");
    assert_eq!(at(small(0.2, 0.2), 1.0), None, "requests wait");
    let seen = serving(&[small(0.2, 0.2)], &[server(3.0, 0.0)]);
    let over = |seconds| weight(&Evidence { covered: secs(seconds), ..seen.clone() }, OversizedGpu);
    assert_eq!((over(479), over(480)), (None, ADVICE), "80 % of the window's ten minutes: looks are never on time");
}

#[test]
fn a_busy_fp32_pipe_beside_an_idle_tensor_pipe_is_precision_that_is_not_used() {
    let at = |fp32, tensor| {
        let seen = training(&[GpuEvidence { fp32: exact(fp32), ..gpu(0.9, 0.8, 0.2, tensor) }; 4]);
        (lean(&seen), weight(&seen, PrecisionUnused))
    };

    assert_eq!(at(0.3, 0.049), (Lean::Allow, ADVICE));
    assert_eq!(at(0.29, 0.0), (Lean::Allow, None));
    assert_eq!(at(0.6, 0.05), (Lean::Allow, None), "FP8 and INT8 count as tensor use");
    assert_eq!(weight(&training(&[gpu(0.9, 0.8, 0.2, 0.0); 4]), PrecisionUnused), None, "FP32 is not measured");
}

fn names(seen: &Evidence) -> Vec<RuleName> {
    judge(seen).findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn gpus_that_are_busy_for_a_whole_window_of_demand_justify_more() {
    for class in [Class::Inference, Class::Training, Class::Batch] {
        let seen = evidence(class, &[busy_gpu(); 2], &[cpu(1.0); 2]);

        assert_eq!(names(&seen), [Saturated, AddingJustified]);
        assert_eq!(weight(&seen, AddingJustified), Some(Weight::Either));
        assert_eq!(
            names(&Evidence { backlog_lasts: false, ..seen.clone() }),
            [Saturated],
            "demand is met, or the backlog goes away by itself"
        );
        assert_eq!(names(&Evidence { covered: secs(479), ..seen }), [Saturated], "not a whole window yet");
    }
}

#[test]
fn advice_does_not_speak_against_what_is_justified_and_a_veto_does() {
    let hot = GpuEvidence { clocks_held: exact(0.9), ..busy_gpu() };
    assert_eq!(names(&training(&[hot])), [Saturated, AddingJustified, Throttled]);
    let trainer = wellfed_engine::evidence::TrainerEvidence {
        step_seconds: exact(1.0),
        data_wait_seconds: exact(0.5),
        ..Default::default()
    };
    let few_sms = GpuEvidence { sm: exact(0.4), ..busy_gpu() };
    let container = ContainerEvidence { cores: exact(6.0), ..cpu(1.0) };
    let waits = Evidence { trainers: vec![trainer], ..evidence(Class::Training, &[few_sms], &[container]) };
    assert_eq!(names(&waits), [DataLoader, Saturated]);
}

#[test]
fn what_a_shared_gpu_shows_justifies_nothing() {
    let shared = GpuEvidence { shared: true, ..busy_gpu() };

    assert_eq!(names(&training(&[shared])), []);
}
