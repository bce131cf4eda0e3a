//! Latency that no queue makes.

use super::{cpu, exact, found, gpu, lean, server, serving, value, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::rules::RuleName::{CpuStage, DataLoader, LatencyNotQueueBound, SerialRequests};
use wellfed_engine::span::Span;
use wellfed_engine::testing::starved_gpu;

/// Decoding for a few: the weights are what is read.
fn decoding() -> GpuEvidence {
    gpu(0.85, 0.5, 0.55, 0.05)
}

/// Five in service, none waits, a tenth of the time to the first token in the queue.
fn unqueued() -> ServerEvidence {
    ServerEvidence {
        kv: exact(0.03),
        queue_seconds: exact(0.05),
        first_token_seconds: exact(0.5),
        whole_seconds: exact(6.0),
        ..server(5.0, 0.1)
    }
}

fn late(gpu: GpuEvidence, server: ServerEvidence) -> Evidence {
    several(2, gpu, server)
}

fn several(servers: usize, gpu: GpuEvidence, server: ServerEvidence) -> Evidence {
    Evidence { slo_breached: true, ..serving(&vec![gpu; servers], &vec![server; servers]) }
}

#[test]
fn answers_that_are_late_without_a_queue_are_not_helped_by_replicas() {
    let opinion = judge(&late(decoding(), unqueued()));

    assert_eq!(opinion.lean, Lean::Refuse(LatencyNotQueueBound));
    let share = Measure { what: Quantity::QueueShare, value: 0.1, threshold: Some(0.3) };
    assert_eq!(value(&opinion, Quantity::QueueShare), Some(share));
    let met = Evidence { slo_breached: false, ..late(decoding(), unqueued()) };
    assert_eq!(weight(&met, LatencyNotQueueBound), None);
}

#[test]
fn a_queue_that_is_a_real_share_of_the_latency_is_one_that_replicas_shorten() {
    let queue = |seconds| {
        weight(&late(decoding(), ServerEvidence { queue_seconds: exact(seconds), ..unqueued() }), LatencyNotQueueBound)
    };

    assert_eq!(queue(0.149), Some(Weight::Veto));
    assert_eq!(queue(0.15), None);
    let none = ServerEvidence { queue_seconds: None, ..unqueued() };
    assert_eq!(weight(&late(decoding(), none), LatencyNotQueueBound), None, "it does not say");
    assert_eq!(
        weight(&late(decoding(), ServerEvidence { waiting: exact(1.0), ..unqueued() }), LatencyNotQueueBound),
        None
    );
}

/// The costliest trap: continuous batching takes everything in at once, so that the queue is inside the batch.
#[test]
fn two_hundred_in_service_and_none_waiting_is_a_queue_inside_the_batch() {
    let many = ServerEvidence { running: exact(200.0), ..unqueued() };
    let seen = late(decoding(), many);

    assert_eq!((lean(&seen), weight(&seen, LatencyNotQueueBound)), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(lean(&late(decoding(), ServerEvidence { running: exact(8.0), ..unqueued() })), Lean::Allow);
    assert_eq!(lean(&late(decoding(), ServerEvidence { running: None, ..unqueued() })), Lean::Allow);
}

/// Prompts share the arithmetic: two at a time take twice as long each.
#[test]
fn a_few_prompts_at_a_time_slow_each_other_down() {
    let prefill = gpu(0.95, 0.85, 0.45, 0.4);

    assert_eq!(lean(&late(prefill, unqueued())), Lean::Allow);
    assert_eq!(lean(&late(prefill, ServerEvidence { running: exact(1.2), ..unqueued() })), Lean::Allow);
    let fp32 = gpu(0.95, 0.85, 0.2, 0.0);
    assert_eq!(lean(&late(fp32, unqueued())), Lean::Allow);
}

/// Four replicas: of requests that share a server for `running / (1 + running)` of its time, a fifth one would shorten each
/// by 0.107 at 0.6, and by 0.099 at 0.55.
#[test]
fn requests_that_seldom_meet_are_as_late_with_another_replica() {
    let at = |running: &[Option<Span>]| {
        let server = |running: &Option<Span>| ServerEvidence { running: *running, ..unqueued() };
        let one = late(gpu(0.5, 0.4, 0.05, 0.3), unqueued());
        let gpus = vec![one.gpus[0]; running.len()];
        lean(&Evidence { servers: running.iter().map(server).collect(), gpus, expected_gpus: 4, ..one })
    };

    assert_eq!(at(&[exact(0.55); 4]), Lean::Refuse(LatencyNotQueueBound));
    assert_eq!(at(&[exact(0.6); 4]), Lean::Allow);
    assert_eq!(at(&[exact(0.3), exact(0.3), exact(0.3), exact(0.6)]), Lean::Allow, "the fullest counts");
    assert_eq!(at(&[exact(0.3), exact(0.3), exact(0.3), None]), Lean::Allow, "one that says nothing may be full");
}

/// A replica that had no request has no latency to tell of.
#[test]
fn replicas_without_requests_count_for_as_little_as_they_serve() {
    let idle = |running: f64| ServerEvidence {
        running: exact(running),
        waiting: exact(0.0),
        queue_seconds: None,
        first_token_seconds: None,
        whole_seconds: None,
        ..unqueued()
    };
    let at = |running: f64| {
        let servers = vec![unqueued(), idle(running), idle(running)];
        lean(&Evidence { slo_breached: true, ..serving(&[decoding(); 3], &servers) })
    };

    // Of five requests a tenth of the time is queueing; of the others all of it may be.
    assert_eq!([at(0.0), at(0.7)], [Lean::Refuse(LatencyNotQueueBound); 2]);
    assert_eq!(at(0.8), Lean::Allow);
}

/// A small model that is launched for each token leaves bandwidth unused, and reads its weights all the same.
#[test]
fn a_few_answers_at_a_time_share_the_reading_of_weights_between_launches_too() {
    let at = |sm: Option<f64>, dram: f64| {
        let gpu = GpuEvidence { sm: sm.map(Span::exact), ..gpu(0.9, 0.0, dram, 0.04) };
        lean(&late(gpu, ServerEvidence { running: exact(2.0), kv: exact(0.01), ..unqueued() }))
    };

    assert_eq!([at(Some(0.4), 0.2), at(None, 0.2)], [Lean::Refuse(LatencyNotQueueBound); 2]);
    assert_eq!([at(Some(0.4), 0.19), at(Some(0.8), 0.2)], [Lean::Allow; 2], "hardly any, or in FP32");
}

/// Half of the time nothing runs, so that the mean bandwidth does not tell how weights are read; answers of half a minute
/// whose first token comes after a tenth of a second do.
#[test]
fn answers_that_are_decoded_nearly_all_of_their_time_do_not_slow_each_other_down() {
    let at = |gpu: GpuEvidence, server: ServerEvidence| lean(&late(gpu, server));
    let resting = GpuEvidence { sm: None, ..gpu(0.55, 0.0, 0.13, 0.03) };
    let answers = ServerEvidence {
        kv: exact(0.01),
        queue_seconds: exact(0.01),
        first_token_seconds: exact(0.1),
        whole_seconds: exact(35.0),
        ..server(1.4, 0.0)
    };

    assert_eq!(at(resting, answers), Lean::Refuse(LatencyNotQueueBound));
    // Two in service, each for a twentieth of its time before its first token.
    let prompts = |first: f64| ServerEvidence { first_token_seconds: exact(first), running: exact(2.0), ..answers };
    assert_eq!(at(resting, prompts(1.74)), Lean::Refuse(LatencyNotQueueBound));
    assert_eq!(at(resting, prompts(1.76)), Lean::Allow, "prompts share the arithmetic");
    let first = |first_token_seconds| ServerEvidence { first_token_seconds, ..prompts(0.1) };
    assert_eq!([at(resting, first(None)), at(resting, first(exact(0.0)))], [Lean::Allow, Lean::Allow], "who knows");
    assert_eq!(at(resting, ServerEvidence { running: exact(8.0), ..answers }), Lean::Allow, "many");
    assert_eq!(at(resting, ServerEvidence { kv: exact(0.1), running: exact(2.0), ..answers }), Lean::Allow, "long");
    let multiplying = GpuEvidence { tensor: exact(0.15), ..resting };
    assert_eq!(at(multiplying, prompts(0.1)), Lean::Allow, "the tensor pipe is at work");
}

/// Eight servers.
#[test]
fn long_contexts_are_read_for_each_request() {
    let at = |kv: Option<Span>| lean(&several(8, decoding(), ServerEvidence { kv, ..unqueued() }));

    assert_eq!(at(exact(0.099)), Lean::Refuse(LatencyNotQueueBound));
    assert_eq!(at(exact(0.1)), Lean::Allow);
    assert_eq!(at(None), Lean::Allow);
}

/// A cache of 10 % counts as much to read as the weights. Of one that is two thirds of them a third server takes so much that
/// answers come 0.18 sooner, of a third of them a tenth; a sixth server takes as much of two thirds.
#[test]
fn one_of_few_replicas_more_takes_much_of_the_caches_away() {
    let answers = ServerEvidence { queue_seconds: exact(0.01), first_token_seconds: exact(0.1), ..unqueued() };
    let at = |servers: usize, gpu: GpuEvidence, kv: f64| {
        lean(&several(servers, gpu, ServerEvidence { kv: exact(kv), ..answers }))
    };
    let resting = GpuEvidence { sm: None, ..gpu(0.97, 0.0, 0.15, 0.06) };

    for gpu in [decoding(), resting] {
        assert_eq!([at(2, gpu, 0.033), at(5, gpu, 0.066)], [Lean::Refuse(LatencyNotQueueBound); 2]);
        assert_eq!([at(2, gpu, 0.066), at(2, gpu, 0.034), at(5, gpu, 0.067), at(20, gpu, 0.1)], [Lean::Allow; 4]);
    }
}

/// Hardly more than one at a time, with a context that is most of what is read.
#[test]
fn one_long_context_is_held_up_by_another() {
    let at = |server: ServerEvidence| lean(&late(decoding(), ServerEvidence { running: exact(1.4), ..server }));

    assert_eq!(at(ServerEvidence { kv: exact(0.033), ..unqueued() }), Lean::Refuse(LatencyNotQueueBound));
    assert_eq!(at(ServerEvidence { kv: exact(0.08), ..unqueued() }), Lean::Allow);
    let none = ServerEvidence { kv: None, ..unqueued() };
    assert_eq!(at(none), Lean::Refuse(LatencyNotQueueBound), "it keeps none");
}

/// 8 billion weights in BF16 are 16 GB; 45 % of the cache beside them on 80 GB are 23 GB, which one more replica halves.
#[test]
fn a_small_model_on_a_large_gpu_reads_more_of_its_cache_than_of_its_weights() {
    let small = ServerEvidence { kv: exact(0.45), ..server(7.0, 0.0) };
    let small = ServerEvidence { queue_seconds: exact(0.01), first_token_seconds: exact(0.2), ..small };
    let seen = late(gpu(0.97, 0.6, 0.7, 0.08), small);

    assert_eq!((lean(&seen), weight(&seen, LatencyNotQueueBound)), (Lean::Allow, Some(Weight::Advice)));
}

/// The tensor pipe rests, and the SMs do not: two at a time share them.
#[test]
fn a_service_in_fp32_that_fills_the_sms_is_helped_by_replicas() {
    let alone = ServerEvidence { running: exact(1.4), kv: None, ..unqueued() };
    let at = |gpu| lean(&late(gpu, alone));

    assert_eq!(at(gpu(0.95, 0.85, 0.3, 0.0)), Lean::Allow);
    assert_eq!(at(GpuEvidence { sm: None, ..gpu(0.95, 0.0, 0.3, 0.0) }), Lean::Allow, "nobody saw the SMs");
    assert_eq!(at(gpu(0.95, 0.79, 0.3, 0.0)), Lean::Refuse(LatencyNotQueueBound));
    let decodes = GpuEvidence { sm: None, ..gpu(0.95, 0.0, 0.45, 0.0) };
    assert_eq!(at(decodes), Lean::Refuse(LatencyNotQueueBound));
}

#[test]
fn one_at_a_time_is_late_by_itself() {
    let alone = ServerEvidence { running: exact(1.0), kv: None, ..unqueued() };

    assert_eq!(lean(&late(gpu(0.6, 0.3, 0.3, 0.05), alone)), Lean::Refuse(LatencyNotQueueBound));
}

/// Triton: no first token, no count of what runs.
#[test]
fn a_model_that_answers_at_once_is_judged_by_its_executions_and_its_idle_time() {
    let triton = ServerEvidence {
        waiting: exact(0.0),
        batch: exact(1.0),
        queue_seconds: exact(0.01),
        whole_seconds: exact(0.2),
        ..ServerEvidence::default()
    };

    assert_eq!(lean(&late(starved_gpu(), triton)), Lean::Refuse(LatencyNotQueueBound));
    let busier = late(gpu(0.5, 0.4, 0.1, 0.2), triton);
    assert_eq!((lean(&busier), weight(&busier, LatencyNotQueueBound)), (Lean::Allow, Some(Weight::Advice)));
}

/// A queue is a smaller share of the whole time than of that to the first token.
#[test]
fn the_whole_time_does_not_stand_in_for_a_first_token_that_was_lost() {
    let half = ServerEvidence { queue_seconds: exact(0.25), ..unqueued() };
    let lost = ServerEvidence { first_token_seconds: None, first_token_lost: true, ..half };
    let never = ServerEvidence { first_token_seconds: None, ..half };

    assert_eq!(weight(&late(decoding(), half), LatencyNotQueueBound), None);
    assert_eq!(weight(&late(decoding(), lost), LatencyNotQueueBound), None);
    assert_eq!(weight(&late(decoding(), never), LatencyNotQueueBound), Some(Weight::Veto));
}

/// Hardly active, late, and hardly a queue in the engine: twenty in service, most of them not in it yet.
fn behind_a_stage(container: ContainerEvidence) -> Evidence {
    let server = ServerEvidence { running: exact(20.0), ..unqueued() };
    Evidence { containers: vec![container; 2], ..late(gpu(0.2, 0.15, 0.1, 0.1), server) }
}

#[test]
fn a_cpu_at_its_limit_before_an_engine_without_a_queue_is_a_stage_of_its_own() {
    let opinion = judge(&behind_a_stage(cpu(7.6)));

    assert_eq!(opinion.lean, Lean::Refuse(CpuStage));
    assert_eq!(found(&opinion)[0], (CpuStage, Weight::Veto));
    assert_eq!(weight(&behind_a_stage(cpu(7.6)), DataLoader), None, "it is the same CPU by its better name");
    let queued = ServerEvidence { queue_seconds: exact(0.3), ..unqueued() };
    let queued = Evidence { servers: vec![queued; 2], ..behind_a_stage(cpu(7.6)) };
    assert_eq!(vetoes(&queued), [DataLoader], "the engine's queue is real");
    let silent = Evidence { servers: vec![server(20.0, 0.1); 2], ..behind_a_stage(cpu(7.6)) };
    assert_eq!(vetoes(&silent), [DataLoader], "it does not tell its queue");
}

#[test]
fn a_stage_on_the_cpu_keeps_requests_where_the_engine_does_not_count_them() {
    let met = Evidence { slo_breached: false, ..behind_a_stage(cpu(7.6)) };
    let none_waits = ServerEvidence { running: exact(0.4), waiting: exact(0.0), ..unqueued() };
    assert_eq!(weight(&Evidence { servers: vec![none_waits; 2], ..met }, CpuStage), Some(Weight::Veto));
    let busier = Evidence { gpus: vec![gpu(0.3, 0.2, 0.1, 0.1); 2], ..behind_a_stage(cpu(7.6)) };
    assert_eq!(weight(&busier, CpuStage), None);
}

/// Trap: an engine polls on one core, so that one pinned thread can't be told from it.
#[test]
fn one_busy_core_before_an_engine_only_advises() {
    let seen = behind_a_stage(cpu(1.0));

    assert_eq!((vetoes(&seen), weight(&seen, CpuStage)), (vec![], Some(Weight::Advice)));
    assert_eq!(weight(&behind_a_stage(cpu(2.0)), CpuStage), None, "neither one core nor the limit");
}

/// Disaggregated prefill shows few running, and its queue is at the decoder's door (trap of R9).
#[test]
fn few_running_with_a_gap_in_what_waits_is_no_case() {
    let gap = ServerEvidence { waiting: Span::of(&[0.0; 5], 10, f64::INFINITY), ..unqueued() };

    assert_eq!(weight(&late(decoding(), gap), LatencyNotQueueBound), None);
    assert_eq!(weight(&late(decoding(), gap), SerialRequests), None);
}
