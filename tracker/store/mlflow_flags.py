"""Server flags worth a column of their own in MLflow; everything else is in `server/server_args.json`.

Whatever was typed on the command line is shown as well: somebody found it worth typing.
"""

from __future__ import annotations

SGLANG = (
    "model_path", "tokenizer_path", "revision", "dtype", "quantization", "kv_cache_dtype", "context_length",
    "tp_size", "dp_size", "pp_size", "ep_size", "nnodes", "enable_dp_attention", "device", "load_format",
    "mem_fraction_static", "max_running_requests", "max_total_tokens", "max_prefill_tokens", "chunked_prefill_size",
    "page_size", "schedule_policy", "schedule_conservativeness", "stream_interval", "random_seed",
    "attention_backend", "decode_attention_backend", "prefill_attention_backend", "sampling_backend",
    "moe_runner_backend", "moe_a2a_backend", "mm_attention_backend",
    "disable_cuda_graph", "cuda_graph_max_bs", "cuda_graph_bs", "disable_cuda_graph_padding", "enable_torch_compile",
    "disable_radix_cache", "disable_overlap_schedule", "enable_mixed_chunk", "disaggregation_mode",
    "speculative_algorithm", "speculative_draft_model_path", "speculative_draft_model_revision",
    "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
    "speculative_accept_threshold_single", "speculative_accept_threshold_acc", "speculative_token_map",
    "speculative_attention_mode", "speculative_draft_attention_backend", "speculative_moe_runner_backend",
    "speculative_draft_model_quantization", "speculative_ngram_max_match_window_size",
)  # fmt: skip
VLLM = (
    "model", "tokenizer", "max_model_len", "tensor_parallel_size", "data_parallel_size", "pipeline_parallel_size",
    "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "enforce_eager", "speculative_config",
    "compilation_config", "enable_prefix_caching", "enable_chunked_prefill", "async_scheduling", "seed",
)  # fmt: skip
FLAGS_THAT_MATTER = frozenset((*SGLANG, *VLLM))
