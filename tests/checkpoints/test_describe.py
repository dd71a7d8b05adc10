"""What a folder's files say, and every way in which they can lie."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracker import checkpoints
from tracker.errors import CheckpointError, InputError

H = 64
LLAMA = {"architectures": ["LlamaForCausalLM"], "hidden_size": H, "num_hidden_layers": 2, "vocab_size": 32}
EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": H,
    "num_hidden_layers": 1,
    "vocab_size": 32,
    "draft_vocab_size": 8,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 6], "use_aux_hidden_state": True},
}
D2T = array("q", [0, 1, 2, 3, 4, 5, 6, 7]).tobytes()  # draft ids 0..7 are target ids 0, 2, 4, ... 14
T2D = bytes(1 if index < 16 and index % 2 == 0 else 0 for index in range(32))
EAGLE3_TENSORS: dict[str, tuple[Any, ...]] = {
    "fc.weight": ("BF16", (H, 3 * H)),
    "midlayer.self_attn.q_proj.weight": ("BF16", (H, 2 * H)),
    "norm.weight": ("BF16", (H,)),
    "lm_head.weight": ("BF16", (8, H)),
    "d2t": ("I64", (8,), D2T),
    "t2d": ("BOOL", (32,), T2D),
}
WHOLE = {
    "model.embed_tokens.weight": ("BF16", (32, H)),
    "model.layers.0.self_attn.q_proj.weight": ("BF16", (H, H)),
    "model.layers.1.self_attn.q_proj.weight": ("BF16", (H, H)),
    "lm_head.weight": ("BF16", (32, H)),
}


def test_an_eagle3_folder_is_described_from_config_and_header(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "kimi-eagle3", EAGLE3, EAGLE3_TENSORS)

    found = checkpoints.describe(folder)

    assert found.name == "kimi-eagle3"
    assert found.kind == "eagle3"
    assert found.kind_evidence[:2] == ("tensors d2t and t2d", "fc.weight takes 192 = 3 x 64")
    assert found.fc_input_width == 3 * H
    assert found.aux_layer_ids == (1, 3, 6)
    assert found.config["aux_layer_ids_in"] == "eagle_config"
    assert (found.hidden_size, found.vocab_size, found.draft_vocab_size) == (H, 32, 8)
    assert found.has_draft_vocab_map is True
    assert found.tensor_count == 6
    assert found.key_tensors["lm_head.weight"] == (8, H)
    assert found.draft_map_problem is None
    assert found.sources == ("config.json", "safetensors header")
    assert found.file_sizes_bytes == {"model.safetensors": (folder / "model.safetensors").stat().st_size}
    assert found.header_digest
    assert found.config_digest
    assert found.identity == found.header_digest


def test_the_recorded_configs_are_described_without_weights(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama" / "checkpoints"

    drafter = checkpoints.describe(folder / "eagle3-100000")
    target = checkpoints.describe(folder / "target")

    assert drafter.kind == "eagle3"
    assert drafter.aux_layer_ids == (1, 3, 6)
    assert drafter.header_digest is None
    assert drafter.has_draft_vocab_map is None
    assert drafter.fc_input_width is None
    assert drafter.sources == ("config.json",)
    assert target.kind == "model"
    assert target.hidden_size == 512


KINDS: list[tuple[str, dict[str, Any], dict[str, tuple[Any, ...]] | None, str | None]] = [
    ("original eagle3 release", {**LLAMA, "num_hidden_layers": 1, "draft_vocab_size": 8}, EAGLE3_TENSORS, "eagle3"),
    ("eagle3 by config alone", {"architectures": ["LlamaForCausalLMEagle3"]}, None, "eagle3"),
    ("kimi mla eagle3", {"architectures": ["Eagle3DeepseekV2ForCausalLM"], "hidden_size": H}, None, "eagle3"),
    (
        "kimi mla eagle3 with full vocabulary",
        {"architectures": ["Eagle3DeepseekV2ForCausalLM"], "hidden_size": H},
        {"fc.weight": ("BF16", (H, 3 * H)), "layers.0.self_attn.q_a_proj.weight": ("BF16", (H, H))},
        "eagle3",
    ),
    (
        "eagle3 for a wider target",
        {**LLAMA, "target_hidden_size": 2 * H},
        {"fc.weight": ("BF16", (H, 6 * H)), "midlayer.x.weight": ("BF16", (1, 1))},
        "eagle3",
    ),
    (
        "eagle-1",
        {**LLAMA, "num_hidden_layers": 1},
        {"fc.weight": ("BF16", (H, 2 * H)), "layers.0.self_attn.q_proj.weight": ("BF16", (H, H))},
        "eagle",
    ),
    ("sglang's copy of eagle", {**LLAMA, "architectures": ["LlamaForCausalLMEagle"]}, None, "eagle"),
    ("one layer, config alone", {**LLAMA, "num_hidden_layers": 1}, None, None),
    ("target", LLAMA, WHOLE, "model"),
    ("target, config alone", LLAMA, None, "model"),
    (
        "target with mtp inside",
        {**LLAMA, "num_nextn_predict_layers": 1},
        {**WHOLE, "mtp.fc.weight": ("BF16", (H, 2 * H)), "model.layers.2.eh_proj.weight": ("BF16", (H, 2 * H))},
        "model",
    ),
    ("exported nextn", {"architectures": ["DeepseekV3ForCausalLMNextN"], "hidden_size": H}, None, "mtp"),
    (
        "exported mtp layer",
        {"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": H, "num_hidden_layers": 61},
        {"model.layers.0.eh_proj.weight": ("BF16", (H, 2 * H)), "model.embed_tokens.weight": ("BF16", (32, H))},
        "mtp",
    ),
    ("qwen mtp only", {**LLAMA, "hidden_size": H}, {"mtp.fc.weight": ("BF16", (H, 2 * H))}, "mtp"),
    ("gemma assistant", {"architectures": ["Gemma4AssistantForCausalLM"], "hidden_size": H}, None, "mtp"),
    (
        "dflash",
        {
            "architectures": ["DFlashDraftModel"],
            "hidden_size": H,
            "block_size": 16,
            "dflash_config": {"target_layer_ids": [1, 5, 9], "mask_token_id": 3},
        },
        {"fc.weight": ("BF16", (H, 5 * H)), "hidden_norm.weight": ("BF16", (H,))},
        "dflash",
    ),
    ("domino", {"architectures": ["DominoDraftModel"], "block_size": 8}, None, "dflash"),
    ("dspark", {"architectures": ["Qwen3DSparkModel"], "markov_rank": 32}, None, "dspark"),
    ("medusa", {"model_type": "medusa", "medusa_num_heads": 4}, None, "medusa"),
    (
        "speculators",
        {
            "speculators_model_type": "eagle3",
            "speculators_config": {"algorithm": "eagle3", "verifier": {"name_or_path": "org/t"}},
            "transformer_layer_config": {"hidden_size": H, "vocab_size": 32},
            "eagle_aux_hidden_state_layer_ids": [2, 16, 29],
        },
        None,
        "speculators",
    ),
    ("weights without config", {}, {"fc.weight": ("BF16", (H, 3 * H)), "d2t": ("I64", (8,))}, "eagle3"),
]


@pytest.mark.parametrize(("what", "config", "tensors", "kind"), KINDS, ids=[case[0] for case in KINDS])
def test_kinds_are_told_apart(
    what: str, config: Any, tensors: Any, kind: str | None, tmp_path: Path, write_checkpoint: Any
) -> None:
    folder = write_checkpoint(tmp_path / "x", config or None, tensors)

    found = checkpoints.describe(folder)

    assert found.kind == kind
    assert found.kind_evidence


def test_nested_layouts_give_their_sizes(tmp_path: Path, write_checkpoint: Any) -> None:
    multimodal = write_checkpoint(
        tmp_path / "kimi",
        {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163840, "rope_theta": 5e4},
        },
    )
    speculators = write_checkpoint(tmp_path / "spec", KINDS[-2][1])

    target = checkpoints.describe(multimodal)
    drafter = checkpoints.describe(speculators)

    assert (target.hidden_size, target.num_hidden_layers, target.vocab_size) == (7168, 61, 163840)
    assert target.config["rope_theta"] == 5e4
    assert drafter.hidden_size == H
    assert drafter.aux_layer_ids == (2, 16, 29)
    assert drafter.config["aux_layer_ids_in"] == "top level"
    assert drafter.config["verifier"] == "org/t"


def test_shards_are_read_through_their_index_and_give_the_digest_of_one_file(
    tmp_path: Path, write_checkpoint: Any
) -> None:
    single = write_checkpoint(tmp_path / "single", LLAMA, WHOLE)
    names = list(WHOLE)
    folder = write_checkpoint(tmp_path / "sharded", LLAMA, {n: WHOLE[n] for n in names[:2]}, file="a.safetensors")
    write_checkpoint(folder, None, {n: WHOLE[n] for n in names[2:]}, file="b.safetensors")
    weight_map = {n: "a.safetensors" if n in names[:2] else "b.safetensors" for n in names}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))

    assert checkpoints.describe(folder).header_digest == checkpoints.describe(single).header_digest

    (folder / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"names shard b\.safetensors, which is not in the folder"):
        checkpoints.describe(folder)
    index.write_text(json.dumps({"weight_map": {**weight_map, "other": "a.safetensors", names[2]: "a.safetensors"}}))
    (folder / "b.safetensors").write_bytes((folder / "a.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="does not hold it"):
        checkpoints.describe(folder)
    index.write_text('{"weight_map": {"x": "../../etc/passwd"}}')
    with pytest.raises(CheckpointError, match="not in the folder"):
        checkpoints.describe(folder)
    index.write_text("[]")
    with pytest.raises(CheckpointError, match="no index of shards"):
        checkpoints.describe(folder)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads the largest memory from /proc")
def test_a_200_gb_checkpoint_is_described_from_headers_in_two_seconds(tmp_path: Path, write_checkpoint: Any) -> None:
    shards, per_shard = 40, 300
    weight_map = {}
    for shard in range(shards):
        tensors = {f"model.layers.{shard}.experts.{e}.w.weight": ("BF16", (4096, 2048)) for e in range(per_shard)}
        write_checkpoint(tmp_path, LLAMA if shard == 0 else None, tensors, file=f"s{shard}.safetensors")
        weight_map |= dict.fromkeys(tensors, f"s{shard}.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert sum(path.stat().st_size for path in tmp_path.glob("*.safetensors")) > 200e9
    # A process of its own, so that its largest memory is the description's; processor time, so that neighbours on a
    # shared machine do not count. Measured: 0.35 s and 26 MB on one core of a small virtual machine.
    script = (
        "import pathlib, sys, time; from tracker import checkpoints; found = checkpoints.describe(sys.argv[1]); "
        "print(found.tensor_count, len(found.key_tensors), time.process_time()); "
        "print(pathlib.Path('/proc/self/status').read_text())"
    )

    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)

    count, key_tensors, seconds = done.stdout.splitlines()[0].split()
    # VmHWM and not ru_maxrss: the latter also counts the process that started this one.
    (largest_kb,) = (line.split()[1] for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    assert (int(count), int(key_tensors)) == (shards * per_shard, 0)
    assert float(seconds) < 2
    assert int(largest_kb) < 200_000


def _raw(folder: Path, header: bytes, *, length: int | None = None, data: bytes = b"") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(header) if length is None else length) + header + data
    )
    return folder


def _one(**changes: Any) -> bytes:
    return json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}).encode()


@pytest.mark.parametrize(
    ("header", "length", "message"),
    [
        (b"{}", 10_000_000_000, "claims a header of 10000000000 bytes, above the format's limit"),
        (b"{}", 2**64 - 1, "above the format's limit"),
        (b"{}", 90_000_000, "but is only"),
        (b"not json", None, "header that is not JSON"),
        (b"[" * 100_000, None, "header that is not JSON"),
        (b"[1]", None, "not a JSON object"),
        (b'{"x": {}, "x": {}}', None, "occurs twice"),
        (b'{"x": 3}', None, "without a proper dtype"),
        (_one(shape=[-2]), None, "without a proper dtype"),
        (_one(shape=[1] * 99), None, "without a proper dtype"),
        (_one(data_offsets=[0, 8, 9]), None, "without a proper dtype"),
        (_one(data_offsets=[8, 0]), None, "places tensor 'x' at bytes 8 to 0"),
        (_one(data_offsets=[0, 800], shape=[200]), None, "complete the download"),
        (_one(shape=[3]), None, r"gives tensor 'x' \(F32 \[3\]\) 8 bytes"),
        (
            b'{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},'
            b'"y": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}',
            None,
            "lets tensors 'x' and 'y' overlap",
        ),
    ],
)
def test_a_header_that_lies_is_refused(header: bytes, length: int | None, message: str, tmp_path: Path) -> None:
    folder = _raw(tmp_path / "x", header, length=length, data=bytes(16))

    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoints.describe(folder)

    assert "model.safetensors" in str(caught.value)
    assert caught.value.hint


def test_files_too_short_to_be_safetensors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"abc")

    with pytest.raises(CheckpointError, match="too short"):
        checkpoints.describe(tmp_path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=st.binary(max_size=300), prefix=st.booleans())
def test_garbage_is_an_error_in_words_or_a_description_never_a_crash(tmp_path: Path, body: bytes, prefix: bool) -> None:
    (tmp_path / "model.safetensors").write_bytes((struct.pack("<Q", max(len(body) - 8, 0)) if prefix else b"") + body)

    with suppress(CheckpointError):
        assert checkpoints.describe(tmp_path).sources == ("safetensors header",)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", "JSON list instead"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
    ],
)
def test_a_malformed_config_is_refused_with_its_file(config: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(config)

    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoints.describe(tmp_path)

    assert caught.value.where == str(tmp_path / "config.json")


def test_config_values_of_the_wrong_kind_are_not_facts(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(
        tmp_path / "x",
        {
            "architectures": "LlamaForCausalLM",
            "hidden_size": "64",
            "vocab_size": True,
            "num_hidden_layers": -1,
            "eagle_config": ["a"],
            "quantization_config": 3,
        },
    )

    found = checkpoints.describe(folder)

    assert (found.architecture, found.hidden_size, found.vocab_size, found.num_hidden_layers) == (None,) * 4


def test_contradicting_draft_maps_are_said_in_words(tmp_path: Path, write_checkpoint: Any) -> None:
    def problem(name: str, **tensors: tuple[Any, ...]) -> str | None:
        folder = write_checkpoint(tmp_path / name, EAGLE3, {**EAGLE3_TENSORS, **tensors})
        return checkpoints.describe(folder).draft_map_problem

    outside = array("q", [0, 1, 2, 3, 4, 5, 6, 90]).tobytes()
    double = array("q", [0, -1, 2, 3, 4, 5, 6, 7]).tobytes()

    assert problem("shape", d2t=("I64", (9,))) == "d2t has shape [9], draft_vocab_size is 8"
    assert problem("long", t2d=("BOOL", (33,))) == "t2d has shape [33], vocab_size is 32"
    assert problem("far", d2t=("I64", (8,), outside)) == (
        "d2t points 1 of 8 draft ids outside the target's vocabulary of 32"
    )
    assert problem("same", d2t=("I64", (8,), double)) == "d2t points 1 draft ids at a target id that is taken already"
    assert problem("marks", t2d=("BOOL", (32,), b"\x01" * 8 + bytes(24))) == (
        "t2d marks 8 target ids, 4 of which are the 8 of d2t"
    )


def test_a_hub_id_is_found_in_the_local_cache_and_never_downloaded(tmp_path: Path, write_checkpoint: Any) -> None:
    repo = tmp_path / "models--org--draft"
    write_checkpoint(repo / "snapshots" / "abc123", EAGLE3)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("abc123")

    found = checkpoints.describe("org/draft", cache_dir=tmp_path)
    by_path = checkpoints.describe(repo / "snapshots" / "abc123")

    assert (found.name, found.revision, found.kind) == ("org/draft", "abc123", "eagle3")
    assert (by_path.name, by_path.revision) == ("org/draft", "abc123")
    assert checkpoints.describe("org/draft@abc123", cache_dir=tmp_path) == checkpoints.describe(
        "org/draft@abc123", cache_dir=tmp_path
    )
    with pytest.raises(CheckpointError, match="neither a folder nor a model in the local") as caught:
        checkpoints.describe("org/other", cache_dir=tmp_path)
    assert "hf download org/other" in str(caught.value)
    with pytest.raises(CheckpointError):
        checkpoints.describe("org/draft@../../x", cache_dir=tmp_path)


def test_nothing_there_or_nothing_useful_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        checkpoints.describe(tmp_path / "missing")
    with pytest.raises(CheckpointError, match="holds neither"):
        checkpoints.describe(tmp_path)


def test_folders_with_a_vague_name_take_their_parents_along(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "qwen-draft" / "checkpoint-41775", EAGLE3)

    assert checkpoints.describe(folder).name == "qwen-draft/checkpoint-41775"
    assert checkpoints.describe(folder / "config.json").name == "qwen-draft/checkpoint-41775"


def test_home_folders_do_not_reach_the_record(tmp_path: Path, write_checkpoint: Any, monkeypatch: Any) -> None:
    write_checkpoint(tmp_path / "models" / "d", EAGLE3)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert checkpoints.describe("~/models/d").path == "~/models/d"


def test_facts_written_by_hand_make_a_checkpoint() -> None:
    found = checkpoints.from_facts(
        "own-10k",
        {
            "hidden_size": 7168,
            "fc_input_width": 21504,
            "aux_layer_ids": [2, 30, 58],
            "draft_vocab_size": 32000,
            "vocabulary_coverage_fraction": 0.983,
        },
    )

    assert found.name == "own-10k"
    assert found.kind == "eagle3"
    assert found.fc_input_width == 21504
    assert found.aux_layer_ids == (2, 30, 58)
    assert found.vocabulary_coverage_fraction == 0.983
    assert found.sources == ("declared",)
    with pytest.raises(InputError, match="no fact 'hiden_size'"):
        checkpoints.from_facts("x", {"hiden_size": 3})


def test_a_broken_link_is_said_so(tmp_path: Path, write_checkpoint: Any) -> None:
    folder = write_checkpoint(tmp_path / "x", EAGLE3)
    (folder / "model.safetensors").symlink_to(folder / "gone")

    with pytest.raises(CheckpointError, match="cannot be read"):
        checkpoints.describe(folder)
