"""SGLang's flags over its versions, and names that changed.

The table is `sglang_flags.tsv`; its head says where it comes from.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import cast

from tracker.engines._flags import Flag, FlagKind, FlagTable

# Abbreviations found in documentation and issues that argparse took when they were written
# (`--speculative-draft` became ambiguous in 0.5.2; `--tp` and its like must not depend on which flags a version adds).
ABBREVIATIONS = {
    "--speculative-draft": "--speculative-draft-model-path",
    "--speculative-algo": "--speculative-algorithm",
    "--tp": "--tp-size",
    "--dp": "--dp-size",
    "--ep": "--ep-size",
    "--pp": "--pp-size",
    "--model": "--model-path",
    "--tokenizer": "--tokenizer-path",
    "--mem-fraction": "--mem-fraction-static",
    "--disable-radix": "--disable-radix-cache",
    "--context-len": "--context-length",
}

# Field that a newer version uses -> the field that an older version's /server_info has for the same thing.
OLDER_FIELDS = {
    "cuda_graph_max_bs_decode": "cuda_graph_max_bs",
    "cuda_graph_bs_decode": "cuda_graph_bs",
    "speculative_draft_window_size": "speculative_dflash_draft_window_size",
    "speculative_ngram_max_trie_depth": "speculative_ngram_max_match_window_size",
    "mamba_radix_cache_strategy": "mamba_scheduler_strategy",
    "incremental_streaming_output": "stream_output",
    "tp_size": "tensor_parallel_size",
    "dp_size": "data_parallel_size",
}

# Values under a new name: resolving `nsa` shows `dsa`, and no difference is meant.
OLDER_VALUES = {"nsa": "dsa", "compressed": "dsv4", "tokenspeed_mla": "cutedsl_mla"}


@cache
def sglang_flags() -> FlagTable:
    """Return the table, read once."""
    text = Path(__file__).with_name("sglang_flags.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")][1:]
    flags = {
        name: Flag(
            name=name, field=field, kind=cast(FlagKind, kind), default=json.loads(default), since=since, until=until
        )
        for name, field, kind, default, since, until in rows
    }
    negatives = {
        f"--no-{flag.name[2:]}": Flag(name=f"--no-{flag.name[2:]}", field=flag.field, kind="optbool", since=flag.since)
        for flag in flags.values()
        if flag.kind == "optbool"
    }
    return FlagTable({**flags, **negatives}, ABBREVIATIONS)
