"""Command lines and scripts as people write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import engines
from tracker.domain.server import Speculation
from tracker.errors import InputError

BASE = "python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5"


def test_a_one_line_launch_gives_typed_fields_and_the_words() -> None:
    config = engines.parse_command(f"{BASE} --tp 8 --speculative-num-steps=3 --trust-remote-code")

    assert config.engine == "sglang"
    assert config.sources == ("command_line",)
    assert config.argv is not None
    assert config.argv[:3] == ("python3", "-m", "sglang.launch_server")
    assert config.typed == {
        "model_path": "moonshotai/Kimi-K2.5",
        "tp_size": 8,
        "speculative_num_steps": 3,
        "trust_remote_code": True,
    }
    assert config.unknown_flags == ()


SCRIPT = r"""#!/bin/bash
# start the server
set -euo pipefail
export NCCL_PROTO=LL NCCL_ALGO=Ring
export HF_TOKEN=hf_thisMustNeverBeStored1234
MODEL="/models/Kimi K2.5"   # a path with a space
EXTRA="--tp 8 --trust-remote-code"
mkdir -p logs
CUDA_VISIBLE_DEVICES=0,1 SGLANG_ENABLE_SPEC_V2=1 nohup python3 -m sglang.launch_server \
    --model-path "$MODEL" \
    --speculative-algo EAGLE3 --speculative-draft ${DRAFT:-/models/draft#1} \
    --json-model-override-args '{"a": "b > c # d"}' \
    $EXTRA \
    --port 30000 > logs/server.log 2>&1 &
sleep 5; curl http://127.0.0.1:30000/health
"""


def test_a_script_gives_the_one_server_it_launches_with_its_environment() -> None:
    config = engines.parse_command(SCRIPT)

    assert config.typed == {
        "model_path": "/models/Kimi K2.5",
        "speculative_algorithm": "EAGLE3",
        "speculative_draft_model_path": "/models/draft#1",
        "json_model_override_args": '{"a": "b > c # d"}',
        "tp_size": 8,
        "trust_remote_code": True,
        "port": 30000,
    }
    assert config.environment == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "NCCL_ALGO": "Ring",
        "NCCL_PROTO": "LL",
        "SGLANG_ENABLE_SPEC_V2": "1",
    }


@pytest.mark.parametrize(
    "command",
    [
        "sglang serve --model-path m --speculative-algorithm EAGLE3",
        "python -m sglang.launch_server --model m --speculative-algo EAGLE3",
        "/opt/venv/bin/python3 -m sglang.launch_server --model-path=m --speculative-algorithm=EAGLE3",
        "python /src/sglang/launch_server.py --model-path m --speculative-algorithm EAGLE3",
        "numactl --cpunodebind=0 python -m sglang.launch_server --model-path m --speculative-algorithm EAGLE3",
        "docker run --gpus all -e SGLANG_X=1 --env A=2 lmsysorg/sglang:latest python3 -m sglang.launch_server "
        "--model-path m --speculative-algorithm EAGLE3",
        "docker run x bash -lc 'cd w && python -m sglang.launch_server --model-path m --speculative-algorithm EAGLE3'",
        "srun -N 1 bash -c \"SGLANG_X=1 sglang serve --model-path m --speculative-algorithm EAGLE3\"",
        "--model-path m --speculative-algorithm EAGLE3",
        "for i in 1; do python -m sglang.launch_server --model-path m --speculative-algorithm EAGLE3; done",
    ],
)  # fmt: skip
def test_wrappers_and_spellings_of_a_launch_mean_the_same(command: str) -> None:
    config = engines.parse_command(command)

    assert config.engine == "sglang"
    assert config.typed == {"model_path": "m", "speculative_algorithm": "EAGLE3"}


def test_variables_of_a_container_reach_the_environment() -> None:
    config = engines.parse_command("docker run -e SGLANG_X=1 --env=NCCL_Y=2 -e Z=3 img sglang serve --model-path m")

    assert config.environment == {"NCCL_Y": "2", "SGLANG_X": "1"}


@pytest.mark.parametrize(
    ("typed", "field", "value"),
    [
        ("--chunked-prefill-size -1", "chunked_prefill_size", -1),
        ("--disable-radix", "disable_radix_cache", True),
        ("--mem-fraction 0.6", "mem_fraction_static", 0.6),
        ("--cuda-graph-bs 1 2 4", "cuda_graph_bs_decode", [1, 2, 4]),
        ("--cuda-graph-max-bs 32", "cuda_graph_max_bs_decode", 32),
        ("--max-total-tokens 2k", "max_total_tokens", 2000),
        ("--tensor-parallel-size 4", "tp_size", 4),
        ("--speculative-num-steps three", "speculative_num_steps", "three"),
        ("--no-speculative-enable-w4a4-mxfp4-megamoe", "speculative_enable_w4a4_mxfp4_megamoe", False),
        ("--speculative-num-steps 3 --speculative-num-steps 5", "speculative_num_steps", 5),
    ],
)
def test_values_are_read_as_argparse_reads_them(typed: str, field: str, value: object) -> None:
    assert engines.parse_command(f"{BASE} {typed}").typed[field] == value


def test_unknown_flags_are_kept_and_named() -> None:
    config = engines.parse_command(f"{BASE} --from-our-fork 7 --also-new --tp 2")

    assert config.unknown_flags == ("--from-our-fork", "--also-new")
    assert config.typed["from_our_fork"] == 7
    assert config.typed["also_new"] is True
    assert config.typed["tp_size"] == 2


def test_every_recorded_argv_is_understood_completely(shared_data: Path) -> None:
    paths = sorted(shared_data.glob("h200-tiny-llama/*/argv.json"))
    assert len(paths) == 9

    for path in paths:
        config = engines.parse_argv(json.loads(path.read_text()))
        assert config.unknown_flags == ()
        assert config.typed["model_path"] == "tiny/target"
        assert config.sources == ("argv",)


def test_every_public_launch_command_is_understood(shared_data: Path) -> None:
    cases = [json.loads(line) for line in (shared_data / "cases/data/launch_commands.jsonl").read_text().splitlines()]

    for case in cases:
        config = engines.parse_command(f"{case.get('env', '')} {case['cmd']}")
        assert config.engine == case["engine"], case["case"]
        assert config.unknown_flags == (), case["case"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello", "launches no server"),
        ("", "launches no server"),
        (f"{BASE} & {BASE} --port 2", "launches 2 servers"),
        ("python -m sglang.launch_server --model-path 'm", "cannot be split"),
        ("--not-a-flag-of-any 3", "no flag of a known server"),
    ],
)
def test_text_that_launches_no_single_server_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        engines.parse_command(text, where="run.sh")

    assert caught.value.where == "run.sh"
    assert caught.value.hint


def test_an_empty_argv_is_refused() -> None:
    with pytest.raises(InputError, match="is empty"):
        engines.parse_argv([])


def test_keys_in_a_command_never_reach_the_configuration() -> None:
    config = engines.parse_command(
        f"SGLANG_API_TOKEN=abcSECRET1 {BASE} --api-key abcSECRET2 --admin-api-key=abcSECRET3 --api-k abcSECRET4"
    )

    assert "abcSECRET" not in repr(config)
    assert config.typed["api_key"] == "[redacted]"
    assert config.environment == {"SGLANG_API_TOKEN": "[redacted]"}


def test_vllm_takes_json_dotted_and_underscored_flags() -> None:
    json_form = engines.parse_command(
        """vllm serve target -tp 8 --speculative_config '{"method":"eagle3","model":"d","num_speculative_tokens":3}'"""
    )
    dotted = engines.parse_command(
        "vllm serve target --tensor-parallel-size 8 --speculative-config.method eagle3 "
        "--speculative-config.model d --speculative-config.num_speculative_tokens 3"
    )

    assert json_form.typed == dotted.typed
    assert json_form.typed["tensor_parallel_size"] == 8
    assert dotted.unknown_flags == ()
    for config in (json_form, dotted):
        speculation = engines.speculation(config)
        assert speculation is not None
        assert speculation.algorithm == "EAGLE3"
        assert speculation.num_steps == 3
        assert speculation.num_draft_tokens == 4
        assert speculation.proposed_per_step == 3
        assert speculation.draft_model_path == "d"


def test_the_image_of_vllm_is_its_server() -> None:
    config = engines.parse_command("docker run --gpus all vllm/vllm-openai:v0.11.0 --model m --enforce-eager")

    assert config.engine == "vllm"
    assert config.typed == {"model": "m", "enforce_eager": True}
    assert engines.cuda_graph(config) is False


def test_synthetic_acceptance_of_vllm_is_recognised() -> None:
    config = engines.parse_command(
        "vllm serve m --speculative-config "
        """'{"method":"eagle3","model":"d","num_speculative_tokens":4,"""
        """"rejection_sample_method":"synthetic","synthetic_acceptance_length":3.24}'"""
    )

    speculation = engines.speculation(config)
    assert speculation is not None
    assert speculation.simulated_accept_length == 3.24


