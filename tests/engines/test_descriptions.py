"""What servers say about themselves: server_info, logs, and both against the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import engines
from tracker.domain.server import FlagDifference, ServerConfig, Speculation
from tracker.errors import InputError, UsageError

NAMES = (
    "baseline",
    "baseline-nograph",
    "eagle-wrong-flag-d100000-3-1-4",
    "eagle3-d100-3-1-4",
    "eagle3-d1000-3-1-4",
    "eagle3-d10000-3-1-4",
    "eagle3-d100000-2-1-3",
    "eagle3-d100000-3-1-4",
    "eagle3-d100000-3-4-16",
)


def _info(folder: Path) -> ServerConfig:
    return engines.parse_info(json.loads((folder / "server_info.json").read_text()))


@pytest.mark.parametrize("name", NAMES)
def test_all_sources_on_a_real_server_agree_on_speculation_and_graph(shared_data: Path, name: str) -> None:
    folder = shared_data / "h200-tiny-llama" / name
    info = _info(folder)
    argv = engines.parse_argv(json.loads((folder / "argv.json").read_text()))
    both = engines.combine([("argv", argv), ("server_info", info)])

    assert info.version == "0.5.17"
    speculations = [engines.speculation(config) for config in (info, argv, both)]
    for speculation in speculations:
        assert speculation is not None
        assert speculation.enabled is name.startswith("eagle")
    if name.startswith("eagle"):
        numbers = tuple(int(part) for part in name.split("-")[-3:])
        found = speculations[2]
        assert found is not None
        assert (found.num_steps, found.eagle_topk, found.num_draft_tokens) == numbers
        assert found.algorithm == ("EAGLE" if "wrong-flag" in name else "EAGLE3")
        assert found.accept_threshold_single == 1.0
    assert {engines.cuda_graph(config) for config in (info, argv, both)} == {name != "baseline-nograph"}
    assert both.sources == ("server_info", "argv")


@pytest.mark.parametrize("name", NAMES)
def test_a_real_log_states_the_same_arguments_as_the_server(shared_data: Path, name: str) -> None:
    folder = shared_data / "h200-tiny-llama" / name
    log = engines.parse_log((folder / "server.log").read_text())
    both = engines.combine([("log", log), ("server_info", _info(folder))])

    assert len(log.arguments) > 300
    assert both.differences == ()
    assert both.version == "0.5.17"


def test_the_older_endpoint_gives_the_same_description(shared_data: Path) -> None:
    endpoints = shared_data / "h200-tiny-llama" / "endpoints"
    plain = engines.parse_info(json.loads((endpoints / "base.get_server_info.json").read_text()))
    speculative = engines.parse_info(json.loads((endpoints / "eagle3.get_server_info.json").read_text()))

    assert engines.speculation(plain) == Speculation(enabled=False)
    found = engines.speculation(speculative)
    assert found is not None
    assert found.algorithm == "EAGLE3"


def test_the_silent_reset_of_running_requests_is_visible_as_typed_nothing_and_resolved_48(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama" / "eagle3-d100-3-1-4"
    argv = engines.parse_argv(json.loads((folder / "argv.json").read_text()))
    both = engines.combine([("server_info", _info(folder)), ("argv", argv)])

    assert "max_running_requests" not in both.typed
    assert both.arguments["max_running_requests"] == 48
    assert both.differences == ()


def test_a_value_the_server_overwrote_is_a_difference() -> None:
    typed = engines.parse_command("sglang serve --model-path m --speculative-num-draft-tokens 24 --tp 2")
    resolved = ServerConfig(engine="sglang", arguments={"speculative_num_draft_tokens": 5, "tp_size": 2})

    both = engines.combine([("server_info", resolved), ("command_line", typed)])

    assert both.differences == (
        FlagDifference(
            name="speculative_num_draft_tokens",
            first="24",
            first_source="command_line",
            second="5",
            second_source="server_info",
        ),
    )
    assert both.get("speculative_num_draft_tokens") == 5


def test_renamed_flags_are_compared_across_versions() -> None:
    typed = engines.parse_command("sglang serve --model-path m --cuda-graph-max-bs 32")
    older = ServerConfig(engine="sglang", arguments={"cuda_graph_max_bs": 160})

    (difference,) = engines.combine([("argv", typed), ("server_info", older)]).differences

    assert (difference.name, difference.first, difference.second) == ("cuda_graph_max_bs_decode", "32", "160")


def test_two_command_lines_are_compared_flag_by_flag_also_where_one_lacks_it() -> None:
    one = engines.parse_command("NCCL_PROTO=LL sglang serve --model-path m --tp 2 --max-running-requests 64")
    other = engines.parse_command("NCCL_PROTO=Simple sglang serve --model-path m --tp 4")

    both = engines.combine([("argv", one), ("command_line", other)])

    assert {(d.name, d.first, d.second) for d in both.differences} == {
        ("tp_size", "2", "4"),
        ("max_running_requests", "64", "(not given)"),
        ("NCCL_PROTO", "LL", "Simple"),
    }


def test_a_server_that_speculates_unasked_was_launched_by_another_command() -> None:
    typed = engines.parse_command("sglang serve --model-path m --tp 2")
    resolved = ServerConfig(engine="sglang", arguments={"speculative_algorithm": "EAGLE3", "schedule_policy": "fcfs"})

    (difference,) = engines.combine([("server_info", resolved), ("argv", typed)]).differences

    assert (difference.name, difference.first, difference.second) == ("speculative_algorithm", "(not given)", "EAGLE3")


def test_typed_nextn_stays_nextn_although_the_server_says_eagle() -> None:
    typed = engines.parse_command("sglang serve --model-path m --speculative-algorithm nextn")
    resolved = ServerConfig(engine="sglang", arguments={"speculative_algorithm": "EAGLE"})

    found = engines.speculation(engines.combine([("server_info", resolved), ("argv", typed)]))

    assert found is not None
    assert found.algorithm == "NEXTN"


def test_a_partial_description_says_nothing_about_speculation() -> None:
    assert engines.speculation(ServerConfig(engine="sglang", typed={"tp_size": 8})) is None
    assert engines.speculation(ServerConfig()) is None
    assert engines.cuda_graph(ServerConfig(engine="sglang", typed={"tp_size": 8})) is None
    assert engines.speculation(engines.parse_command("--tp-size 8")) is None


def test_simulated_acceptance_is_read_from_the_environment() -> None:
    on = engines.parse_command("SGLANG_SIMULATE_ACC_LEN=2.5 sglang serve --model-path m --speculative-algorithm EAGLE3")
    off = engines.parse_command("SGLANG_SIMULATE_ACC_LEN=-1 sglang serve --model-path m --speculative-algorithm EAGLE3")

    found_on, found_off = engines.speculation(on), engines.speculation(off)
    assert found_on is not None
    assert found_off is not None
    assert found_on.simulated_accept_length == 2.5
    assert found_off.simulated_accept_length is None


def test_thresholds_changed_at_run_time_win_and_the_launch_command_is_read() -> None:
    config = engines.parse_info(
        {
            "model_path": "m",
            "speculative_algorithm": "EAGLE",
            "speculative_accept_threshold_single": 1.0,
            "launch_command": "sglang serve --model-path m --speculative-algorithm NEXTN --api-key S3CRET",
            "version": "0.5.23",
            "internal_states": [
                {"speculative_accept_threshold_single": 0.8, "env_vars": {"SGLANG_X": "1", "PATH": "/bin"}}
            ],
        }
    )

    found = engines.speculation(config)
    assert found is not None
    assert found.accept_threshold_single == 0.8
    assert found.algorithm == "NEXTN"
    assert config.environment == {"SGLANG_X": "1"}
    assert "S3CRET" not in repr(config)


@pytest.mark.parametrize(
    "line",
    [
        "server_args=ServerArgs(model_path='m', speculative_algorithm='EAGLE3', tp_size=8, mode=<Mode.A: 1>, "
        "cuda_graph_bs=[1, 2], text='a, (b', nothing=None)",
        "server_args={'model_path': 'm', 'speculative_algorithm': 'EAGLE3', 'tp_size': 8, 'mode': <Mode.A: 1>, "
        "'cuda_graph_bs': [1, 2], 'text': 'a, (b', 'nothing': None}",
    ],
)
def test_both_spellings_of_the_log_line_are_read(line: str) -> None:
    text = f"noise\n[2026-11-30 00:09:27] {line}\n[2026-11-30 00:09:28] Load weight begin.\n"

    assert engines.parse_log(text).arguments == {
        "model_path": "m",
        "speculative_algorithm": "EAGLE3",
        "tp_size": 8,
        "mode": "<Mode.A: 1>",
        "cuda_graph_bs": [1, 2],
        "text": "a, (b",
        "nothing": None,
    }


def test_a_log_line_that_is_cut_off_gives_what_is_whole() -> None:
    config = engines.parse_log("server_args=ServerArgs(model_path='m', tp_size=8, max_running_requ")

    assert config.arguments == {"model_path": "m", "tp_size": 8}


def test_the_last_start_in_a_log_counts() -> None:
    text = "server_args=ServerArgs(model_path='a', tp_size=1)\nserver_args=ServerArgs(model_path='b', tp_size=2)\n"

    assert engines.parse_log(text).arguments == {"model_path": "b", "tp_size": 2}


def test_nothing_in_a_log_line_is_run(tmp_path: Path) -> None:
    victim = tmp_path / "made"
    call = f"__import__('pathlib').Path('{victim}').touch()"
    hostile = f"server_args=ServerArgs(model_path={call}, deep={'[' * 5000}, tp_size=1)"

    engines.parse_log(hostile + "\nserver_args=ServerArgs(tp_size=1, x=" + "(" * 100_000)

    assert not victim.exists()


def test_a_key_in_a_log_is_redacted() -> None:
    config = engines.parse_log("server_args=ServerArgs(model_path='m', api_key='S3CRET-value', tp_size=1)")

    assert config.arguments["api_key"] == "[redacted]"


def test_a_vllm_log_gives_version_arguments_and_speculation() -> None:
    text = (
        "(APIServer pid=1) INFO 11-30 00:00:01 [api_server.py:1896] vLLM API server version 0.11.0\n"
        "(APIServer pid=1) INFO 11-30 00:00:01 [utils.py:233] non-default args: {'model_tag': 'm', 'model': 'm', "
        "'speculative_config': {'method': 'eagle3', 'model': 'd', 'num_speculative_tokens': 3}}\n"
        "INFO 11-30 00:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='m', "
        "speculative_config=SpeculativeConfig(method='eagle3', model='d', num_spec_tokens=3), dtype=torch.bfloat16\n"
    )

    config = engines.parse_log(text)

    assert config.engine == "vllm"
    assert config.version == "0.11.0"
    assert config.typed["model"] == "m"
    found = engines.speculation(config)
    assert found is not None
    assert (found.algorithm, found.num_steps, found.draft_model_path) == ("EAGLE3", 3, "d")


def test_a_description_of_nothing_known_is_refused() -> None:
    with pytest.raises(InputError, match="no description of a known server"):
        engines.parse_info({"status": "ok"})
    with pytest.raises(InputError, match="no line with the server's arguments"):
        engines.parse_log("hello\n")
    with pytest.raises(UsageError):
        engines.combine([])


def test_what_is_stored_holds_no_home_folder_and_no_address() -> None:
    config = engines.parse_command(
        "sglang serve --model-path /home/alice/m --dist-init-addr gpu-7:5000 --host=10.0.0.3 --port 3"
    )

    stored = engines.for_record(config)

    assert stored.typed["model_path"] == "~/m"
    assert "alice" not in repr(stored)
    assert "gpu-7" not in repr(stored)
    assert "10.0.0.3" not in repr(stored)
    assert stored.typed["port"] == 3
    assert config.typed["model_path"] == "/home/alice/m"
