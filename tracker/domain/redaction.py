"""Secrets out of command lines, mappings and texts; people and machines masked.

`redact_*` removes what would let a stranger in (keys, tokens, passwords, credentials in addresses).
`mask_*` hides who and where (users, hosts, home folders). `clean_*` does both, for texts that are kept.
Everything is pure and idempotent; when in doubt it removes too much rather than too little.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracker.domain.redacted_json import redact_documents
from tracker.domain.redacted_tables import redact_columns
from tracker.domain.redaction_names import is_secret_flag
from tracker.domain.redaction_names import is_secret_name as is_secret_name

REDACTED = "[redacted]"
MAX_LEVELS = 100

_WORD_PARTS = (
    r"key|token|pass|pwd|secret|cred|auth|bearer|cookie|webhook|connection_string|dsn|shared_?access_?signature"
)
# Bounded look-ahead and a possessive run: linear on any text, however it repeats the words.
_NAME = rf"(?P<name>-{{0,2}}(?=[A-Za-z0-9_.-]{{0,80}}?(?:{_WORD_PARTS}))[A-Za-z0-9_.-]++)"
_PAIR = re.compile(rf"""(?<![\w.#$-]){_NAME}\\*["']?\]?\s{{0,8}}(?:=>|:=|[:=])\s{{0,8}}""", re.IGNORECASE)
# What follows a flag may stand on the next line of a script, or be the next item of a list.
_FLAG = re.compile(
    rf"""(?<![^\s\[(,])(?:\\*["'])?(?:(?=-){_NAME}|(?P<short>--(?:admin|api)))"""
    rf"""(?:\\*["']\s{{0,8}},\s{{0,8}}|(?:\\*["'],?)?(?:\s{{1,8}}(?:\\\r?\n\s{{0,80}})?|=))(?=[^\s-])""",
    re.IGNORECASE,
)
_SETENV = re.compile(rf"(?<!\S)(?:setenv|env)\s{{1,8}}{_NAME}\s{{1,8}}(?=\S)", re.IGNORECASE)
_LINE = re.compile(
    rf"""^[ \t]*+(?:-[ \t]+)?{_NAME}\s{{0,8}}:[ \t]{{1,8}}(?=[^\s"'\\{{\[])""", re.IGNORECASE | re.MULTILINE
)
# No possessive group: before Python 3.11.5 one that can backtrack inside matches wrongly, and a secret would stay.
_QUOTED = r"""\\+".*?\\+"|\\+'.*?\\+'|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'"""
_LONG_QUOTED = r"""[bru]{0,2}\"{3}.*?\"{3}|[bru]{0,2}'{3}.*?'{3}"""
# A list or mapping without another inside; one that is cut off loses its first item.
_LISTED = (
    r"""\[(?!redacted\])[^\[\]]{0,4000}\]|\{[^{}]{0,4000}\}|\([^()]{0,4000}\)"""
    rf"""|[\[({{]\s{{0,8}}(?!redacted)(?:[bru]{{0,2}}(?:{_QUOTED})|[^\s"'&;]+)"""
)
_PAIR_VALUE = re.compile(rf"""{_LONG_QUOTED}|{_LISTED}|[bru]{{0,2}}(?:{_QUOTED})|[^\s"'&;]+""", re.DOTALL)
_FLAG_VALUE = re.compile(rf"""{_QUOTED}|\S+""", re.DOTALL)
# A block of YAML (`|`, `>-`) is what is indented below it.
_LINE_VALUE = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:\r?\n[ \t]+[^\n]*)+|.+")
# {'name': 'HF_TOKEN', 'value': '...'} in a log, and the two lines of a Kubernetes manifest.
_NAMED_VALUE = re.compile(
    rf"""(?P<head>\bname\\*["']?\s*[:=]\s*\\*["']?(?P<name>[A-Za-z][\w.-]{{0,80}})\\*["']?,?\s{{0,20}}"""
    rf"""\\*["']?value\\*["']?\s*[:=]\s*)(?P<value>{_QUOTED}|[^\s,}}]+)""",
    re.DOTALL,
)
_AUTH_HEADER = re.compile(
    r"""(?i)(?P<head>authorization\\*["']?\s*[:=]\s*\\*["']?(?:bearer|basic|digest|negotiate|token)\s+)[^\s"'\\]+"""
)
_BEARER = re.compile(r"(?i)\b(bearer(?:\s+|%20))(?!\[redacted\])[A-Za-z0-9._~+/=-]{8,}")
_AUTH_SCHEMES = frozenset({"bearer", "basic", "digest", "negotiate", "token"})
_URL_USERINFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?P<user>[^\s/?#\"'<>]+)@(?=[^\s@])")
# A password with a slash in it, which a port never is.
_SLASHED_USERINFO = re.compile(
    r"(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/?#\"'<>:@]{1,80}:(?!\d{1,5}/)[^\s\"'<>@]{1,200}@(?=[^\s@])"
)
_SIGNED_QUERY = re.compile(
    r"(?i)([?&#](?:sig|signature|x-amz-signature|x-goog-signature|code|key|(?:access_|id_|auth_)?token)=)[^\s&\"'#]+"
)
_WEBHOOK = re.compile(
    r"(?i)(https://(?:hooks\.slack\.com/(?:services|workflows)|(?:\w+\.)?discord(?:app)?\.com/api/webhooks)/)[^\s\"'<>]+"
)
# Commands that take a secret without a name: curl -u user:password, sshpass -p password, wandb login key.
_LOGIN = re.compile(
    r"""(?P<head>(?<!\S)(?:-u|--user|--proxy-user)(?:\s{1,8}|=)["']?[^\s:"'/$]{1,80}:)(?!\d+(?!\S))[^\s"']+"""
    r"""|(?P<command>\b(?:sshpass\s{1,8}-p\s{0,8}|wandb\s{1,8}login\s{1,8}(?:--relogin\s{1,8})?))(?!\[redacted\])[^\s-]\S*"""
)
_LOGIN_FLAGS = frozenset({"-u", "--user", "--proxy-user"})
# Not the user and group ids of a container, and not a variable.
_USER_AND_PASSWORD = re.compile(r"[^:/$]{1,80}:(?!\d+$).+", re.DOTALL)
_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Shapes that are secrets wherever they stand: Hugging Face, OpenAI, GitHub, GitLab, Slack, AWS, Google, NVIDIA, JWT,
# Stripe, npm, PyPI, Groq, Replicate, xAI, Together, Databricks, SendGrid, DigitalOcean, Vault, age.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|"
    r"github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|A[KS]IA[0-9A-Z]{16}|"
    r"AIza[0-9A-Za-z_-]{30,}|nvapi-[A-Za-z0-9_-]{20,}|"
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|gsk_[A-Za-z0-9]{20,}|"
    r"r8_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|tgp_v1_[A-Za-z0-9_-]{20,}|dapi[0-9a-f]{32}|ya29\.[A-Za-z0-9_-]{20,}|"
    r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}|dop_v1_[0-9a-f]{40,}|hvs\.[A-Za-z0-9_-]{20,}|"
    r"esecret_[A-Za-z0-9]{12,}|AGE-SECRET-KEY-1[0-9A-Z]{40,}|eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,2000})"
)
_NUMBERS = frozenset({int, float, bool, type(None)})
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?[,)\]}]*")
_EMPTY_VALUES = frozenset(
    {"none", "null", "true", "false", "''", '""', "none,", "none)", "null,", "null}", "[", "{", "("}
)

