"""The command line."""

import sys


def main() -> None:
    """The entry point. Ctrl-C while the commands are being imported is no error either."""
    try:
        from .app import main as carry_out
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    carry_out()
