//! Every row of the table of remedies by name: one that is lost, renamed, moved or added shows here.

use wellfed_engine::remedies::all;

/// Each finding with the settings of its remedies, best first.
const LISTED: &[(&str, &[&str])] = &[
    ("AddingJustified", &["more replicas"]),
    (
        "BandwidthBound",
        &[
            "larger batch",
            "quantised weights: INT8, AWQ or GPTQ",
            "FlashAttention",
            "fused operations",
            "speculative decoding",
            "INT4 weights, with care",
            "pruning",
            "distillation",
            "when quality falls: sensitive layers",
            "when quality falls: recalibration",
            "when quality falls: quantisation-aware training (QAT)",
        ],
    ),
    (
        "CommunicationBound",
        &[
            "topology-aware placement",
            "gradient accumulation",
            "overlap",
            "check NCCL",
            "gradient compression",
            "tensor parallelism within one node",
        ],
    ),
    (
        "CpuStage",
        &[
            "scale the CPU stage apart",
            "batched and cached tokenisation",
            "CPU limit of the GPU container",
            "CPU limit of the GPU container",
        ],
    ),
    (
        "DataLoader",
        &[
            "DataLoader num_workers",
            "CPU limit of the GPU container",
            "DataLoader prefetch_factor",
            "pinned memory",
            "batched and cached tokenisation",
            "transforms on the GPU",
            "NVIDIA DALI",
            "tokenise and decode in processes of their own",
        ],
    ),
    ("GenerationCapTooHigh", &["max_tokens of the requests", "stop sequences", "beam size"]),
    (
        "GpuOutOfMemory",
        &[
            "activation checkpointing",
            "ZeRO-2, then ZeRO-3 or FSDP",
            "allocator",
            "empty_cache seldom",
            "smaller micro-batch, last",
            "memory that the server takes: vLLM --gpu-memory-utilization, --max-model-len, --max-num-seqs",
            "quantised weights",
            "tensor parallelism",
        ],
    ),
    ("HostDeviceTransfer", &["move once, stay on the GPU", "pinned memory", "smaller copies", "CPU offload"]),
    ("Imbalance", &["route by queue", "session affinity and long connections"]),
    (
        "KvPressure",
        &[
            "maximum length: vLLM --max-model-len, and max_tokens of the requests",
            "prefix caching: vLLM --enable-prefix-caching, SGLang's radix cache",
            "KV cache in FP8: vLLM --kv-cache-dtype fp8",
            "beam size",
        ],
    ),
    (
        "LatencyNotQueueBound",
        &[
            "quantised weights",
            "speculative decoding",
            "KV cache",
            "fused operations",
            "TensorRT-LLM, or TensorRT for models that answer at once",
            "tensor parallelism",
            "smaller model",
        ],
    ),
    ("LaunchBound", &["torch.compile", "CUDA graphs", "fused optimizer", "fused ops", "custom kernels, last"]),
    (
        "MemoryBound",
        &[
            "activation checkpointing",
            "FlashAttention",
            "8-bit optimizer",
            "ZeRO-2, then ZeRO-3 or FSDP",
            "LoRA, or QLoRA",
            "CPU offload, at its price",
            "tensor parallelism, where one layer does not fit",
            "smaller micro-batch, last",
        ],
    ),
    ("OversizedGpu", &["smaller class", "MIG", "smaller model"]),
    ("Padding", &["length bucketing", "packing", "continuous batching"]),
    (
        "PrecisionUnused",
        &[
            "automatic mixed precision in BF16",
            "automatic mixed precision (AMP) in FP16",
            "BF16 or FP16 weights",
            "TF32",
            "channels_last",
            "FP8, only where the card has it",
            "when quality falls: sensitive layers",
        ],
    ),
    (
        "RunNotProgressing",
        &[
            "restart from the last good checkpoint",
            "gradient clipping",
            "warm-up and cosine",
            "early stopping",
            "a small sweep first",
            "look at the last exits",
        ],
    ),
    ("ScaleOutIneffective", &["data first", "then communication", "then the CPU"]),
    (
        "SerialRequests",
        &[
            "PagedAttention and continuous batching",
            "dynamic batching, for models that answer at once",
            "batch limit: vLLM --max-num-seqs, SGLang --max-running-requests, Triton max_batch_size",
            "model instances a GPU: Triton instance_group count",
            "batch of the generation step",
        ],
    ),
    ("Stalled", &["find the rank that does not answer", "restart from the last checkpoint"]),
    (
        "StorageStall",
        &["data on the node", "large sequential files", "reads at once: DataLoader num_workers and prefetch_factor"],
    ),
    ("Straggler", &["replace the pod", "look at the slow GPU", "balance the ranks"]),
    ("Throttled", &["cooling and power of the node", "move the pods"]),
    (
        "Underused",
        &[
            "minReplicas",
            "fewer GPUs",
            "a schedule",
            "profile one step before adding GPUs",
            "empty_cache seldom",
            "share the GPU, or use a smaller one",
        ],
    ),
];

#[test]
fn every_remedy_is_the_one_that_is_listed_and_in_its_place() {
    let found: Vec<(&str, Vec<&str>)> =
        all().iter().map(|(finding, rows)| (*finding, rows.iter().map(|row| row.setting.as_str()).collect())).collect();
    let listed: Vec<(&str, Vec<&str>)> = LISTED.iter().map(|(finding, rows)| (*finding, rows.to_vec())).collect();

    for (found, listed) in found.iter().zip(&listed) {
        assert_eq!(found, listed);
    }
    assert_eq!(found.len(), listed.len());
    assert_eq!(found.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 114);
}
