//! The table of remedies holds what it should: each row is looked up by its finding and setting.

#![allow(clippy::panic, clippy::unwrap_used)] // a helper of a test fails it by panicking

use wellfed_engine::card::Generation;
use wellfed_engine::policy::Class::{self, Batch, Inference, Training};
use wellfed_engine::remedies::{Fill, Remedy, all, defect, remedies, remedies_against, restoring_quality};
use wellfed_engine::rules::RULES;

const CLASSES: [Class; 3] = [Training, Batch, Inference];

fn found(finding: &str, class: Class, setting: &str) -> Option<&'static Remedy> {
    remedies(finding, class).find(|remedy| remedy.setting.contains(setting))
}

/// Finding, class, setting, and what its value or gain must say.
type Row = (&'static str, Class, &'static str, &'static str);

fn has(rows: &[Row]) {
    for (finding, class, setting, says) in rows {
        let remedy = found(finding, *class, setting);
        assert!(remedy.is_some(), "{finding} has no remedy {setting:?} for {class:?}");
        let text = remedy.map(|it| format!("{} {} {}", it.setting, it.value, it.gain)).unwrap_or_default();
        assert!(text.contains(says), "{finding}, {setting}: {says:?} is not in {text:?}");
    }
}

#[test]
fn the_table_can_be_read() {
    assert_eq!(defect(), None);
    assert!(!all().is_empty());
}

#[test]
fn data_is_loaded_faster() {
    has(&[
        ("DataLoader", Training, "num_workers", "4–8 a GPU"),
        ("DataLoader", Training, "prefetch_factor", "≥ 2"),
        ("DataLoader", Training, "pinned memory", "pin_memory=True"),
        ("DataLoader", Training, "DALI", "DALI"),
        ("DataLoader", Training, "transforms on the GPU", "already there"),
        ("DataLoader", Training, "batched and cached tokenisation", "in batches"),
        ("CpuStage", Inference, "batched and cached tokenisation", "cache"),
        ("StorageStall", Training, "large sequential files", "WebDataset or TFRecord shards"),
        ("HostDeviceTransfer", Training, "move once, stay on the GPU", "once"),
    ]);
}

#[test]
fn compute_is_made_cheaper() {
    has(&[
        ("PrecisionUnused", Training, "BF16", "torch.autocast"),
        ("PrecisionUnused", Training, "AMP", "GradScaler"),
        ("PrecisionUnused", Training, "FP8, only where the card has it", "Hopper"),
        ("LaunchBound", Training, "torch.compile", "20–40 % for vision models, about 10 % for LLMs"),
        ("PrecisionUnused", Training, "channels_last", "10–20 %"),
        ("BandwidthBound", Training, "FlashAttention", "flash_attention_2"),
        ("MemoryBound", Training, "FlashAttention", "flash_attention_2"),
        ("LaunchBound", Training, "fused ops", "fused"),
        ("LaunchBound", Training, "custom kernels, last", "Triton or CUDA"),
    ]);
}

#[test]
fn communication_is_reduced_or_hidden() {
    has(&[
        ("CommunicationBound", Training, "gradient accumulation", "no_sync()"),
        ("CommunicationBound", Training, "overlap", "bucket_cap_mb"),
        ("CommunicationBound", Training, "gradient compression", "bf16_compress_hook"),
        ("CommunicationBound", Training, "topology-aware placement", "NVLink"),
    ]);
}

#[test]
fn memory_is_saved() {
    has(&[
        ("MemoryBound", Training, "activation checkpointing", "60 % less"),
        ("MemoryBound", Training, "ZeRO-2, then ZeRO-3 or FSDP", "stage 2"),
        ("MemoryBound", Training, "LoRA", "adapters"),
        ("MemoryBound", Training, "CPU offload, at its price", "offload_optimizer"),
        ("MemoryBound", Training, "tensor parallelism, where one layer does not fit", "the layer"),
        ("GpuOutOfMemory", Training, "empty_cache seldom", "not as a cure"),
        ("Underused", Training, "empty_cache seldom", "no torch.cuda.empty_cache() within a step"),
    ]);
    assert!(found("MemoryBound", Training, "CPU offload").unwrap().risk.contains("slower steps"), "its price is named");
}

#[test]
fn models_are_made_smaller() {
    has(&[
        ("BandwidthBound", Inference, "INT8, AWQ or GPTQ", "SmoothQuant"),
        ("BandwidthBound", Inference, "INT4 weights, with care", "groups of 128"),
        ("BandwidthBound", Inference, "pruning", "2:4"),
        ("BandwidthBound", Inference, "distillation", "student"),
        ("BandwidthBound", Inference, "sensitive layers", "BF16"),
        ("BandwidthBound", Inference, "(QAT)", "fine-tuning"),
        ("BandwidthBound", Inference, "recalibration", "real prompts"),
        ("LatencyNotQueueBound", Inference, "smaller model", "smallest"),
        ("OversizedGpu", Inference, "smaller model", "smallest"),
    ]);
}

#[test]
fn serving_does_more_at_once_and_less_for_nothing() {
    has(&[
        ("SerialRequests", Inference, "PagedAttention and continuous batching", "vLLM"),
        ("SerialRequests", Inference, "dynamic batching", "dynamic_batching"),
        ("LatencyNotQueueBound", Inference, "KV cache", "use_cache=True"),
        ("KvPressure", Inference, "KV cache in FP8", "fp8"),
        ("KvPressure", Inference, "maximum length", "near the longest real prompt and answer"),
        ("GenerationCapTooHigh", Inference, "max_tokens", "real answers"),
        ("GenerationCapTooHigh", Inference, "beam size", "1"),
        ("LatencyNotQueueBound", Inference, "speculative decoding", "draft model"),
        ("BandwidthBound", Inference, "speculative decoding", "draft model"),
        ("LatencyNotQueueBound", Inference, "TensorRT-LLM", "engine"),
        ("Padding", Inference, "length bucketing", "like length"),
        ("BandwidthBound", Inference, "larger batch", "KV cache is full"),
        ("OversizedGpu", Inference, "MIG", "seven"),
    ]);
}

#[test]
fn a_run_that_does_not_progress_is_stopped_or_set_right() {
    has(&[
        ("RunNotProgressing", Training, "early stopping", "evaluation"),
        ("RunNotProgressing", Training, "warm-up and cosine", "cosine"),
        ("RunNotProgressing", Training, "gradient clipping", "1.0"),
        ("RunNotProgressing", Training, "a small sweep first", "learning rate"),
    ]);
}

#[test]
fn the_first_remedy_is_the_one_to_begin_with() {
    let first = |finding, class| remedies(finding, class).next().map(|remedy| remedy.setting.as_str());

    assert_eq!(first("DataLoader", Training), Some("DataLoader num_workers"));
    assert_eq!(first("SerialRequests", Inference), Some("PagedAttention and continuous batching"));
    assert_eq!(first("MemoryBound", Training), Some("activation checkpointing"));
    assert_eq!(first("PrecisionUnused", Training), Some("automatic mixed precision in BF16"));
    assert_eq!(first("LatencyNotQueueBound", Inference), Some("quantised weights"));
}

#[test]
fn what_costs_most_care_comes_last() {
    let last = |finding, class| remedies(finding, class).last().map(|remedy| remedy.setting.as_str());
    let rank = |setting| found("BandwidthBound", Inference, setting).unwrap().rank;

    assert_eq!(last("LaunchBound", Training), Some("custom kernels, last"));
    assert_eq!(last("MemoryBound", Training), Some("smaller micro-batch, last"));
    assert!(rank("INT8, AWQ or GPTQ") < rank("INT4"));
    assert!(rank("INT4") < rank("pruning") && rank("pruning") < rank("distillation"));
}

#[test]
fn ranks_rise_from_one() {
    for (finding, rows) in all() {
        let ranks: Vec<_> = rows.iter().map(|remedy| remedy.rank).collect();
        let wanted: Vec<_> = (1..).take(rows.len()).collect();
        assert_eq!(ranks, wanted, "{finding}");
    }
}

#[test]
fn a_larger_batch_is_advised_only_where_decode_is_bound_by_bandwidth() {
    for (finding, rows) in all() {
        for remedy in rows.iter().filter(|remedy| remedy.setting.contains("larger batch")) {
            assert_eq!(*finding, "BandwidthBound");
            assert!(!remedy.classes.contains(&Training));
        }
    }
    for finding in ["MemoryBound", "GpuOutOfMemory"] {
        let grows = |remedy: &&Remedy| format!("{} {}", remedy.setting, remedy.value).contains("larger");
        assert_eq!(remedies(finding, Training).find(grows), None, "{finding}");
    }
}

#[test]
fn what_may_lower_precision_says_what_to_check_and_the_way_back() {
    let lowering = [
        "FP8",
        "FP16",
        "BF16",
        "TF32",
        "INT8",
        "INT4",
        "AWQ",
        "GPTQ",
        "8-bit",
        "LoRA",
        "pruning",
        "distillation",
        "smaller model",
        "compression",
        "quantised",
    ];
    for (finding, rows) in all() {
        for remedy in rows.iter().filter(|remedy| lowering.iter().any(|word| remedy.setting.contains(word))) {
            let precision = remedy.precision.as_ref();
            let named = precision.is_some_and(|precision| !precision.check.is_empty() && !precision.back.is_empty());
            assert!(named, "{finding}: {}", remedy.setting);
        }
    }
}

#[test]
fn the_line_that_status_shows_holds_the_way_back() {
    let line = found("KvPressure", Inference, "FP8").unwrap().to_string();

    assert_eq!(
        line,
        "KV cache in FP8: vLLM --kv-cache-dtype fp8: fp8, with calibrated scales where the model has them (about twice the requests \
         in the same memory; vLLM documentation, quantized KV cache); minutes; price: slightly lower quality; may lower precision: check the evaluation set and a sample of \
         real answers, before and after, long prompts among them; way back: --kv-cache-dtype auto"
    );
}

#[test]
fn the_line_says_how_long_it_takes_what_it_costs_and_whether_it_can_be_undone() {
    let line = |finding, setting| found(finding, Training, setting).unwrap().to_string();

    assert_eq!(
        line("Stalled", "restart from the last checkpoint"),
        "restart from the last checkpoint: all ranks, off the node that was found (ends the hang; docs/findings/Stalled.md); \
         minutes; cannot be undone; price: the work since the last checkpoint is lost"
    );
    assert!(line("MemoryBound", "tensor parallelism").ends_with("); days; price: an exchange in every layer"));
    assert!(line("PrecisionUnused", "channels_last").ends_with("); minutes"), "nothing to pay");
}

#[test]
fn results_that_got_worse_are_brought_back_whatever_was_changed() {
    let settings = |class| restoring_quality(class).map(|remedy| remedy.setting.as_str()).collect::<Vec<_>>();
    let serving = [
        "when quality falls: sensitive layers",
        "when quality falls: recalibration",
        "when quality falls: quantisation-aware training (QAT)",
    ];

    assert_eq!(settings(Inference), serving);
    assert_eq!(settings(Batch), serving);
    assert_eq!(settings(Training), serving[..1]);
    let named = |remedy: &&Remedy| remedy.setting.contains("when quality falls");
    for (finding, rows) in all() {
        assert!(rows.iter().filter(named).all(|remedy| remedy.restores_quality), "{finding}");
    }
}

#[test]
fn every_finding_has_a_remedy_for_every_class_that_it_can_be_found_in() {
    let silent = ["DataInvalid", "Saturated"];
    for rule in RULES.iter().map(|rule| rule.name().to_string()).filter(|name| !silent.contains(&name.as_str())) {
        for class in CLASSES.into_iter().filter(|class| occurs(&rule, *class)) {
            assert!(remedies(&rule, class).count() >= 1, "{rule} {class:?}");
        }
    }
}

/// Rules about requests have none to find in a trainer.
fn occurs(rule: &str, class: Class) -> bool {
    let serving = ["GenerationCapTooHigh", "LatencyNotQueueBound"];
    class != Training || !serving.contains(&rule)
}

/// Kills: an order that does not ask what fills the memory.
#[test]
fn full_memory_is_freed_of_what_fills_it_first_and_the_batch_gets_smaller_last() {
    let order =
        |fill| remedies_against("MemoryBound", Training, fill).into_iter().map(|row| row.setting.as_str()).collect();
    let activations: Vec<_> = order(Some(Fill::Activations));
    let weights: Vec<_> = order(Some(Fill::Weights));

    assert_eq!(activations[..2], ["activation checkpointing", "FlashAttention"]);
    assert_eq!(weights[0], "8-bit optimizer");
    let of_weights = weights.iter().position(|row| row.starts_with("tensor parallelism"));
    assert!(of_weights < weights.iter().position(|row| *row == "activation checkpointing"), "{weights:?}");
    for rows in [&activations, &weights, &order(None)] {
        assert_eq!(rows.last(), Some(&"smaller micro-batch, last"));
    }
    assert_eq!(order(None)[0], "activation checkpointing");
}

#[test]
fn what_a_card_lacks_is_left_out_and_what_is_not_known_of_it_is_told() {
    let amp = found("PrecisionUnused", Training, "in BF16").unwrap();
    let runs = |generation| amp.runs_on(generation);

    assert_eq!((runs(Some(Generation::Turing)), runs(Some(Generation::Ampere)), runs(None)), (false, true, true));
    assert!(amp.shown(None).ends_with("; needs BF16: Ampere or newer"));
    assert_eq!(amp.shown(Some(Generation::Hopper)), amp.to_string());
}
