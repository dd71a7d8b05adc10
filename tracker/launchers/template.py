"""A server started by a command of the user's: ssh, docker, srun or a script around the server's command."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from tracker.errors import UsageError
from tracker.launchers.base import LaunchSpec
from tracker.launchers.local import LocalServer, start_guarded

# One of these holds the server's command.
_PLACES = ("{command}", "{quoted}", "{argv}")
# They join their arguments with blanks for a shell on the other side.
_REMOTE_SHELLS = frozenset({"ssh", "rsh", "pdsh"})


class Template:
    """Starts servers through a command template.

    `{command}` is the server's command as one word for a shell (`ssh -tt gpu1 {command}`, `bash -lc "exec {command}"`),
    `{quoted}` the same quoted once more, for a shell behind a shell (`ssh -tt gpu1 bash -lc {quoted}`), `{argv}` its
    words one by one (`docker run --rm --gpus all image {argv}`, `srun {argv}`), `{name}` the configuration's name.
    Variables of the configuration come along as `env NAME=value` in front of the command, in all three. The command
    must stay in the foreground and end the server when it is ended itself (`ssh -tt`, `docker run --rm` without `-d`).
    """

    name = "template"

    def start(self, spec: LaunchSpec) -> LocalServer:
        """Start the command that the template makes.

        Raises:
            UsageError: There is no template, or it has no place for the command.
            ServerError: As for `Launcher.start`.
        """
        # The first ssh may leave a connection in the background (ControlPersist) that later ones share.
        return start_guarded(spec, expand(spec), whole_tree=False)


def expand(spec: LaunchSpec) -> tuple[str, ...]:
    """Return the command line that the template makes of the server's command.

    Raises:
        UsageError: There is no template, it cannot be read, has no place for the command, or would lose its quotes.
    """
    try:
        words = shlex.split(spec.template or "")
    except ValueError as error:
        raise UsageError(f"the command template cannot be read: {error}", where=spec.template) from error
    if not any(place in word for word in words for place in _PLACES):
        raise UsageError(
            "the launcher `template` needs a command with a place for the server's",
            where="[sweep] template",
            hint='Write e.g. template = "ssh -tt gpu1 {command}" or "docker run --rm --gpus all IMAGE {argv}".',
        )
    _refuse_lost_quotes(words)
    variables = [f"{name}={value}" for name, value in sorted(spec.environment.items())]
    argv = [*(["env", *variables] if variables else []), *spec.argv]
    command = shlex.join(argv)
    places = {"{command}": command, "{quoted}": shlex.quote(command), "{name}": spec.name}
    expanded: list[str] = []
    for word in words:
        # In one pass, so that nothing in the command itself is taken for a place.
        filled = re.sub(r"\{(?:command|quoted|name)\}", lambda found: places[found[0]], word)
        expanded += argv if word == "{argv}" else [filled]
    return tuple(expanded)


def _refuse_lost_quotes(words: list[str]) -> None:
    embedded = next((word for word in words if "{argv}" in word and word != "{argv}"), None)
    if embedded is not None:
        raise UsageError(
            f"{{argv}} stands inside {embedded!r}, where its words would run together",
            where="[sweep] template",
            hint="Inside a shell's text write {command}.",
        )
    if "{argv}" in words and PurePath(words[0]).name in _REMOTE_SHELLS:
        raise UsageError(
            f"{words[0]} hands its words to a shell, which would split them anew",
            where="[sweep] template",
            hint=f"Write {words[0]} ... {{command}}, which is quoted for it.",
        )


LAUNCHER = Template()
