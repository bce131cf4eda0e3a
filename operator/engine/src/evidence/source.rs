//! What may be lost: a source that was there within a day and is missing now may have spoken against a cause.

use super::Evidence;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A source whose loss the evidence tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// SMs at work.
    Sms,
    /// Memory bandwidth in use.
    MemoryBandwidth,
    /// Tensor pipe in use.
    TensorPipe,
    /// Power drawn.
    Power,
    /// Traffic over `NVLink`, `PCIe` or the network.
    Links,
    /// KV cache in use.
    KvCache,
    /// Tokens or answers of a server.
    Answers,
    /// Time to the first token.
    FirstToken,
    /// Work done a second by a trainer, or by the workload's own signal of role `Throughput`.
    Throughput,
    /// Steps of a trainer.
    Steps,
    /// The loss, or the signal of role `Progress`.
    Loss,
    /// The evaluation, or the signal of role `Quality`.
    Quality,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Sms,
        Self::MemoryBandwidth,
        Self::TensorPipe,
        Self::Power,
        Self::Links,
        Self::KvCache,
        Self::Answers,
        Self::FirstToken,
        Self::Throughput,
        Self::Steps,
        Self::Loss,
        Self::Quality,
    ];

    /// Whether it is lost of any GPU, container, server or trainer, or of the workload's own signals.
    pub fn is_lost(self, seen: &Evidence) -> bool {
        let (gpus, servers, trainers, own) = (&seen.gpus, &seen.servers, &seen.trainers, &seen.own);
        match self {
            Self::Sms => gpus.iter().any(|gpu| gpu.sm_lost),
            Self::MemoryBandwidth => gpus.iter().any(|gpu| gpu.dram_lost),
            Self::TensorPipe => gpus.iter().any(|gpu| gpu.tensor_lost),
            Self::Power => gpus.iter().any(|gpu| gpu.power_lost),
            Self::Links => {
                gpus.iter().any(|gpu| gpu.nvlink_lost || gpu.pcie_lost)
                    || seen.containers.iter().any(|one| one.network_lost || one.rdma_lost)
            }
            Self::KvCache => servers.iter().any(|server| server.kv_lost),
            Self::Answers => servers.iter().any(|server| server.progress_lost),
            Self::FirstToken => servers.iter().any(|server| server.first_token_lost),
            Self::Throughput => own.throughput_lost || trainers.iter().any(|one| one.throughput_lost),
            Self::Steps => trainers.iter().any(|one| one.steps_lost),
            Self::Loss => own.progress_lost || trainers.iter().any(|one| one.loss_lost),
            Self::Quality => own.quality_lost || trainers.iter().any(|one| one.quality_lost),
        }
    }
}

/// As it stands in a sentence.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sms => "SM activity",
            Self::MemoryBandwidth => "memory bandwidth",
            Self::TensorPipe => "tensor pipe activity",
            Self::Power => "power",
            Self::Links => "link traffic",
            Self::KvCache => "KV cache usage",
            Self::Answers => "the server's count of tokens or answers",
            Self::FirstToken => "the time to the first token",
            Self::Throughput => "work done a second",
            Self::Steps => "the trainer's count of steps",
            Self::Loss => "the loss",
            Self::Quality => "the evaluation",
        })
    }
}
