"""Names whose values are secrets: of flags, keys, columns and variables."""

from __future__ import annotations

import re

_SENSITIVE_WORDS = (
    r"[a-z0-9]*api_?keys?|[a-z0-9]*passw(?:or)?d|passphrase|pwd|secrets?|credentials?(?:_json)?|creds|"
    r"auth(?:_header)?|authorization|bearer|cookies?|"
    r"(?:private|access|secret|signing|session|encryption|account|license|ssh)_?keys?(?:_id)?|"
    r"webhook(?:_url)?|connection_string|dsn|shared_?access_?signature|tokens?|hftoken"
)
_SECRET_NAME = re.compile(rf"(?:^|_)(?:{_SENSITIVE_WORDS})$")
# Variables of an environment: OPENAI_KEY, DB_PASS. In lower case these words mean other things, and KEY alone a place.
_SECRET_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|PASS|PAT)|PASS")
# Tokens of a vocabulary, and counts of them, share the word with tokens that open doors.
_HARMLESS_TOKEN = re.compile(
    r"(?:^|_)(?:bos|eos|eot|eod|pad|unk|mask|sep|cls|image|audio|video|stop|start|end|special|draft|noise|separator|"
    r"num|max|min|total|new|input|output|prompt|completion|generated|cached|reasoning|train|training|per|by|of)_tokens?$"
)
_PLURAL_TOKENS = re.compile(r"(?:^|_)tokens$")
_SECRET_PLURAL_TOKENS = re.compile(r"(?:api|auth|access|refresh|bearer|hf|hub)_tokens$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# argparse accepts these abbreviations of SGLang's and vLLM's key flags.
_KEY_FLAG = re.compile(r"--(?:admin(?:-a(?:p(?:i(?:-k(?:ey?)?)?)?)?)?|api(?:-k(?:ey?)?)?)")


def is_secret_name(name: str) -> bool:
    """Return whether a flag, key or variable of this name holds a secret: `--api-key`, `HF_TOKEN`, `sslPassword`."""
    bare = name.strip().lstrip("-")
    if _SECRET_VARIABLE.fullmatch(bare):
        return True
    snake = re.sub(r"[-.\s]+", "_", _CAMEL.sub("_", bare)).lower()
    if _HARMLESS_TOKEN.search(snake):
        return False
    if _PLURAL_TOKENS.search(snake):
        return bool(_SECRET_PLURAL_TOKENS.search(snake))
    return bool(_SECRET_NAME.search(snake))


def is_secret_flag(name: str) -> bool:
    """Return whether a flag of this name, abbreviated as argparse allows it, is followed by a secret."""
    return is_secret_name(name) or _KEY_FLAG.fullmatch(name) is not None