_POSIX_HOME = re.compile(r"(?<![\w.~/-])(?:/(?:home|Users)/[^/\s\"'\\:,;()\[\]{}]+|/root)(?=$|[/\s\"'\\:,;()\[\]{}])")
_NESTED_HOME = re.compile(r"(?<![\w.~/-])((?:/[\w.-]+)+/(?:home|Users)/)[^/\s\"'\\:,;()\[\]{}]+")
_WINDOWS_HOME = re.compile(r"\b[A-Za-z]:(\\{1,4}|/)Users\1[^\\/\s\"':,;]+")
_EMAIL = re.compile(r"(?<![\w.+/-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_PRIVATE_IPV4 = re.compile(
    rf"(?<![\w.=-])(?:10\.{_OCTET}|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))"
    rf"\.{_OCTET}\.{_OCTET}(?![\w.-])"
)
_PLACED_IPV4 = re.compile(
    rf"(?P<before>://|@|(?i:host|addr|address|ip)[\"']?\s*[=:]\s*[\"']?)(?P<ip>(?:{_OCTET}\.){{3}}{_OCTET})(?![\w.])"
)
_LOCAL_HOSTS = frozenset({"", "localhost", "0.0.0.0", "::", "::1", "[::]", "[::1]", "*"})  # noqa: S104 - compared, not bound
_ADDRESS_FIELDS = frozenset(
    {"host", "hostname", "dist_init_addr", "nccl_init_addr", "master_addr", "data_parallel_address"}
)


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command line with the values of secret flags, variables and addresses replaced."""
    cleaned: list[str] = []
    flag: str | None = None
    for word in argv:
        name, equals, value = word.partition("=")
        if flag in _LOGIN_FLAGS and _USER_AND_PASSWORD.fullmatch(word):
            cleaned.append(f"{word.partition(':')[0]}:{REDACTED}")
            flag = None
        elif flag is not None and flag not in _LOGIN_FLAGS and not word.startswith("--"):
            cleaned.append(REDACTED)
            flag = None
        elif word.startswith("-") and equals and is_secret_flag(name):
            cleaned.append(f"{name}={REDACTED}" if value else word)
            flag = None
        else:
            cleaned.append(redact_text(word))
            flag = (
                name if word.startswith("-") and not equals and (word in _LOGIN_FLAGS or is_secret_flag(name)) else None
            )
    return tuple(cleaned)


def redact_mapping(mapping: Mapping[str, Any], *, levels: int = MAX_LEVELS) -> dict[str, Any]:
    """Return a deep copy with the values of secret keys replaced and every text in it redacted."""
    named = mapping.get("name")
    holds_pair = isinstance(named, str) and is_secret_name(named)  # [{"name": "HF_TOKEN", "value": "..."}]
    return {
        key: _secret_value(str(key), value)
        if is_secret_name(str(key)) or (holds_pair and key == "value")
        else redact_value(value, levels=levels - 1)
        for key, value in mapping.items()
    }


def redact_value(value: Any, *, levels: int = MAX_LEVELS) -> Any:
    """Return a value of any JSON kind with the secrets in it replaced; lists of words are read as a command line.

    What is nested deeper than any description is replaced as a whole.
    """
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return redact_mapping(value, levels=levels) if levels > 0 else REDACTED
    if isinstance(value, (list, tuple)):
        if _NUMBERS.issuperset(map(type, value)):  # results hold millions of these
            return value if isinstance(value, tuple) else list(value)
        if levels <= 0:
            return REDACTED
        words = value and all(isinstance(item, str) for item in value)
        parts = redact_argv(value) if words else [redact_value(item, levels=levels - 1) for item in value]
        return tuple(parts) if isinstance(value, tuple) else list(parts)
    return value


def redact_text(text: str) -> str:
    """Return the text with secrets replaced: headers, addresses with credentials, `key=value`, known token shapes."""
    text = _PEM.sub(REDACTED, text)
    text = _URL_USERINFO.sub(rf"\g<scheme>{REDACTED}@", text)
    text = _SLASHED_USERINFO.sub(rf"\g<1>{REDACTED}@", text)
    text = _WEBHOOK.sub(rf"\g<1>{REDACTED}", text)
    text = _SIGNED_QUERY.sub(rf"\g<1>{REDACTED}", text)
    text = _LOGIN.sub(lambda match: (match["head"] or match["command"]) + REDACTED, text)
    text = _NAMED_VALUE.sub(_named_value, text)
    text = _replace_values(text, _LINE, _LINE_VALUE)
    text = _AUTH_HEADER.sub(rf"\g<head>{REDACTED}", text)
    text = _BEARER.sub(rf"\g<1>{REDACTED}", text)
    text = _replace_values(text, _FLAG, _FLAG_VALUE)
    text = _replace_values(text, _SETENV, _FLAG_VALUE)
    text = _replace_values(text, _PAIR, _PAIR_VALUE)
    return _SHAPES.sub(REDACTED, text)


def redact_bytes(body: bytes) -> bytes:
    """Return a file or answer without its secrets; unchanged to the byte where it holds none.

    JSON is read as such, so that a secret key is found whatever its value looks like, and so are the columns of a
    table; other texts by `redact_text`.
    """
    text = _decoded(body)
    redacted = redact_documents(text, redact_value, _redact_lines)
    return body if redacted == text else redacted.encode("utf-8", "surrogateescape")


def _redact_lines(text: str) -> str:
    return redact_text(redact_columns(text, is_secret_name, REDACTED))


def _decoded(body: bytes) -> str:
    """Return a text in whichever of JSON's encodings it is; bytes of none are kept as they are."""
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding if encoding.startswith(("utf-16", "utf-32")) else "utf-8")
    except UnicodeDecodeError:
        return body.decode("utf-8", "surrogateescape")


