"""A group of commands that says what each does in whole sentences, and what a misspelt one was meant to be."""

from __future__ import annotations

import difflib

import click

_LONGEST_SENTENCE = 200


class Group(click.Group):
    """click's group cuts every sentence at the terminal's width; here it wraps."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the first sentence of its help."""
        names = self.list_commands(ctx)
        commands = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_LONGEST_SENTENCE)) for name, command in commands])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named.

        Raises:
            click.UsageError: There is none of this name; says which was meant, it seems.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from error
