//! What model servers say of their requests.

use super::{JUSTIFIED, SATURATED, cpu, exact, found, gpu, lean, lost_for, on_shared, server, serving, value};
use wellfed_engine::evidence::{Evidence, GpuEvidence, ServerEvidence, Source};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{self, AddingJustified, Imbalance, KvPressure, Saturated, SerialRequests};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, starved_gpu};

const SERIAL: Lean = Lean::Refuse(SerialRequests);

/// Decoding for one request: bound by memory bandwidth, as for sixty at once.
fn decoding_for_one() -> GpuEvidence {
    gpu(0.9, 0.6, 0.55, 0.03)
}

/// G9: one request in service, 25 wait, the GPU active without multiplying.
#[test]
fn requests_served_one_after_another_while_others_wait_are_the_cause() {
    let opinion = judge(&serving(&[gpu(0.8, 0.3, 0.2, 0.05)], &[server(1.0, 25.0)]));

    assert_eq!(opinion.lean, SERIAL);
    let running = Measure { what: Quantity::RequestsRunning, value: 1.0, threshold: Some(1.5) };
    assert_eq!(value(&opinion, Quantity::RequestsRunning), Some(running));
    let waiting = Measure { what: Quantity::RequestsWaiting, value: 25.0, threshold: Some(1.0) };
    assert_eq!(value(&opinion, Quantity::RequestsWaiting), Some(waiting));
}

/// G9 on the exporter's default counters, without SM activity.
#[test]
fn serial_requests_show_without_sm_activity() {
    let default = |gpu| GpuEvidence { sm: None, ..gpu };

    assert_eq!(lean(&serving(&[default(gpu(0.8, 0.0, 0.2, 0.05))], &[server(1.0, 25.0)])), SERIAL);
    assert_eq!(lean(&serving(&[default(decoding_for_one())], &[server(1.0, 25.0)])), SERIAL);
}

#[test]
fn a_decoder_that_is_busy_for_one_request_at_a_time_has_room_for_more() {
    assert_eq!(lean(&serving(&[decoding_for_one()], &[server(1.0, 25.0)])), SERIAL);
    assert_eq!(lean(&serving(&[decoding_for_one()], &[server(60.0, 25.0)])), Lean::Allow);
    let slowly = gpu(0.97, 0.62, 0.2, 0.04);
    assert_eq!(lean(&serving(&[slowly], &[server(1.0, 25.0)])), SERIAL, "nor does it fill its SMs");
}

#[test]
fn the_line_between_serial_and_batched_is_at_one_and_a_half() {
    let at = |running, waiting| lean(&serving(&[starved_gpu()], &[server(running, waiting)]));

    assert_eq!(at(1.49, 1.0), SERIAL);
    assert_eq!(at(1.5, 1.0), Lean::Allow);
    assert_eq!(at(1.0, 0.99), Lean::Allow, "nobody waits");
}

#[test]
fn samples_of_what_runs_that_are_gone_speak_for_the_server() {
    let gap = |samples: &[f64]| ServerEvidence { running: Span::of(samples, 10, f64::INFINITY), ..server(0.0, 25.0) };

    assert_eq!(lean(&serving(&[starved_gpu()], &[gap(&[1.0; 10])])), SERIAL);
    assert_eq!(lean(&serving(&[starved_gpu()], &[gap(&[1.0; 9])])), Lean::Allow);
}

/// Triton tells the batch and what is pending, not what runs.
#[test]
fn a_batch_of_one_is_serial_too() {
    let triton = |batch| ServerEvidence { batch: exact(batch), waiting: exact(40.0), ..ServerEvidence::default() };

    assert_eq!(lean(&serving(&[starved_gpu()], &[triton(1.1)])), SERIAL);
    assert_eq!(lean(&serving(&[starved_gpu()], &[triton(1.5)])), Lean::Allow);
}

/// Without SM activity a model in FP32 that fills the GPU looks like one that leaves room: it must wait, or decode.
#[test]
fn a_batch_of_one_on_the_default_counters_may_fill_the_sms() {
    let triton = ServerEvidence { batch: exact(1.0), waiting: exact(3.0), ..ServerEvidence::default() };
    let default = |gpu| lean(&serving(&[GpuEvidence { sm: None, ..gpu }], &[triton]));

    assert_eq!(default(gpu(0.98, 0.0, 0.2, 0.0)), Lean::Allow);
    assert_eq!(default(gpu(0.49, 0.0, 0.2, 0.0)), SERIAL, "it waits");
    assert_eq!(default(gpu(0.98, 0.0, 0.45, 0.0)), SERIAL, "it decodes");
    assert_eq!(lean(&serving(&[gpu(0.98, 0.6, 0.2, 0.0)], &[triton])), SERIAL, "its SMs are seen to have room");
}

/// The trap of disaggregated prefill, and of long prompts: few run, because one fills the GPU.
#[test]
fn a_prefill_that_fills_the_gpu_runs_alone_with_good_reason() {
    let prefill = gpu(0.98, 0.85, 0.3, 0.45);
    let opinion = judge(&serving(&[prefill], &[server(1.0, 25.0)]));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Allow, vec![SATURATED, JUSTIFIED]));
}

