"""vLLM's flags that matter for speculative decoding and its speed (documentation of 0.10 to 0.24).

vLLM has several hundred flags; one that is not listed here is kept under its own name and read by its looks.
"""

from __future__ import annotations

from functools import cache

from tracker.engines._flags import Flag, FlagKind, FlagTable

_KINDS: dict[FlagKind, str] = {
    "str": (
        "--model --tokenizer --tokenizer-mode --revision --dtype --kv-cache-dtype --quantization --load-format --host "
        "--api-key --served-model-name --tool-call-parser --reasoning-parser --attention-backend --model-impl "
        "--distributed-executor-backend --chat-template --generation-config --config --config-format "
        "--mamba-cache-mode --moe-backend --all2all-backend --download-dir --speculative-model --ssl-keyfile "
        "--uvicorn-log-level --speculative-disable-mqa-scorer --scheduling-policy --device --task --runner"
    ),
    "int": (
        "--port --tensor-parallel-size --pipeline-parallel-size --data-parallel-size --max-model-len --max-num-seqs "
        "--max-num-batched-tokens --block-size --seed --stream-interval --max-seq-len-to-capture --swap-space "
        "--num-speculative-tokens --speculative-draft-tensor-parallel-size --speculative-max-model-len "
        "--num-gpu-blocks-override --max-cudagraph-capture-size --api-server-count --max-logprobs --nnodes --node-rank"
    ),
    "float": "--gpu-memory-utilization --cpu-offload-gb",
    "bool": "--trust-remote-code --disable-log-stats --disable-log-requests --headless --enable-prompt-tokens-details",
    "optbool": (
        "--enforce-eager --enable-prefix-caching --enable-chunked-prefill --async-scheduling --enable-expert-parallel "
        "--enable-auto-tool-choice --enable-log-requests --enable-lora --disable-cascade-attn "
        "--disable-custom-all-reduce --language-model-only"
    ),
    "json": (
        "--speculative-config --compilation-config --hf-overrides --override-generation-config --kv-transfer-config "
        "--rope-scaling --limit-mm-per-prompt --additional-config --attention-config --default-chat-template-kwargs"
    ),
    "ints": "--cudagraph-capture-sizes --cuda-graph-sizes",
}
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-O": "--optimization-level",
    "-ep": "--enable-expert-parallel",
    "-r": "--revision",
}


@cache
def vllm_flags() -> FlagTable:
    """Return the table, built once."""
    flags = {
        name: Flag(name=name, field=name[2:].replace("-", "_"), kind=kind)
        for kind, names in _KINDS.items()
        for name in names.split()
    }
    negatives = {
        f"--no-{flag.name[2:]}": Flag(name=f"--no-{flag.name[2:]}", field=flag.field, kind="optbool")
        for flag in flags.values()
        if flag.kind == "optbool"
    }
    level = Flag(name="--optimization-level", field="optimization_level", kind="int")
    return FlagTable({**flags, **negatives, level.name: level}, _SHORT, underscores=True)
