"""`[sweep]` as people write it, and what becomes of mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker.errors import InputError
from tracker.workflows.sweep_argv import launch_prefix, split_words
from tracker.workflows.sweep_check import check_all
from tracker.workflows.sweep_estimate import estimate
from tracker.workflows.sweep_plan import SweepPlan, read_sweep
from tracker.workflows.sweep_schedule import different_first, schedule

HEAD = 'schema_version = 1\n[campaign]\nname = "c"\n[hardware]\ngpu_count = 4\n'
DRAFTERS = '[[drafters]]\nname = "d1"\npaths = ["models/d1"]\n[[drafters]]\nname = "d2"\npaths = ["models/d2"]\n'


def _read(folder: Path, sweep: str) -> SweepPlan:
    (folder / "campaign.toml").write_text(f'{HEAD}{DRAFTERS}[sweep]\ntarget = "models/t"\n{sweep}')
    return read_sweep(folder)


def test_a_server_is_spelled_out_from_drafter_algorithm_and_shape(tmp_path: Path) -> None:
    plan = _read(
        tmp_path,
        'flags = "--mem-fraction-static 0.8"\n[[sweep.servers]]\nname = "a"\ndrafter = "d1"\n'
        'algorithm = "EAGLE3"\nshape = "3-1-4"\nflags = "--disable-cuda-graph"\n',
    )

    (arm,) = plan.arms
    assert arm.command(host="127.0.0.1", port=31_000) == (
        "python3", "-m", "sglang.launch_server", "--model-path", "models/t", "--mem-fraction-static", "0.8",
        "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "models/d1",
        "--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4",
        "--disable-cuda-graph", "--host", "127.0.0.1", "--port", "31000",
    )  # fmt: skip


def test_axes_make_every_combination_with_names_that_say_what_differs(tmp_path: Path) -> None:
    plan = _read(tmp_path, '[sweep.axes]\ndrafter = ["d1", "d2"]\nalgorithm = ["EAGLE3"]\nshape = ["2-1-3", "3-1-4"]\n')

    assert [arm.name for arm in plan.arms] == [
        "d1-EAGLE3-2-1-3", "d1-EAGLE3-3-1-4", "d2-EAGLE3-2-1-3", "d2-EAGLE3-3-1-4",
    ]  # fmt: skip
    assert [arm.drafter for arm in plan.arms] == ["models/d1", "models/d1", "models/d2", "models/d2"]


def test_the_built_in_prompts_and_closed_loops_are_the_default(tmp_path: Path) -> None:
    plan = _read(tmp_path, '[sweep.workload]\nconcurrencies = [1, 64]\n[[sweep.servers]]\nname = "a"\n')

    assert plan.bench.prompts.name == "builtin"
    assert [load.requests for load in plan.bench.loads] == [len(plan.bench.prompts.prompts), 256]
    assert plan.bench.sampling.ignore_eos


OUT_OF_RANGE = [
    ("concurrencies = [0]", r"workload\.concurrencies\[0\]|workload\.concurrencies\[\.\.\.\]"),
    ("concurrencies = []", "length >= 1"),
    ("loads = [{concurrency = 0, requests = 1}]", "concurrency"),
    ("loads = [{concurrency = 1, requests = 0}]", "requests"),
    ("output_tokens = 0", "output_tokens"),
    ("repeats = 0", "repeats"),
    ("warmup = -1", "warmup"),
    ("temperature = -0.1", "temperature"),
    ("streamed_fraction = 5", "streamed_fraction"),
    ("timeout_s = 0", "timeout_s"),
    ('route = "sgl"', "Invalid enum value 'sgl'"),
]


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        ("", "names no server"),
        ('[[sweep.servers]]\nname = "a"\nshape = "3-1"\n', "STEPS-TOPK-DRAFT_TOKENS"),
        ('[[sweep.servers]]\nname = "a"\nflag = "--x"\n', r"'flag' at \[sweep\.servers\]\. Did you mean 'flags'"),
        ('health_timeout = 3\n[[sweep.servers]]\nname = "a"\n', "Did you mean 'health_timeout_s'"),
        ('[sweep.workload]\nconcurrency = [1]\n[[sweep.servers]]\nname = "a"\n', "Did you mean 'concurrencies'"),
        ('launcher = "slrum"\n[[sweep.servers]]\nname = "a"\n', "no launcher 'slrum'. Did you mean 'slurm'"),
        ('[[sweep.servers]]\nname = "a"\n[[sweep.servers]]\nname = "a"\n', "two servers are called 'a'"),
        ('[sweep.baseline]\n[[sweep.servers]]\nname = "baseline"\n', "'baseline' is one of the baseline's"),
        ('[sweep.baseline]\nname = "b"\n[[sweep.servers]]\nname = "b-12"\n', "'b-12' is one of the baseline's"),
        ('[sweep.baseline]\nname = "../b"\n[[sweep.servers]]\nname = "a"\n', "cannot name a folder"),
        ('[[sweep.servers]]\nname = "a\\nb"\n', "cannot name a folder"),
        (f'[[sweep.servers]]\nflags = "--x {"y" * 300}"\n', "too long for a file"),
        ('[[sweep.servers]]\nname = "a/b"\n', "cannot name a folder"),
        ('[sweep.axes]\nspeed = ["x"]\n', "unknown axis 'speed'"),
        ('batch = "two"\n[[sweep.servers]]\nname = "a"\n', "Expected `int`"),
        ('[sweep.workload]\nprompts = "none.jsonl"\n[[sweep.servers]]\nname = "a"\n', "prompts cannot be read"),
        ('launch = "python3 \'x"\n[[sweep.servers]]\nname = "a"\n', "launch = .*No closing quotation"),
        ('launch = ""\n[[sweep.servers]]\nname = "a"\n', "launch names no program"),
        ('command = " "\n[[sweep.servers]]\nname = "a"\n', "command names no program"),
        ('[[sweep.servers]]\nname = "a"\nflags = "--x \'y"\n', "servers.flags = .*No closing quotation"),
        ('[sweep.axes]\nflags = ["--x \'y"]\n', "axes.flags = .*No closing quotation"),
        ('batch = 0\n[[sweep.servers]]\nname = "a"\n', r"Expected `int` >= 1 - at `\$\.batch`"),
        ('start_port = 700000\n[[sweep.servers]]\nname = "a"\n', r"<= 65535 - at `\$\.start_port`"),
        *((f'[sweep.workload]\n{line}\n[[sweep.servers]]\nname = "a"\n', words) for line, words in OUT_OF_RANGE),
        ('[sweep.workload]\nthinking = false\n[[sweep.servers]]\nname = "a"\n', "a switch of the chat template"),
        ('[sweep.workload]\nthinking = "off"\n[[sweep.servers]]\nname = "a"\n', "Expected `bool"),
        ('[sweep.workload]\nchat_template = "none"\n[[sweep.servers]]\nname = "a"\n', "there is no chat template"),
        ('[sweep.workload]\nprompts = "random-ids"\ninput_tokens = 8\nvocab_size = 9\nchat_template = "t"\n'
         '[[sweep.servers]]\nname = "a"\n', "which no chat template is put around"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_advice(tmp_path: Path, sweep: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        _read(tmp_path, sweep)

    assert caught.value.hint
    assert str(tmp_path) in (caught.value.where or "")


@pytest.mark.parametrize("kind", ["EAGLE-3", "EAGLE3"])
def test_a_misspelt_kind_of_drafter_is_told_with_the_kinds_there_are(tmp_path: Path, kind: str) -> None:
    (tmp_path / "campaign.toml").write_text(f'{HEAD}[[drafters]]\nname = "d"\nkind = "{kind}"\n[sweep]\ntarget = "t"\n')

    with pytest.raises(InputError, match="Invalid enum value") as caught:
        read_sweep(tmp_path)

    assert "Did you mean 'eagle3'" in (caught.value.hint or "")
    assert "dflash" in (caught.value.hint or "")


def test_prompts_that_are_not_made_yet_are_told_with_both_places(tmp_path: Path) -> None:
    models = tmp_path / "elsewhere"
    models.mkdir()
    (tmp_path / "campaign.toml").write_text(
        f'{HEAD}[sweep]\ntarget = "t"\n[sweep.workload]\nprompts = "made.jsonl"\n[[sweep.servers]]\nname = "a"\n'
    )

    with pytest.raises(InputError, match=r"prompts cannot be read: there is no made\.jsonl") as caught:
        read_sweep(tmp_path, models=models)

    assert f"{models} or {tmp_path}" in str(caught.value)
    assert "--models" in (caught.value.hint or "")


def test_a_misspelt_table_is_named_with_what_was_probably_meant(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(f"{HEAD}[sweeep]\n")

    with pytest.raises(InputError, match="Did you mean 'sweep'"):
        read_sweep(tmp_path)


@pytest.mark.parametrize("path", ["/nowhere/d", "./nowhere", "~/nowhere-at-all", "a/b/c", "models/d9"])
def test_a_drafter_that_can_only_be_a_path_and_is_not_there_is_refused_before_launch(tmp_path: Path, path: str) -> None:
    (tmp_path / "models" / "t").mkdir(parents=True)
    plan = _read(tmp_path, f'[[sweep.servers]]\nname = "a"\ndrafter = "{path}"\nalgorithm = "NGRAM"\n')

    (checked,) = check_all(plan)

    assert [finding.code for finding in checked.refused_by] == ["MODEL_PATH_NOT_FOUND"]
    assert "--models" in (checked.refused_by[0].fix or "")


@pytest.mark.parametrize(
    ("sweep", "path"),
    [("", "owner/name"), ("", "gpt2"), ('launcher = "template"\ntemplate = "ssh -tt gpu {command}"\n', "/nowhere/d")],
)
def test_a_hub_id_or_another_machines_path_is_left_alone(tmp_path: Path, sweep: str, path: str) -> None:
    plan = _read(tmp_path, f'{sweep}[[sweep.servers]]\nname = "a"\ndrafter = "{path}"\nalgorithm = "NGRAM"\n')

    assert check_all(plan)[0].refused_by == ()


@pytest.mark.parametrize(
    ("launch", "prefix"),
    [
        ("python3 -m sglang.launch_server", "none"),
        ("taskset -c 0-3 python3 -m sglang.launch_server", "taskset -c 0-3"),
        ("numactl --cpunodebind=0 vllm serve", "numactl --cpunodebind=0"),
        ("./serve.sh", None),
    ],
)
def test_what_pins_or_wraps_a_server_is_told_from_its_program(launch: str, prefix: str | None) -> None:
    assert launch_prefix(split_words(launch)) == prefix


def test_a_campaign_without_a_sweep_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(HEAD)

    with pytest.raises(InputError, match=r"no \[sweep\]"):
        read_sweep(tmp_path)


def test_the_digest_changes_with_what_is_served_and_asked_but_not_with_the_port(tmp_path: Path) -> None:
    server = '[[sweep.servers]]\nname = "a"\n'
    first = _read(tmp_path, server)
    other_port = _read(tmp_path, f"start_port = 40000\n{server}")
    other_flag = _read(tmp_path, f'flags = "--x"\n{server}')
    other_load = _read(tmp_path, f"[sweep.workload]\noutput_tokens = 8\n{server}")

    digests = [plan.arms[0].digest(plan.bench) for plan in (first, other_port, other_flag, other_load)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_what_measures_is_part_of_the_digest(tmp_path: Path) -> None:
    told = ("", "streamed_fraction = 0.05\n", "streamed_fraction = 1\n", 'route = "openai"\n')
    sweeps = [f"[sweep.workload]\n{line}" for line in told] + ['command = "own {url}"\n', 'command = "other {url}"\n']
    plans = [_read(tmp_path, f'{sweep}[[sweep.servers]]\nname = "a"\n') for sweep in sweeps]

    assert len({plan.arms[0].digest(plan.bench) for plan in plans}) == 6


def test_the_chat_template_and_thinking_are_asked_of_every_server_and_are_part_of_the_digest(tmp_path: Path) -> None:
    (tmp_path / "models" / "t").mkdir(parents=True)
    (tmp_path / "models" / "t" / "chat_template.jinja").write_text("<user>{{ messages[0].content }}")
    server = '[[sweep.servers]]\nname = "a"\n'
    template = f'[sweep.workload]\nchat_template = "models/t"\n{server}'
    plans = [
        _read(tmp_path, server),
        _read(tmp_path, template),
        _read(tmp_path, template.replace(server, f"thinking = true\n{server}")),
        _read(tmp_path, template.replace(server, f"thinking = false\n{server}")),
    ]

    none, told = plans[0].bench.workload(), plans[3].bench.workload()
    assert (none.template_digest, none.thinking) == (None, None)
    assert told.template_digest is not None
    assert told.thinking is False
    assert len({plan.arms[0].digest(plan.bench) for plan in plans}) == 4


@pytest.mark.parametrize(
    ("baseline", "batch", "expected"),
    [
        ("resident = true", 2, [["a", "b"], ["c"]]),
        ("every = 1", 1, [["baseline-1"], ["a"], ["baseline-2"], ["b"], ["baseline-3"], ["c"], ["baseline-4"]]),
        ("every = 2", 1, [["baseline-1"], ["a"], ["b"], ["baseline-2"], ["c"], ["baseline-3"]]),
        ("every = 1", 3, [["baseline-1", "a"], ["baseline-2", "b"], ["baseline-3", "c"], ["baseline-4"]]),
    ],
)
def test_batches_hold_what_starts_together(
    tmp_path: Path, baseline: str, batch: int, expected: list[list[str]]
) -> None:
    servers = "".join(f'[[sweep.servers]]\nname = "{name}"\n' for name in "abc")
    plan = _read(tmp_path, f"batch = {batch}\n[sweep.baseline]\n{baseline}\n{servers}")

    batches = list(schedule(plan, plan.arms))

    assert [[item.name for item in group.items] for group in batches] == expected
    assert all((group.resident is not None) == ("resident" in baseline) for group in batches)


def test_names_of_baselines_go_on_after_earlier_calls(tmp_path: Path) -> None:
    plan = _read(tmp_path, '[sweep.baseline]\n[[sweep.servers]]\nname = "a"\n')

    names = [item.name for group in schedule(plan, plan.arms, baselines=3) for item in group.items]

    assert names == ["baseline-4", "a", "baseline-5"]


def test_the_expected_time_is_what_the_plan_adds_up_to(tmp_path: Path) -> None:
    servers = "".join(f'[[sweep.servers]]\nname = "{name}"\n' for name in "abc")
    plan = _read(
        tmp_path,
        "batch = 2\nstart_estimate_s = 100\nstream_tok_s_estimate = 50\n[sweep.baseline]\nresident = true\n"
        f"[sweep.workload]\noutput_tokens = 100\nloads = [{{concurrency = 1, requests = 10}}]\n{servers}",
    )

    expected = estimate(plan, check_all(plan))

    assert (expected.servers, expected.batches, expected.baseline_measurements) == (3, 2, 5)
    assert expected.start_s == 200
    # 8 measurements of 10 x 100 tokens at 50 tok/s
    assert expected.measure_s == pytest.approx(160)
    assert expected.gpu_hours == pytest.approx(4 * 360 / 3600)

    done = {item.arm.digest(plan.bench) for item in check_all(plan) if item.arm.name in ("a", "b")}
    rest = estimate(plan, check_all(plan), done=done)
    assert (rest.servers, rest.done_before, rest.batches, rest.baseline_measurements) == (1, 2, 1, 2)


def test_a_batch_of_chosen_servers_holds_different_configurations_first(tmp_path: Path) -> None:
    plan = _read(
        tmp_path,
        '[sweep.axes]\ndrafter = ["d1", "d2"]\nalgorithm = ["EAGLE3"]\nshape = ["3-1-4"]\n'
        '[[sweep.servers]]\nname = "five"\ndrafter = "d1"\nalgorithm = "EAGLE3"\nshape = "5-1-6"\n',
    )
    five, three, again = plan.arms

    assert [arm.name for arm in different_first([three, again, five])] == [three.name, "five", again.name]
