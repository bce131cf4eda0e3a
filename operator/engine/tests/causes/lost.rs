//! A source that was seen within a day and is missing now: what it would have to speak against is unknown, neither refused nor
//! allowed.

use super::{cpu, exact, gpu, lean, lost_for, server, serving, training};
use wellfed_engine::evidence::{
    ContainerEvidence, Evidence, GpuEvidence, OwnEvidence, ServerEvidence, Source, TrainerEvidence, Trend,
};
use wellfed_engine::explain;
use wellfed_engine::opinion::{Gap, Lean};
use wellfed_engine::rules::RuleName::{
    self, CommunicationBound, DataLoader, HostDeviceTransfer, LatencyNotQueueBound, LaunchBound, MemoryBound,
    RunNotProgressing, SerialRequests, Stalled,
};
use wellfed_engine::testing::busy_gpu;

/// What refuses, and the same with one source lost.
struct Case {
    rule: RuleName,
    source: Source,
    refused: Evidence,
    lost: Evidence,
}

fn gpus(rule: RuleName, source: Source, refused: Evidence, without: fn(&mut GpuEvidence)) -> Case {
    let mut lost = refused.clone();
    lost.gpus.iter_mut().for_each(without);
    Case { rule, source, refused, lost }
}

fn servers(rule: RuleName, source: Source, refused: Evidence, without: fn(&mut ServerEvidence)) -> Case {
    let mut lost = refused.clone();
    lost.servers.iter_mut().for_each(without);
    Case { rule, source, refused, lost }
}

fn trainers(rule: RuleName, source: Source, refused: Evidence, without: fn(&mut TrainerEvidence)) -> Case {
    let mut lost = refused.clone();
    lost.trainers.iter_mut().for_each(without);
    Case { rule, source, refused, lost }
}

fn own(rule: RuleName, source: Source, refused: Evidence, without: fn(&mut OwnEvidence)) -> Case {
    let mut lost = refused.clone();
    without(&mut lost.own);
    Case { rule, source, refused, lost }
}

fn lose_sm(gpu: &mut GpuEvidence) {
    (gpu.sm, gpu.sm_lost) = (None, true);
}

fn lose_dram(gpu: &mut GpuEvidence) {
    (gpu.dram, gpu.dram_lost) = (None, true);
}

fn lose_tensor(gpu: &mut GpuEvidence) {
    (gpu.tensor, gpu.tensor_lost) = (None, true);
}

fn hung() -> GpuEvidence {
    GpuEvidence { power: exact(0.2), nvlink: exact(0.01), pcie: exact(0.0), ..gpu(1.0, 0.04, 0.0, 0.0) }
}

fn hanging() -> Evidence {
    let container = ContainerEvidence { network: exact(1e6), ..cpu(1.0) };
    let trainer = TrainerEvidence { throughput: exact(0.0), steps: exact(0.0), ..TrainerEvidence::default() };
    let own = OwnEvidence { throughput: exact(0.0), ..OwnEvidence::default() };
    Evidence { containers: vec![container; 4], trainers: vec![trainer; 4], own, ..training(&[hung(); 4]) }
}

fn serial() -> Evidence {
    let server = ServerEvidence { kv: exact(0.2), ..server(1.0, 25.0) };
    serving(&[gpu(0.9, 0.4, 0.6, 0.05)], &[server])
}

fn plateau() -> Evidence {
    let moved = |first, last| Some(Trend::Moved { first, last });
    let trainer =
        TrainerEvidence { loss: moved(2.0, 1.9995), quality: moved(0.7, 0.7001), ..TrainerEvidence::default() };
    Evidence { trainers: vec![trainer; 4], ..training(&[busy_gpu(); 4]) }
}

fn late() -> Evidence {
    let server = ServerEvidence {
        kv: exact(0.02),
        queue_seconds: exact(0.05),
        first_token_seconds: exact(0.5),
        whole_seconds: exact(6.0),
        ..server(1.2, 0.1)
    };
    Evidence { slo_breached: true, ..serving(&[gpu(0.8, 0.3, 0.6, 0.05)], &[server]) }
}

