//! Which sources a workload's evidence had, so that a restart of the operator does not forget what was lost since.

use super::{ContainerEvidence, Evidence, GpuEvidence, OwnEvidence, ServerEvidence, TrainerEvidence};
use serde::{Deserialize, Serialize};

/// What was measured at an evaluation, or within a day before it; one bit a source, in the order of [`gpu`], [`pod`] and
/// [`own`], which is written in status and only grows at its end. Of GPUs and pods none where nothing was there to measure it
/// of; its own signals a workload has whatever runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources(Option<u16>, Option<u16>, #[serde(default, skip_serializing_if = "is_none")] u16);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_none(bits: &u16) -> bool {
    *bits == 0
}

/// A source: whether it is there, and whether it is known to be lost.
type Source<'a> = (bool, &'a mut bool);

const fn gpu(gpu: &mut GpuEvidence) -> [Source<'_>; 8] {
    [
        (gpu.engine.is_some(), &mut gpu.engine_lost),
        (gpu.sm.is_some(), &mut gpu.sm_lost),
        (gpu.dram.is_some(), &mut gpu.dram_lost),
        (gpu.tensor.is_some(), &mut gpu.tensor_lost),
        (gpu.power.is_some(), &mut gpu.power_lost),
        (gpu.nvlink.is_some(), &mut gpu.nvlink_lost),
        (gpu.pcie.is_some(), &mut gpu.pcie_lost),
        (gpu.lanes_most.is_some(), &mut gpu.lanes_most_lost),
    ]
}

/// A pod's server, trainer and container.
const fn pod<'a>(
    server: &'a mut ServerEvidence,
    trainer: &'a mut TrainerEvidence,
    container: &'a mut ContainerEvidence,
) -> [Source<'a>; 11] {
    [
        (server.kv.is_some(), &mut server.kv_lost),
        (server.progress.is_some(), &mut server.progress_lost),
        (server.first_token_seconds.is_some(), &mut server.first_token_lost),
        (trainer.data_wait_seconds.is_some(), &mut trainer.data_wait_lost),
        (trainer.throughput.is_some(), &mut trainer.throughput_lost),
        (trainer.loss.is_some(), &mut trainer.loss_lost),
        (trainer.quality.is_some(), &mut trainer.quality_lost),
        (trainer.steps.is_some(), &mut trainer.steps_lost),
        (container.io_pressure.is_some(), &mut container.io_pressure_lost),
        (container.network.is_some(), &mut container.network_lost),
        (container.network_of_peak.is_some(), &mut container.network_peak_lost),
    ]
}

/// The workload's own signals.
const fn own(own: &mut OwnEvidence) -> [Source<'_>; 3] {
    [
        (own.throughput.is_some(), &mut own.throughput_lost),
        (own.progress.is_some(), &mut own.progress_lost),
        (own.quality.is_some(), &mut own.quality_lost),
    ]
}

fn bits<'a>(sources: impl IntoIterator<Item = Source<'a>>) -> u16 {
    let known = sources.into_iter().enumerate().filter(|(_, (there, lost))| *there || **lost);
    known.fold(0, |bits, (place, _)| bits | 1 << place)
}

fn lose<'a>(sources: impl IntoIterator<Item = Source<'a>>, known: u16) {
    for (place, (there, lost)) in sources.into_iter().enumerate() {
        *lost |= !there && known & (1 << place) != 0;
    }
}

impl Sources {
    /// Of `seen`: what any of its GPUs, any of its pods and the workload itself has or had lately.
    pub fn of(seen: &Evidence) -> Self {
        let gpus = seen.gpus.iter().map(|one| bits(gpu(&mut { *one })));
        let pods = seen.servers.iter().zip(&seen.trainers).zip(&seen.containers);
        let pods = pods
            .map(|((server, trainer), container)| bits(pod(&mut { *server }, &mut { *trainer }, &mut { *container })));
        let own = bits(own(&mut { seen.own }));
        Self(gpus.reduce(|all, one| all | one), pods.reduce(|all, one| all | one), own)
    }

    /// What is known after a look that saw `self`: where it saw nothing to measure, what was known before it.
    #[must_use]
    pub fn or(self, before: Self) -> Self {
        Self(self.0.or(before.0), self.1.or(before.1), self.2)
    }

    /// Without what pods said: others are made from the template now.
    #[must_use]
    pub const fn without_pods(self) -> Self {
        Self(self.0, None, self.2)
    }

    /// Nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none() && self.1.is_none() && self.2 == 0
    }
}

