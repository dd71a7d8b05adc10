"""Where the `tracker` script begins: Ctrl-C while the command line is being loaded ends it as quietly as later."""

from __future__ import annotations

import sys

INTERRUPT_EXIT = 130


def main() -> None:
    """Load the command line and run it."""
    try:
        from tracker.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(INTERRUPT_EXIT)
