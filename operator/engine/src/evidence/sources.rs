//! Which sources a workload's evidence had, so that a restart of the operator does not forget what was lost since.

use super::{Evidence, GpuEvidence, ServerEvidence, TrainerEvidence};
use serde::{Deserialize, Serialize};

/// What was measured at an evaluation, or within a day before it; one bit a source, in the order of [`gpu`] and [`pod`],
/// which is written in status and only grows at its end. None where nothing was there to measure it of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources(Option<u16>, Option<u16>);

/// A source: whether it is there, and whether it is known to be lost.
type Source<'a> = (bool, &'a mut bool);

fn gpu(gpu: &mut GpuEvidence) -> Vec<Source<'_>> {
    vec![
        (gpu.engine.is_some(), &mut gpu.engine_lost),
        (gpu.sm.is_some(), &mut gpu.sm_lost),
        (gpu.dram.is_some(), &mut gpu.dram_lost),
        (gpu.tensor.is_some(), &mut gpu.tensor_lost),
        (gpu.power.is_some(), &mut gpu.power_lost),
    ]
}

/// A pod's server and trainer.
fn pod<'a>(server: &'a mut ServerEvidence, trainer: &'a mut TrainerEvidence) -> Vec<Source<'a>> {
    vec![
        (server.kv.is_some(), &mut server.kv_lost),
        (server.progress.is_some(), &mut server.progress_lost),
        (server.first_token_seconds.is_some(), &mut server.first_token_lost),
        (trainer.data_wait_seconds.is_some(), &mut trainer.data_wait_lost),
        (trainer.throughput.is_some(), &mut trainer.throughput_lost),
        (trainer.loss.is_some(), &mut trainer.loss_lost),
        (trainer.quality.is_some(), &mut trainer.quality_lost),
    ]
}

fn bits(sources: Vec<Source<'_>>) -> u16 {
    let known = sources.into_iter().enumerate().filter(|(_, (there, lost))| *there || **lost);
    known.fold(0, |bits, (place, _)| bits | 1 << place)
}

fn lose(sources: Vec<Source<'_>>, known: u16) {
    for (place, (there, lost)) in sources.into_iter().enumerate() {
        *lost |= !there && known & (1 << place) != 0;
    }
}

impl Sources {
    /// Of `seen`: what any of its GPUs and any of its pods has or had lately.
    pub fn of(seen: &Evidence) -> Self {
        let gpus = seen.gpus.iter().map(|one| bits(gpu(&mut { *one })));
        let pods = seen.servers.iter().zip(&seen.trainers).map(|(server, trainer)| {
            let (mut server, mut trainer) = (*server, *trainer);
            bits(pod(&mut server, &mut trainer))
        });
        Self(gpus.reduce(|all, one| all | one), pods.reduce(|all, one| all | one))
    }

    /// What is known after a look that saw `self`: where it saw nothing to measure, what was known before it.
    #[must_use]
    pub fn or(self, before: Self) -> Self {
        Self(self.0.or(before.0), self.1.or(before.1))
    }

    /// Without what pods said: others are made from the template now.
    #[must_use]
    pub const fn of_gpus(self) -> Self {
        Self(self.0, None)
    }

    /// Nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none() && self.1.is_none()
    }
}

impl Evidence {
    /// Marks as lost what was `known` of the workload and is missing.
    pub fn lose(&mut self, known: Sources) {
        for one in &mut self.gpus {
            lose(gpu(one), known.0.unwrap_or(0));
        }
        for (server, trainer) in self.servers.iter_mut().zip(&mut self.trainers) {
            lose(pod(server, trainer), known.1.unwrap_or(0));
        }
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
        Evidence { servers, trainers, ..evidence(Class::Inference, gpus, &[]) }
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
    fn it_is_written_as_two_numbers() {
        let known = Sources::of(&seen(&[GpuEvidence { power: None, ..busy_gpu() }], &says()));

        assert_eq!(serde_json::to_string(&known).unwrap(), "[15,1]");
        assert_eq!(serde_json::to_string(&known.of_gpus()).unwrap(), "[15,null]");
    }
}