impl Evidence {
    /// Marks as lost what was `known` of the workload and is missing.
    pub fn lose(&mut self, known: Sources) {
        for one in &mut self.gpus {
            lose(gpu(one), known.0.unwrap_or(0));
        }
        let pods = self.servers.iter_mut().zip(&mut self.trainers).zip(&mut self.containers);
        for ((server, trainer), container) in pods {
            lose(pod(server, trainer, container), known.1.unwrap_or(0));
        }
        lose(own(&mut self.own), known.2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Class;
    use crate::span::Span;
    use crate::testing::{busy_gpu, evidence};

    fn seen(gpus: &[GpuEvidence], server: &ServerEvidence) -> Evidence {
        let (servers, trainers) = (vec![*server], vec![TrainerEvidence::default()]);
        Evidence { servers, trainers, ..evidence(Class::Inference, gpus, &[ContainerEvidence::default()]) }
    }

    fn says() -> ServerEvidence {
        ServerEvidence { kv: Some(Span::exact(0.5)), ..ServerEvidence::default() }
    }

    #[test]
    fn what_was_known_and_is_missing_is_lost_and_what_never_was_is_not() {
        let known = Sources::of(&seen(&[GpuEvidence { power: None, ..busy_gpu() }], &says()));
        let gpu = GpuEvidence { sm: None, power: None, ..busy_gpu() };
        let mut now = seen(&[gpu], &ServerEvidence::default());

        now.lose(known);

        let (gpu, server) = (now.gpus[0], now.servers[0]);
        assert_eq!((gpu.sm_lost, gpu.power_lost, gpu.engine_lost), (true, false, false));
        assert_eq!((server.kv_lost, server.progress_lost), (true, false));
        assert_eq!(Sources::of(&now), known, "what is lost is still known");
    }

    /// Each of these tells, while it is there, that work goes on or that another explanation holds.
    #[test]
    fn links_steps_and_the_waits_of_containers_are_missed_too() {
        let some = Some(Span::exact(0.5));
        let gpu = GpuEvidence { nvlink: some, pcie: some, lanes_most: Some(16.0), ..busy_gpu() };
        let container = ContainerEvidence {
            io_pressure: some,
            network: some,
            network_of_peak: some,
            ..ContainerEvidence::default()
        };
        let trainer = TrainerEvidence { steps: some, ..TrainerEvidence::default() };
        let with = |gpu, container, trainer| Evidence {
            containers: vec![container],
            trainers: vec![trainer],
            ..seen(&[gpu], &ServerEvidence::default())
        };
        let known = Sources::of(&with(gpu, container, trainer));
        let mut now = with(busy_gpu(), ContainerEvidence::default(), TrainerEvidence::default());

        now.lose(known);

        let (gpu, container) = (now.gpus[0], now.containers[0]);
        assert_eq!([gpu.nvlink_lost, gpu.pcie_lost, gpu.lanes_most_lost], [true; 3]);
        assert_eq!([container.io_pressure_lost, container.network_lost, container.network_peak_lost], [true; 3]);
        assert!(now.trainers[0].steps_lost);
        assert_eq!(Sources::of(&now), known, "what is lost is still known");
    }

    #[test]
    fn the_workloads_own_signals_are_missed_whatever_its_pods_are_made_from() {
        let says = OwnEvidence { throughput: Some(Span::exact(5.0)), progress_lost: true, ..OwnEvidence::default() };
        let known = Sources::of(&Evidence { own: says, ..evidence(Class::Training, &[], &[]) });
        let mut now = evidence(Class::Training, &[], &[]);

        now.lose(known.without_pods());

        assert_eq!((now.own.throughput_lost, now.own.progress_lost, now.own.quality_lost), (true, true, false));
        assert_eq!(Sources::of(&now), known, "what is lost is still known");
        let forgotten = Sources::of(&evidence(Class::Training, &[], &[])).or(known);
        assert!(forgotten.is_empty(), "after a day nobody misses it");
    }

    #[test]
    fn a_look_at_nothing_forgets_nothing_and_a_look_without_a_source_forgets_it() {
        let known = Sources::of(&seen(&[busy_gpu()], &says()));
        let blind = Sources::of(&evidence(Class::Inference, &[], &[]));
        let dull = Sources::of(&seen(&[GpuEvidence { sm: None, ..busy_gpu() }], &ServerEvidence::default()));

        assert_eq!((blind.is_empty(), blind.or(known)), (true, known));
        assert_ne!(dull.or(known), known);
        assert_eq!(dull.or(known), dull);
    }

    /// The order is kept in status.
    #[test]
    fn it_is_written_as_two_numbers_and_a_third_where_the_workload_speaks_for_itself() {
        let known = Sources::of(&seen(&[GpuEvidence { power: None, ..busy_gpu() }], &says()));
        let quality = OwnEvidence { quality_lost: true, ..OwnEvidence::default() };
        let speaks = Sources::of(&Evidence { own: quality, ..evidence(Class::Training, &[busy_gpu()], &[]) });

        for (sources, text) in
            [(known, "[15,1]"), (known.without_pods(), "[15,null]"), (speaks, "[15,null,4]"), (known, "[15,1,0]")]
        {
            assert_eq!(serde_json::from_str::<Sources>(text).unwrap(), sources);
        }
        assert_eq!(
            serde_json::to_string(&[known, known.without_pods(), speaks]).unwrap(),
            "[[15,1],[15,null],[15,null,4]]"
        );
    }
}