def test_a_llama_server_with_a_draft_model_is_speculative() -> None:
    config = engines.parse_command("llama-server.exe -m big.gguf -md small.gguf --spec-draft-n-max 64 -fa on -c 8192")

    speculation = engines.speculation(config)
    assert config.engine == "llama.cpp"
    assert speculation is not None
    assert speculation.num_steps == 64
    assert speculation.draft_model_path == "small.gguf"
    assert engines.speculation(engines.parse_command("llama-server -m big.gguf")) == type(speculation)(enabled=False)


def test_a_model_that_brings_its_drafter_along_is_not_called_a_plain_server() -> None:
    assert engines.speculation(engines.parse_command("vllm serve RedHatAI/Llama-3.1-8B-speculator.eagle3")) is None
    assert engines.speculation(engines.parse_command("vllm serve org/plain")) == Speculation(enabled=False)


def test_variables_that_double_each_other_are_given_up() -> None:
    script = "A=$A$A\n" * 3 + "A0=xxxxxxxxxx\n" + "".join(f"A{i + 1}={f'$A{i}' * 10}\n" for i in range(9))

    with pytest.raises(InputError, match="grows beyond"):
        engines.parse_command(f"{script}python -m sglang.launch_server --model-path $A9")


@pytest.mark.parametrize("value", ["9" * 400 + "k", "9" * 5000, "9" * 4000 + ".0G", "1e400k"])
def test_a_number_of_any_length_stays_what_was_typed(value: str) -> None:
    config = engines.parse_command(f"vllm serve m --max-model-len {value}")

    assert config.typed["max_model_len"] == value


def test_a_set_that_cannot_be_and_thousands_of_unknown_flags_are_no_trouble() -> None:
    logged = engines.parse_log('server_args=ServerArgs(model_path="x", a={[], []})\n')
    many = engines.parse_command("python -m sglang.launch_server " + " ".join(f"--steps-num{i} 1" for i in range(2000)))

    assert logged.arguments["a"] == "{[], []}"
    assert len(many.unknown_flags) == 2000
