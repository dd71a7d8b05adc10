"""A server started by a command of the user's: ssh, docker, srun or a script around the server's command."""

from __future__ import annotations

import shlex

from tracker.errors import UsageError
from tracker.launchers.base import LaunchSpec
from tracker.launchers.local import LocalServer, start_guarded

PLACEHOLDERS = ("{command}", "{argv}", "{name}")


class Template:
    """Starts servers through a command template.

    `{command}` is the server's command quoted as one word for a remote shell (`ssh gpu1 {command}`), `{argv}` its words
    one by one (`docker run --rm --gpus all image {argv}`), `{name}` the configuration's name. Variables of
    the configuration are put before `{command}` and are in the environment of the local command. The command must stay
    in the foreground and end the server when it is ended itself (`ssh -tt`, `docker run --rm` without `-d`).
    """

    name = "template"

    def start(self, spec: LaunchSpec) -> LocalServer:
        """Start the command that the template makes.

        Raises:
            UsageError: There is no template, or it has no place for the command.
            ServerError: As for `Launcher.start`.
        """
        return start_guarded(spec, expand(spec))


def expand(spec: LaunchSpec) -> tuple[str, ...]:
    """Return the command line that the template makes of the server's command.

    Raises:
        UsageError: There is no template, it cannot be read, or it has no place for the command.
    """
    try:
        words = shlex.split(spec.template or "")
    except ValueError as error:
        raise UsageError(f"the command template cannot be read: {error}", where=spec.template) from error
    if not any(mark in word for word in words for mark in PLACEHOLDERS[:2]):
        raise UsageError(
            "the launcher `template` needs a command with a place for the server's",
            where="[sweep] template",
            hint='Write e.g. template = "ssh -tt gpu1 {command}" or "docker run --rm --gpus all IMAGE {argv}".',
        )
    variables = [f"{name}={value}" for name, value in sorted(spec.environment.items())]
    command = shlex.join([*(["env", *variables] if variables else []), *spec.argv])
    expanded: list[str] = []
    for word in words:
        if word == "{argv}":
            expanded += spec.argv
        else:
            expanded.append(word.replace("{command}", command).replace("{name}", spec.name))
    return tuple(expanded)


LAUNCHER = Template()