#[test]
fn a_model_in_fp32_that_fills_the_sms_runs_alone_with_good_reason() {
    let fp32 = gpu(0.97, 0.9, 0.3, 0.0);

    assert_eq!(lean(&serving(&[fp32], &[server(1.0, 25.0)])), Lean::Allow);
    let sm_lost = GpuEvidence { sm: None, sm_lost: true, ..fp32 };
    assert_eq!(
        lean(&serving(&[sm_lost], &[server(1.0, 25.0)])),
        lost_for(SerialRequests, Source::Sms),
        "a lost exemption may still exempt"
    );
}

/// TGI, and engines whose metrics an administrator names, tell of no cache though they keep one.
#[test]
fn one_context_may_fill_a_cache_that_nobody_measures() {
    let engine = |kv| ServerEvidence { progress: exact(30.0), kv, ..server(1.0, 25.0) };
    let says = |gpu, server| {
        let opinion = judge(&serving(&[gpu], &[server]));
        (opinion.lean, found(&opinion).into_iter().find(|(rule, _)| *rule == SerialRequests).map(|(_, weight)| weight))
    };

    assert_eq!(says(decoding_for_one(), engine(None)), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(says(decoding_for_one(), engine(exact(0.2))), (SERIAL, Some(Weight::Veto)));
    assert_eq!(says(gpu(0.4, 0.2, 0.2, 0.05), engine(None)), (SERIAL, Some(Weight::Veto)), "no full cache idles");
    let lately = ServerEvidence { progress_lost: true, progress: None, ..engine(None) };
    assert_eq!(says(decoding_for_one(), lately).1, Some(Weight::Advice));
    let answers = ServerEvidence { answers: true, ..engine(None) };
    assert_eq!(says(decoding_for_one(), answers), (SERIAL, Some(Weight::Veto)), "a model that keeps no cache");
}

#[test]
fn a_context_that_fills_the_kv_cache_runs_alone_with_good_reason() {
    let kv = |kv, kv_lost| ServerEvidence { kv, kv_lost, ..server(1.0, 25.0) };
    let at = |server| lean(&serving(&[decoding_for_one()], &[server]));

    assert_eq!(at(kv(exact(0.49), false)), SERIAL);
    assert_eq!(at(kv(exact(0.50), false)), Lean::Allow, "a second like it does not fit");
    assert_eq!(at(kv(Span::of(&[0.2; 7], 10, 1.0), false)), SERIAL);
    assert_eq!(at(kv(Span::of(&[0.3; 7], 10, 1.0), false)), Lean::Allow, "it may have been full meanwhile");
    assert_eq!(at(kv(None, true)), lost_for(SerialRequests, Source::KvCache));
}

#[test]
fn serial_requests_on_a_shared_gpu_only_advise() {
    let shared = GpuEvidence { shared: true, ..starved_gpu() };
    let opinion = judge(&serving(&[shared], &[server(1.0, 25.0)]));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Allow, vec![(SerialRequests, Weight::Advice)]));
}

#[test]
fn one_serial_replica_of_two_is_not_most() {
    let seen = serving(&[starved_gpu(); 2], &[server(1.0, 25.0), server(20.0, 25.0)]);

    assert_eq!(lean(&seen), Lean::Allow);
}

fn kv(kv: f64, waiting: f64) -> ServerEvidence {
    ServerEvidence { kv: exact(kv), ..server(40.0, waiting) }
}

#[test]
fn a_full_kv_cache_speaks_for_more_gpus_and_is_said() {
    let opinion = judge(&serving(&[gpu(0.65, 0.3, 0.35, 0.05)], &[kv(0.95, 12.0)]));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Allow, vec![(KvPressure, Weight::Either)]));
    let usage = Measure { what: Quantity::KvUsage, value: 0.95, threshold: Some(0.9) };
    assert_eq!(value(&opinion, Quantity::KvUsage), Some(usage));
}

/// The trap of prefix caching: a cache is there to be full.
#[test]
fn a_full_kv_cache_alone_says_nothing_while_none_waits() {
    let rules = |server| found(&judge(&serving(&[gpu(0.65, 0.3, 0.35, 0.05)], &[server])));

    assert_eq!(rules(kv(0.97, 0.0)), []);
    assert_eq!(rules(kv(0.89, 12.0)), []);
    let thrown_out = ServerEvidence { preemptions: exact(0.01), ..kv(0.5, 0.0) };
    assert_eq!(rules(thrown_out), [(KvPressure, Weight::Either)]);
    let once_an_hour = ServerEvidence { preemptions: exact(1.0 / 3_600.0), ..kv(0.5, 0.0) };
    assert_eq!(rules(once_an_hour), []);
}