def mask_user(name: str) -> str:
    """Return a stable stand-in for a user name: `user-3f2a1c`."""
    return name if name.startswith("user-") and len(name) == 11 else f"user-{_short_digest(name)}"


def mask_host(name: str) -> str:
    """Return a stable stand-in for a host name or address, the port kept: `host-3f2a1c:30000`; loopback stays."""
    host, colon, port = name.rpartition(":") if re.fullmatch(r"(?:\[.*\]|[^:]*):\d+", name) else (name, "", "")
    if host.lower() in _LOCAL_HOSTS or host.startswith("127.") or re.fullmatch(r"host-[0-9a-f]{6}", host):
        return name
    return f"host-{_short_digest(host)}{colon}{port}"


def mask_path(text: str) -> str:
    """Return a path, or a text with paths in it, with home folders written as `~`."""
    text = _NESTED_HOME.sub(r"\g<1>[user]", text)
    return _WINDOWS_HOME.sub("~", _POSIX_HOME.sub("~", text))


def mask_text(text: str) -> str:
    """Return a text with home folders, e-mail addresses and machine addresses hidden."""
    text = _EMAIL.sub("[e-mail]", mask_path(text))
    text = _PLACED_IPV4.sub(lambda match: match["before"] + mask_host(match["ip"]), text)
    return _PRIVATE_IPV4.sub(lambda match: mask_host(match[0]), text)


