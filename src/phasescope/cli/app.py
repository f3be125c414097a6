"""The command line: its commands in the order of `phasescope --help`, and the entry point.

A command is a module of `commands`; its arguments and flags are declared in `flags`, what it prints is in `output`.
"""

from __future__ import annotations

import typer

from . import flags
from .commands.check import check
from .commands.draw import draw
from .commands.errata import errata
from .commands.export import export
from .commands.fork import fork
from .commands.list import list_
from .commands.map import map_
from .commands.new import new
from .commands.probe import probe
from .commands.repair import repair
from .commands.report import report
from .commands.run import run
from .commands.runs import runs
from .commands.serve import serve
from .commands.sweep import sweep
from .ending import carry_out
from .exit_codes import in_help
from .once import Once

app = typer.Typer(
    help="A laboratory for the training dynamics of transformers.\n\nExample: phasescope check regular_language",
    epilog=in_help(),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def options(version: flags.Version = False) -> None:
    """What holds for every command; the text of `phasescope --help` is given above."""


COMMANDS = {
    "list": list_,
    "run": run,
    "sweep": sweep,
    "check": check,
    "draw": draw,
    "map": map_,
    "report": report,
    "errata": errata,
    "runs": runs,
    "serve": serve,
    "fork": fork,
    "export": export,
    "probe": probe,
    "repair": repair,
    "new": new,
}

for name, command in COMMANDS.items():
    app.command(name, cls=Once)(command)


def main() -> None:
    """The entry point: errors become one clear line, warnings one line each; see `exit_codes`."""
    carry_out(app)