/// Truth table, row 7: one hot replica, the others idle.
#[test]
fn a_queue_at_one_replica_beside_idle_ones_is_a_router_at_fault() {
    let spread = [server(40.0, 30.0), server(0.1, 0.0), server(0.0, 0.0), server(12.0, 0.2)];
    let opinion = judge(&serving(&[busy_gpu(), starved_gpu(), starved_gpu(), busy_gpu()], &spread));

    assert_eq!(opinion.lean, Lean::Refuse(Imbalance));
    let fullest = Measure { what: Quantity::RequestsWaitingMost, value: 30.0, threshold: Some(4.0) };
    assert_eq!(value(&opinion, Quantity::RequestsWaitingMost), Some(fullest));
    assert_eq!(value(&opinion, Quantity::ServersIdle).map(|idle| idle.value), Some(2.0));
}

#[test]
fn an_uneven_queue_is_no_imbalance_while_every_replica_works() {
    let at = |servers: &[ServerEvidence]| lean(&serving(&vec![busy_gpu(); servers.len()], servers));
    let hot = server(40.0, 30.0);

    assert_eq!(at(&[hot, server(40.0, 0.0), server(38.0, 1.0)]), Lean::Allow, "none is idle");
    assert_eq!(at(&[hot, server(4.0, 0.0)]), Lean::Allow, "four fill a small GPU");
    assert_eq!(at(&[hot, server(3.9, 0.0)]), Lean::Refuse(Imbalance), "fewer are what does not stick");
    assert_eq!(at(&[server(8.0, 30.0), server(2.0, 0.0)]), Lean::Allow, "a quarter of what runs at the other is work");
    assert_eq!(at(&[server(8.0, 30.0), server(1.9, 0.0)]), Lean::Refuse(Imbalance));
    assert_eq!(at(&[hot, hot, server(40.0, 25.0), server(0.0, 0.0)]), Lean::Allow, "most queue");
    assert_eq!(at(&[server(40.0, 3.9), server(0.0, 0.0)]), Lean::Allow, "hardly a queue");
    assert_eq!(at(&[hot, ServerEvidence::default()]), Lean::Allow, "a replica that says nothing is not idle");
    let says_nothing = [ServerEvidence::default(); 3];
    assert_eq!(at(&[&[hot, server(0.0, 0.0)][..], &says_nothing[..]].concat()), Lean::Allow, "nor is it behind");
    assert_eq!(at(&[hot]), Lean::Allow);
}

/// Two large GPUs beside two small ones: what is little for the large is all that a small one holds.
#[test]
fn a_small_gpu_that_is_full_rests_as_little_as_a_large_one() {
    let servers = [server(256.0, 30.0), server(256.0, 30.0), server(32.0, 0.2), server(32.0, 0.2)];

    assert_eq!(lean(&serving(&[busy_gpu(); 4], &servers)), Lean::Allow);
}

/// The longest queue may be at any replica that does not tell its own: there hardly anything may run.
#[test]
fn a_queue_that_is_lost_may_be_the_longest_one() {
    let (long, short, rest) = (server(2.0, 40.0), server(200.0, 20.0), server(3.0, 0.0));
    let at = |servers: &[ServerEvidence]| lean(&serving(&[busy_gpu(); 4], servers));
    let silent = |server| ServerEvidence { waiting: None, ..server };

    assert_eq!(at(&[long, short, rest, rest]), Lean::Allow);
    assert_eq!(at(&[silent(long), short, rest, rest]), Lean::Allow);
    let gap = ServerEvidence { waiting: Span::of(&[40.0; 4], 10, f64::INFINITY), ..long };
    assert_eq!(at(&[gap, short, rest, rest]), Lean::Allow);
    assert_eq!(at(&[short, short, rest, rest]), Lean::Refuse(Imbalance));
    let unknown = ServerEvidence { running: None, ..short };
    assert_eq!(at(&[short, unknown, rest, rest]), Lean::Allow, "nobody knows what runs where as many wait");
}

/// Truth table, row 11: on a shared card the values are nobody's, and what a server counts there may be a neighbour's doing.
#[test]
fn imbalance_that_servers_count_on_shared_gpus_only_advises() {
    let seen = serving(&[busy_gpu(); 2], &[server(40.0, 30.0), server(0.0, 0.0)]);

    assert_eq!(lean(&seen), Lean::Refuse(Imbalance), "the control");
    assert_eq!(
        (lean(&on_shared(&seen)), found(&judge(&on_shared(&seen)))),
        (Lean::Allow, vec![(Imbalance, Weight::Advice)])
    );
}

/// vllm PR #18354, gateway-api-inference-extension PR #1905: a renamed metric reads as nothing, which is no case.
#[test]
fn a_server_that_says_nothing_makes_no_case() {
    let rules = |class| {
        let seen = Evidence { servers: vec![ServerEvidence::default()], ..evidence(class, &[busy_gpu()], &[cpu(1.0)]) };
        judge(&seen).findings.iter().map(|finding| finding.rule).collect::<Vec<RuleName>>()
    };

    assert_eq!(rules(Class::Inference), [Saturated, AddingJustified]);
    assert_eq!(rules(Class::Training), [Saturated, AddingJustified]);
}