def mask_value(value: Any, name: str = "") -> Any:
    """Return a value of any JSON kind with people and machines in it masked; `name` is the key that holds it."""
    if isinstance(value, str):
        return mask_host(value) if name in _ADDRESS_FIELDS else mask_text(value)
    if isinstance(value, Mapping):
        return {key: mask_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [mask_value(item) for item in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    return value


def clean_text(text: str) -> str:
    """Return a text as it may be kept: no secrets, no people, no machines."""
    return mask_text(redact_text(text))


def clean_bytes(body: bytes) -> bytes:
    """Return a file as it may be kept: no secrets, no people, no machines; unchanged to the byte where it held none."""
    redacted = redact_bytes(body).decode("utf-8", "surrogateescape")
    return mask_text(redacted).encode("utf-8", "surrogateescape")


def _secret_value(name: str, value: Any) -> Any:
    """Return what may be shown of a secret key's value: that it is unset, or a token's id."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, (int, float)) and "token" in name.lower():
        return value
    return REDACTED


def _replace_values(text: str, head: re.Pattern[str], value: re.Pattern[str]) -> str:
    """Return the text with the value after every secret name replaced; a harmless name's value is searched in turn."""
    parts: list[str] = []
    done = 0
    position = 0
    while (found := head.search(text, position)) is not None:
        position = max(found.end(), position + 1)
        name = found["name"] or "--api-key"
        held = value.match(text, found.end()) if is_secret_flag(name) else None
        if held is not None:
            parts += [text[done : held.start()], _stand_in(name, held[0])]
            done = position = held.end()
    return "".join([*parts, text[done:]])


def _named_value(match: re.Match[str]) -> str:
    """Return a name and its value as two entries, the value replaced where the name is a secret's."""
    if not is_secret_name(match["name"]):
        return match[0]
    return match["head"] + _stand_in(match["name"], match["value"])


def _stand_in(name: str, value: str) -> str:
    """Return what replaces the value of a secret name, in the value's own quotes; empty values stay."""
    if value.lower() in _EMPTY_VALUES or REDACTED in value:
        return value
    if name.lower().endswith("authorization") and value.lower().strip("\"'\\") in _AUTH_SCHEMES:
        return value  # the scheme; what follows it is already gone
    if name.lower().endswith("token") and _NUMBER.fullmatch(value):
        return value
    quote = re.match(r"""\\*["']""", value)
    if quote is not None and len(value) >= 2 * len(quote[0]) and value.endswith(quote[0]):
        return f"{quote[0]}{REDACTED}{quote[0]}"
    return REDACTED


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.lower().encode("utf-8", "surrogateescape")).hexdigest()[:6]
