"""Labels say what differs, in people's words, and are unique."""

from __future__ import annotations

from typing import Any

from tests.analysis.campaigns import provenance
from tracker.analysis.configurations import configurations
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import ServerConfig, Speculation


def run(name: str, *, spec: dict[str, Any] | None = None, **fields: Any) -> StoredRun:
    speculation = Speculation(enabled=spec is not None, **(spec or {}))
    record = RunRecord(
        record_id=name,
        kind="benchmark",
        experiment="e",
        name=name,
        speculation=speculation,
        provenance=provenance(),
        **fields,
    )
    return StoredRun(run_id=name, record=record)


def labels(*runs: StoredRun) -> dict[str, str]:
    return {name: found.label for name, found in configurations(runs).items()}


CHAIN = {"algorithm": "EAGLE3", "num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4}


def test_a_full_triple_is_short_and_graphs_are_named_only_where_they_differ() -> None:
    same = labels(run("a", spec=CHAIN, cuda_graph=True), run("b", cuda_graph=True))
    mixed = labels(run("a", spec=CHAIN, cuda_graph=True), run("b", spec=CHAIN, cuda_graph=False))

    assert same == {"a": "EAGLE3 3-1-4", "b": "no speculation"}
    assert mixed == {"a": "EAGLE3 3-1-4, CUDA graph", "b": "EAGLE3 3-1-4, no CUDA graph"}


def test_flags_that_touch_speed_and_differ_are_part_of_the_configuration() -> None:
    def served(backend: str, port: int) -> ServerConfig:
        return ServerConfig(engine="sglang", arguments={"attention_backend": backend, "port": port, "tp_size": 8})

    found = configurations(
        [
            run("a", spec=CHAIN, server=served("triton", 1)),
            run("b", spec=CHAIN, server=served("fa3", 2)),
            run("c", server=served("fa3", 3)),
        ]
    )

    assert found["a"].label == "EAGLE3 3-1-4, attention backend triton"
    assert found["b"].other_flags == {"attention_backend": "fa3"}
    assert found["c"].label == "no speculation"


def test_what_wraps_or_pins_a_server_is_part_of_its_configuration() -> None:
    def swept(prefix: str, **more: str) -> dict[str, str]:
        return {"sweep.launch_prefix": prefix, "sweep.launcher": "local", **more}

    pinned = swept("numactl --cpunodebind=0")
    wrapped = swept("none", **{"sweep.launcher": "template", "sweep.template": "srun --cpu-bind=cores {argv}"})

    found = configurations(
        [
            run("plain", spec=CHAIN, tags=swept("none")),
            run("plain again", spec=CHAIN, tags=swept("none")),
            run("pinned", spec=CHAIN, tags=pinned),
            run("wrapped", spec=CHAIN, tags=wrapped),
            run("baseline", tags=pinned),
        ]
    )

    assert found["plain"] == found["plain again"]
    assert len({found[name].label for name in ("plain", "pinned", "wrapped")}) == 3
    assert "launch prefix numactl --cpunodebind=0" in found["pinned"].label
    assert "launcher srun --cpu-bind=cores {argv}" in found["wrapped"].label
    assert found["baseline"].label == "no speculation"


def test_how_a_server_was_launched_is_left_out_where_only_one_way_is_known() -> None:
    found = labels(run("typed", spec=CHAIN), run("swept", spec=CHAIN, tags={"sweep.launch_prefix": "nice"}))

    assert set(found.values()) == {"EAGLE3 3-1-4"}


def test_what_one_run_did_not_record_is_said_where_labels_would_collide() -> None:
    found = labels(
        run("a", spec=CHAIN, cuda_graph=True),
        run("b", spec=CHAIN, cuda_graph=False),
        run("c", spec=CHAIN),
        run("d", spec={"algorithm": "EAGLE3"}),
        run("e", spec={"algorithm": "EAGLE3", "num_steps": 3}),
    )

    assert len(set(found.values())) == len(found)
    assert found["d"] == "EAGLE3"
    assert found["e"] == "EAGLE3, 3 steps"


def test_equal_flags_are_one_configuration_whatever_the_drafter() -> None:
    found = configurations(
        [run("a", spec={**CHAIN, "draft_model_path": "x"}), run("b", spec={**CHAIN, "draft_model_path": "y"})]
    )

    assert found["a"] == found["b"]