fn waiting() -> Evidence {
    let trainer =
        TrainerEvidence { step_seconds: exact(1.0), data_wait_seconds: exact(0.4), ..TrainerEvidence::default() };
    Evidence { trainers: vec![trainer; 4], containers: vec![cpu(6.0); 4], ..training(&[gpu(0.9, 0.3, 0.2, 0.1); 4]) }
}

fn spinning() -> Evidence {
    let gpu = GpuEvidence { nvlink: exact(0.4), memory: exact(0.6), ..gpu(0.95, 0.2, 0.2, 0.08) };
    training(&[gpu; 8])
}

fn copying() -> Evidence {
    training(&[GpuEvidence { pcie_rx: exact(3e9), ..gpu(0.4, 0.2, 0.1, 0.1) }; 2])
}

/// Beside a CPU that launches nothing.
fn crammed() -> Evidence {
    let full = GpuEvidence { memory: exact(0.97), ..gpu(0.7, 0.3, 0.2, 0.1) };
    Evidence { containers: vec![cpu(0.5); 2], ..training(&[full; 2]) }
}

fn cases_of_gpus() -> Vec<Case> {
    let launching = || training(&[gpu(0.6, 0.15, 0.1, 0.05); 2]);
    vec![
        gpus(Stalled, Source::Sms, hanging(), lose_sm),
        gpus(Stalled, Source::Power, hanging(), |gpu| (gpu.power, gpu.power_lost) = (None, true)),
        gpus(Stalled, Source::Links, hanging(), |gpu| (gpu.nvlink, gpu.nvlink_lost) = (None, true)),
        gpus(Stalled, Source::Links, hanging(), |gpu| (gpu.pcie, gpu.pcie_lost) = (None, true)),
        gpus(MemoryBound, Source::Sms, crammed(), lose_sm),
        gpus(MemoryBound, Source::MemoryBandwidth, crammed(), lose_dram),
        gpus(MemoryBound, Source::TensorPipe, crammed(), lose_tensor),
        gpus(LaunchBound, Source::Sms, launching(), lose_sm),
        gpus(LaunchBound, Source::MemoryBandwidth, launching(), lose_dram),
        gpus(LaunchBound, Source::TensorPipe, launching(), lose_tensor),
        gpus(CommunicationBound, Source::Sms, spinning(), lose_sm),
        gpus(HostDeviceTransfer, Source::Sms, copying(), lose_sm),
        gpus(DataLoader, Source::Sms, waiting(), lose_sm),
        gpus(SerialRequests, Source::Sms, serial_in_fp32(), lose_sm),
        gpus(SerialRequests, Source::TensorPipe, serial(), lose_tensor),
        gpus(LatencyNotQueueBound, Source::TensorPipe, late(), lose_tensor),
    ]
}

/// SMs that are not full tell it from one that fills the GPU.
fn serial_in_fp32() -> Evidence {
    serving(&[gpu(0.9, 0.4, 0.1, 0.05)], &[server(1.0, 25.0)])
}

