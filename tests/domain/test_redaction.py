"""No planted secret survives, and nothing else is lost."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.domain.redaction import (
    REDACTED,
    clean_bytes,
    clean_text,
    is_secret_name,
    mask_host,
    mask_path,
    mask_text,
    mask_user,
    mask_value,
    redact_argv,
    redact_bytes,
    redact_mapping,
    redact_text,
)

SECRET = "s3cr3t-Pa55-9f8e7d"
# A secret as people choose them: no white space, no quotes, does not look like a flag.
secrets = st.text(string.ascii_letters + string.digits + "._~+/@!%^*-", min_size=5, max_size=40).map("Zq7".__add__)


@pytest.mark.parametrize(
    "name",
    [
        "--api-key", "api_key", "apiKey", "--admin-api-key", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "ssl_keyfile_password", "MLFLOW_TRACKING_PASSWORD", "passwd",
        "client_secret", "Authorization", "x-api-key", "accessToken", "auth_tokens", "WANDB_API_KEY", "Set-Cookie",
    ],
)  # fmt: skip
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "speculative_num_draft_tokens", "max_total_tokens", "tokenizer_path", "bos_token", "eos_token_id", "mask_token",
        "ssl_keyfile", "output_tokens", "token_usage", "author", "monkey", "speculative_token_map", "key",
    ],
)  # fmt: skip
def test_names_that_only_look_like_secrets_are_left_alone(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "argv",
    [
        ["python", "--api-key", SECRET, "--tp", "8"],
        ["python", f"--api-key={SECRET}", "--tp", "8"],
        ["python", "--api-k", SECRET, "--tp", "8"],
        ["python", "--api", SECRET, "--tp", "8"],
        ["env", f"HF_TOKEN={SECRET}", "python", "--tp", "8"],
        ["docker", "run", "-e", f"HF_TOKEN={SECRET}", "image", "--tp", "8"],
        ["curl", "-H", f"Authorization: Bearer {SECRET}", "--tp", "8"],
        ["bash", "-c", f"HF_TOKEN={SECRET} sglang serve --api-key '{SECRET}' --x", "--tp", "8"],
        ["vllm", "--speculative-config", json.dumps({"model": "x", "token": SECRET}), "--tp", "8"],
        ["bench", "--base-url", f"https://user:{SECRET}@host:30000/v1", "--tp", "8"],
        ["bench", "--ssl-keyfile-password", SECRET, "--tp", "8"],
    ],
)
def test_a_secret_in_a_command_line_is_replaced_and_its_neighbours_stay(argv: list[str]) -> None:
    redacted = redact_argv(argv)

    assert SECRET not in " ".join(redacted)
    assert REDACTED in " ".join(redacted)
    assert redacted[0] == argv[0]
    assert redacted[-2:] == ("--tp", "8")


def test_a_flag_after_a_secret_flag_without_value_is_not_taken_for_the_secret() -> None:
    assert redact_argv(["--api-key", "--tp", "8"]) == ("--api-key", "--tp", "8")


def test_a_command_line_without_secrets_is_returned_word_for_word(shared_data: Path) -> None:
    for path in sorted(shared_data.glob("h200-tiny-llama/*/argv.json")):
        argv = json.loads(path.read_text())

        assert list(redact_argv(argv)) == argv


def test_server_descriptions_and_logs_without_secrets_are_unchanged_to_the_byte(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama"
    paths = [*folder.glob("*/server_info.json"), *folder.glob("*/server.log"), *folder.glob("*/metrics.prom")]
    assert paths

    for path in paths:
        body = path.read_bytes()
        assert redact_bytes(body) == body, path
        assert clean_bytes(body) == body, path


def test_nested_mappings_keep_their_shape_and_lose_their_secrets() -> None:
    info = {
        "api_key": SECRET,
        "speculative_num_draft_tokens": 4,
        "hf_token": None,
        "bos_token": "<s>",
        "auth": {"user": "x", "password": SECRET},
        "internal_states": [{"api_key": SECRET, "tp_size": 8}],
        "launch_command": ["python", "--api-key", SECRET, "--tp", "8"],
        "command": f"python --api-key {SECRET} --tp 8",
        "env": [{"name": "HF_TOKEN", "value": SECRET}],
        "pad_token_id": 2,
    }

    redacted = redact_mapping(info)

    assert SECRET not in json.dumps(redacted)
    assert set(redacted) == set(info)
    assert redacted["speculative_num_draft_tokens"] == 4
    assert redacted["hf_token"] is None
    assert redacted["bos_token"] == "<s>"
    assert redacted["internal_states"][0]["tp_size"] == 8
    assert redacted["launch_command"] == ["python", "--api-key", REDACTED, "--tp", "8"]
    assert redacted["command"] == f"python --api-key {REDACTED} --tp 8"


TEMPLATES = (
    "--api-key {}",
    "--api-key={}",
    "--api-key '{}'",
    'server_args=ServerArgs(api_key="{}", tp_size=8)',
    "server_args=ServerArgs(api_key='{}', tp_size=8)",
    "server_args={{'api_key': '{}', 'tp_size': 8}}",
    '{{"admin_api_key": "{}", "tp_size": 8}}',
    '{{"text": "{{\\"api_key\\": \\"{}\\"}}"}}',
    "export HF_TOKEN={}",
    "OPENAI_API_KEY='{}' vllm serve x",
    "Authorization: Bearer {}",
    '"Authorization": "Bearer {}"',
    "authorization=Basic {}",
    "password: {}",
    "MLFLOW_TRACKING_PASSWORD={}",
    "https://host/x?token={}&y=1",
    "[2026-11-30 00:09:27] starting with token={}",
)


@pytest.mark.parametrize("template", TEMPLATES)
@settings(deadline=None)  # machines that are shared pause
@given(secret=secrets)
def test_a_planted_secret_never_survives_in_a_text(template: str, secret: str) -> None:
    text = template.format(secret)

    assert secret not in redact_text(text)
    assert secret not in redact_bytes(text.encode()).decode()


@settings(deadline=None)  # machines that are shared pause
@given(user=secrets.filter(lambda s: "/" not in s and "@" not in s), password=secrets.filter(lambda s: "/" not in s))
def test_credentials_leave_an_address_and_the_host_stays(user: str, password: str) -> None:
    text = redact_text(f"see https://{user}:{password}@models.example.org:8443/v1 for more")

    assert password not in text
    assert text == f"see https://{REDACTED}@models.example.org:8443/v1 for more"


@pytest.mark.parametrize(
    "token",
    [
        "hf_" + "a1B2" * 8, "sk-proj-" + "a1B2" * 6, "ghp_" + "a1B2" * 9, "AKIA" + "ABCD1234" * 2,
        "glpat-" + "a1B2" * 5, "nvapi-" + "a1B2" * 6, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)  # fmt: skip
def test_a_token_of_a_known_shape_is_removed_wherever_it_stands(token: str) -> None:
    assert token not in redact_text(f"loaded with {token}, fine")


def test_a_private_key_block_is_removed_even_when_it_is_cut_off() -> None:
    whole = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nb"

    assert redact_text(whole) == f"a\n{REDACTED}\nb"
    assert "MIIabc" not in redact_text(whole.partition("-----END")[0])


@settings(deadline=None)  # machines that are shared pause
@given(st.text(max_size=200))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)

    assert redact_text(once) == once


@settings(deadline=None)  # machines that are shared pause
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=10,
    )
)
def test_a_planted_key_is_found_at_any_depth(value: object) -> None:
    redacted = json.dumps(redact_mapping({"a": [{"b": value, "api_key": SECRET}]}))

    assert SECRET not in redacted


def test_a_long_word_run_is_read_in_linear_time() -> None:
    text = "a" * 200_000 + " " + "key" * 50_000

    assert redact_text(text) == text


@pytest.mark.parametrize(
    ("path", "masked"),
    [
        ("/home/alice/models/kimi", "~/models/kimi"),
        ("/Users/alice/models", "~/models"),
        ("/root/models", "~/models"),
        ("/home/alice", "~"),
        ("C:\\Users\\bob\\x", "~\\x"),
        ("/mnt/nfs/home/alice/x", "/mnt/nfs/home/[user]/x"),
        ("/models/kimi", "/models/kimi"),
        ("moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.5"),
        ("/rootless/x", "/rootless/x"),
        ("https://example.org/home/alice", "https://example.org/home/alice"),
        ("loading '/home/alice/m' and /home/bob/n", "loading '~/m' and ~/n"),
    ],
)
def test_home_folders_become_a_tilde(path: str, masked: str) -> None:
    assert mask_path(path) == masked
    assert mask_path(masked) == masked


def test_users_and_hosts_get_stable_stand_ins_and_loopback_stays() -> None:
    assert mask_user("alice") == mask_user("alice") != mask_user("bob")
    assert mask_user(mask_user("alice")) == mask_user("alice")
    assert "alice" not in mask_user("alice")
    assert mask_host("127.0.0.1") == "127.0.0.1"
    assert mask_host("0.0.0.0:30000") == "0.0.0.0:30000"
    assert mask_host("gpu-17.corp.example").startswith("host-")
    assert mask_host("10.1.2.3:5000").endswith(":5000")
    assert mask_host(mask_host("10.1.2.3:5000")) == mask_host("10.1.2.3:5000")


def test_addresses_in_texts_are_masked_and_versions_stay() -> None:
    text = "from 10.0.12.7 by alice@corp.example, nvidia-curand==10.3.9.90, flashinfer 0.2.6.1, http://8.8.8.8:80/x"

    masked = mask_text(text)

    assert "10.0.12.7" not in masked
    assert "alice" not in masked
    assert "8.8.8.8" not in masked
    assert "nvidia-curand==10.3.9.90, flashinfer 0.2.6.1" in masked


def test_address_fields_of_a_description_are_masked_by_name() -> None:
    masked = mask_value({"host": "gpu-17", "dist_init_addr": "gpu-17:5000", "model_path": "/home/alice/m", "port": 1})

    assert masked["host"].startswith("host-")
    assert masked["dist_init_addr"] == masked["host"] + ":5000"
    assert masked["model_path"] == "~/m"
    assert masked["port"] == 1


def test_cleaning_does_both() -> None:
    assert clean_text(f"/home/alice/x --api-key {SECRET}") == f"~/x --api-key {REDACTED}"


FOUND_IN_TEXT = [
    "export OPENAI_KEY={}", "DB_PASS={}", "PGPASSWORD={} psql", "HFTOKEN={}", "AUTH_HEADER={}", "setenv HF_TOKEN {}",
    "ENV HF_TOKEN {}", "os.environ['HF_TOKEN'] = '{}'", "--api-key \\\n    {}", '["--api-key","{}"]',
    "non-default args: {{'api_key': ['{}', '{}'], 'port': 1}}", "'api_key': ['{}', '", "api_key=b'{}'",
    'api_key = """{}"""', "password: |\n  {}\n", "password: >-\n  {}\n", "curl -u user:{} http://host",
    "curl --user 'user:{}' http://host", "sshpass -p {} ssh host", "wandb login {}", "postgresql://u:p/{}@db:5432/x",
    "https://host/x#access_token={}", "https://hooks.slack.com/services/T0/B0/{}", "SharedAccessSignature={}",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
]  # fmt: skip


@pytest.mark.parametrize("template", FOUND_IN_TEXT)
def test_a_secret_is_found_as_scripts_manifests_and_tools_write_it(template: str) -> None:
    cleaned = redact_text(template.format(*["Zq8xK2mVt7LpWn4R"] * 2))

    assert "Zq8xK2mVt7LpWn4R" not in cleaned
    assert redact_text(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "docker run --user 1000:1000 -u 0:0 image", "option=KEY", "--tag option=KEY", "first_pass: 3 of 4",
        "sort_key=x", "http://127.0.0.1:8000/v1/models/a@main", "env python -m x", "'output_tokens': [1, 2, 3]", "hf://o/n@rev",
    ],
)  # fmt: skip
def test_what_only_resembles_such_a_secret_stays(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "body",
    [
        '{{"api_key":"{}","api_key":null}}', '{{"api_key":"{}","api_key":"[redacted]"}}',
        '{{"password":["{}"],"b":"\\ud800"}}',
        '{{"a":1}}\n{{"password":{{"v":"{}"}}}}\n', '{{"a":1}}\n{{"api\\u005fkey":"{}"}}\n',
        'data: {{"token":["{}"]}}\n\ndata: [DONE]\n', "name,api_key\n\"" + "x" * 140_000 + "\",{}\n",
    ],
)  # fmt: skip
def test_json_however_it_is_written_and_a_table_of_long_cells_lose_their_secrets(body: str) -> None:
    assert b"Zq8xK2mVt7LpWn4R" not in redact_bytes(body.format("Zq8xK2mVt7LpWn4R").encode())


def test_an_answer_in_another_encoding_of_json_loses_its_secrets() -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        assert SECRET not in redact_bytes(json.dumps({"api_key": SECRET}).encode(encoding)).decode(errors="replace")


def test_lines_longer_than_a_csv_cell_and_deep_documents_are_returned_as_they_are() -> None:
    details = json.dumps({"itls": [0.25] * 40_000}) + "\n"
    for body in (details * 2, "[" * 90 + "]" * 90, "[" * 100_000, "x" * 200_000 + "\ty\n"):
        assert redact_bytes(body.encode()) == body.encode()


def test_what_is_nested_deeper_than_any_description_is_left_out_as_a_whole() -> None:
    deep: Any = SECRET
    for _ in range(150):
        deep = {"a": [deep]}

    assert SECRET not in json.dumps(redact_mapping(deep))
    assert SECRET not in redact_bytes(json.dumps(deep).encode()).decode()


def test_a_user_of_a_command_keeps_the_name_and_loses_the_password() -> None:
    assert redact_argv(["curl", "-u", "anna:Zq8x", "url"]) == ("curl", "-u", f"anna:{REDACTED}", "url")
    assert redact_argv(["docker", "run", "--user", "1000:1000"]) == ("docker", "run", "--user", "1000:1000")
