"""What the exit code of a command says; `phasescope --help` and docs/trust.md list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..errors import PhasescopeError, RunDiverged, StoreError, StudyBroken, SweepIncomplete

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger

CHANGED = 1  # of `check`, `report`: a word changed; `repair`: damage; `probe`: two checkpoints are the same
BAD_INPUT = 2
NOT_CARRIED_OUT = 3  # of `check` and `report`
BROKEN_STUDY = 4
DIVERGED = 5
UNREADABLE = 6
INCOMPLETE = 7
OUR_FAULT = 70
HUNG_UP = 129
INTERRUPTED = 130
TERMINATED = 143

MEANINGS = {
    0: "done; of `check` and `report`: every word is the established one",
    CHANGED: "`check`, `report`: a word changed. `repair`: something was damaged. `probe`: two checkpoints are the same",
    BAD_INPUT: "bad input: what was asked for does not exist, or cannot be done",
    NOT_CARRIED_OUT: "`check`, `report`: a check could not be carried out",
    BROKEN_STUDY: "a study is broken: it does not load, or its own code failed",
    DIVERGED: "the run left the finite numbers",
    UNREADABLE: "a store, or another file, cannot be read or written",
    INCOMPLETE: "a sweep is incomplete; the same command goes on with what is not stored",
    OUR_FAULT: "an error of phasescope itself",
    HUNG_UP: "stopped because its terminal was closed (SIGHUP)",
    INTERRUPTED: "stopped by Ctrl-C",
    TERMINATED: "stopped by SIGTERM",
}


def code_of(error: PhasescopeError) -> int:
    """The exit code of an error that was raised on purpose."""
    if isinstance(error, StudyBroken):
        return BROKEN_STUDY
    if isinstance(error, RunDiverged):
        return DIVERGED
    if isinstance(error, SweepIncomplete):
        return INCOMPLETE
    if isinstance(error, StoreError):
        return UNREADABLE
    return BAD_INPUT


def exit_with(ledger: Ledger) -> None:
    """End with the code that says what the ledger found."""
    if ledger.errors:
        raise typer.Exit(NOT_CARRIED_OUT)
    if ledger.surprises:
        raise typer.Exit(CHANGED)


def in_help() -> str:
    """The list at the end of `phasescope --help`."""
    return "Exit codes: " + "; ".join(f"{code}: {said}" for code, said in MEANINGS.items()) + "."