fn cases_of_software() -> Vec<Case> {
    let counting = || {
        let server = ServerEvidence { progress: exact(0.0), ..server(8.0, 9.0) };
        Evidence { servers: vec![server; 4], ..hanging() }
    };
    let mut network = hanging();
    network.containers.iter_mut().for_each(|one| (one.network, one.network_lost) = (None, true));
    let network = Case { rule: Stalled, source: Source::Links, refused: hanging(), lost: network };
    let first_token = || {
        let mut seen = late();
        seen.servers.iter_mut().for_each(|one| one.whole_seconds = exact(0.6));
        seen
    };
    vec![
        network,
        servers(SerialRequests, Source::KvCache, serial(), |one| (one.kv, one.kv_lost) = (None, true)),
        servers(Stalled, Source::Answers, counting(), |one| (one.progress, one.progress_lost) = (None, true)),
        servers(LatencyNotQueueBound, Source::KvCache, late(), |one| (one.kv, one.kv_lost) = (None, true)),
        servers(LatencyNotQueueBound, Source::FirstToken, first_token(), |one| {
            (one.first_token_seconds, one.first_token_lost) = (None, true);
        }),
        trainers(Stalled, Source::Throughput, hanging(), |one| (one.throughput, one.throughput_lost) = (None, true)),
        trainers(Stalled, Source::Steps, hanging(), |one| (one.steps, one.steps_lost) = (None, true)),
        trainers(Stalled, Source::Loss, hanging(), |one| one.loss_lost = true),
        trainers(Stalled, Source::Quality, hanging(), |one| one.quality_lost = true),
        trainers(RunNotProgressing, Source::Loss, plateau(), |one| (one.loss, one.loss_lost) = (None, true)),
        trainers(RunNotProgressing, Source::Quality, plateau(), |one| (one.quality, one.quality_lost) = (None, true)),
        own(Stalled, Source::Throughput, hanging(), |own| (own.throughput, own.throughput_lost) = (None, true)),
        own(Stalled, Source::Loss, hanging(), |own| own.progress_lost = true),
        own(Stalled, Source::Quality, hanging(), |own| own.quality_lost = true),
    ]
}

/// Kills: `fill` without one of its sources, `hides` that is not asked.
#[test]
fn what_a_lost_source_may_speak_against_is_unknown() {
    for Case { rule, source, refused, lost } in cases_of_gpus().into_iter().chain(cases_of_software()) {
        assert_eq!(lean(&refused), Lean::Refuse(rule), "{rule} with {source}");
        assert_eq!(lean(&lost), lost_for(rule, source), "{rule} without {source}");
    }
}

/// Kills: `unopposed` that fills one source at a time only.
#[test]
fn several_that_are_lost_together_hide_as_much() {
    let mut seen = hanging();
    seen.gpus.iter_mut().for_each(|gpu| {
        lose_sm(gpu);
        (gpu.power, gpu.power_lost) = (None, true);
    });

    assert_eq!(lean(&seen), lost_for(Stalled, Source::Sms));
}

#[test]
fn what_is_lost_is_not_missed_where_something_else_speaks_against_the_cause() {
    let mut busy = training(&[busy_gpu(); 4]);
    busy.gpus.iter_mut().for_each(lose_sm);
    assert_eq!(lean(&busy), Lean::Allow, "at work by its pipes");
    let mut served = serial();
    served.servers.iter_mut().for_each(|one| (one.kv, one.kv_lost, one.running) = (None, true, exact(20.0)));
    assert_eq!(lean(&served), Lean::Allow, "many run");
    let mut moving = plateau();
    moving.trainers.iter_mut().for_each(|one| {
        (one.quality, one.quality_lost) = (None, true);
        one.loss = Some(Trend::Moved { first: 2.0, last: 1.9 });
    });
    assert_eq!(lean(&moving), Lean::Allow, "the loss falls");
}

#[test]
fn another_cause_refuses_all_the_same() {
    let mut seen = serial();
    seen.servers.iter_mut().for_each(|one| (one.kv, one.kv_lost) = (None, true));
    seen.containers.iter_mut().for_each(|one| one.exits.gpu_memory = 1);

    assert_eq!(lean(&seen), Lean::Refuse(RuleName::GpuOutOfMemory));
}

#[test]
fn a_person_is_told_what_is_missing_and_what_may_hold() {
    let gap = Gap::SourceLost { rule: SerialRequests, source: Source::KvCache };

    assert_eq!(
        explain::gap(gap),
        "SerialRequests may hold: KV cache usage, which was seen within the last day and would tell, is missing: \
         bring it back, or wait a day"
    );
}
