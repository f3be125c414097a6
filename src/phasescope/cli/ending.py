"""How a command ends: with one line on standard error for whatever went wrong, and an exit code that says which."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ..discovery import installed
from ..engine.interrupts import HANG_UP, SIGNALS
from ..errors import PhasescopeError
from ..verbs.under_way import is_run_under_way
from .catalogue import source_folder
from .exit_codes import (
    BAD_INPUT,
    BROKEN_STUDY,
    HUNG_UP,
    INTERRUPTED,
    OUR_FAULT,
    TERMINATED,
    UNREADABLE,
    code_of,
)
from .terminal import leave_broken_pipe, print_nowhere, show_problem

STOPPED = "Stopped. What was done is kept; the same command goes on from there."
AT_ONCE = "Stopped at once. What was saved is kept; the same command goes on from there."
WAITING = "Stopping when the present piece of work is done; once more stops at once."
SHOW_CURSOR = "\x1b[?25h"
VARIABLE = "PHASESCOPE_TRACEBACK"
PACKAGE = Path(__file__).parents[1]
OURS = "ours"
STUDY = "a study's"
LIBRARY = "a library's"


def carry_out(command: Callable[[], Any]) -> None:
    """Call the command; every error becomes one line, every warning too. With PHASESCOPE_TRACEBACK=1 an error that
    nobody foresaw is shown with its traceback.
    """
    warnings.showwarning = _print_warning
    _spell_what_cannot_be_printed()
    with _stopping() as stop:
        try:
            command()
            _flush()
        except PhasescopeError as error:
            show_problem(f"{type(error).__name__}: {error}")
            sys.exit(code_of(error))
        except SystemExit as end:
            if end.code == INTERRUPTED:  # what typer makes of Ctrl-C
                stop.leave()
            _flush()
            raise
        except BrokenPipeError:
            leave_broken_pipe()
        except MemoryError as error:
            said = f": {error}" if str(error) else ""
            show_problem(f"this takes more memory than there is{said}. Ask for a smaller size.")
            sys.exit(BAD_INPUT)
        except OSError as error:
            show_problem(f"cannot read or write: {error.strerror or error}{_named(error)}.")
            _print_nothing_more()
            sys.exit(UNREADABLE)
        except Exception as error:
            _end_unforeseen(error)


class Stop:
    """The handler of Ctrl-C, of SIGTERM, which batch systems send before they kill, and of SIGHUP, which a closed
    terminal sends: all stop in an orderly way.

    While a run computes it is saved first. Else there is nothing to save, and the process ends at once: an exception
    in the middle of the import of a compiled library may end in a segmentation fault (7 of 39 in jaxlib's). A second
    signal stops at once too, which loses what was not saved yet and nothing else; but for a second SIGHUP, which is
    of the same closed terminal.
    """

    def __init__(self) -> None:
        self._number: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._number is not None:
            if number == HANG_UP:
                return
            self.at_once(number, frame)
        if not is_run_under_way():
            _leave_at_once(STOPPED, number)
        self._number = number
        raise KeyboardInterrupt

    def waits(self) -> None:
        """A first signal came while a program was at work, and is heeded after it."""
        if sys.stderr.isatty():
            with contextlib.suppress(OSError):
                os.write(2, f"\n{WAITING}\n".encode())

    def at_once(self, number: int, frame: FrameType | None) -> NoReturn:
        """End, although something may not be saved."""
        _leave_at_once(AT_ONCE, number)

    def leave(self) -> None:
        """Say that nothing is lost, and end. Threads of the compiler may still be at work: Python does not wait for
        them, and does not take away what they work on.
        """
        show_problem(STOPPED)
        if self._number is not None:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError):
                    stream.flush()
            os._exit(_code(self._number))


def _leave_at_once(sentence: str, number: int) -> NoReturn:
    """End without another word of Python: other threads may be at work."""
    with contextlib.suppress(OSError):
        os.write(2, f"{_terminal_again()}{sentence}\n".encode())
    os._exit(_code(number))


def _terminal_again() -> str:
    """What makes a terminal as it was: a bar may be shown on its line, and hides the cursor."""
    return f"{SHOW_CURSOR}\n" if os.isatty(2) else ""


def _code(number: int) -> int:
    return {signal.SIGTERM: TERMINATED, HANG_UP: HUNG_UP}.get(number, INTERRUPTED)


@contextlib.contextmanager
def _stopping() -> Iterator[Stop]:
    """Inside, Ctrl-C, SIGTERM and SIGHUP stop the command; one that is ignored (as behind `nohup`) stays ignored."""
    stop = Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_unforeseen(error: Exception) -> NoReturn:
    """An error that nobody foresaw: of a study, if the innermost line of code that is not a library's is a study's."""
    if os.environ.get(VARIABLE):
        traceback.print_exception(error)
    where = ""
    whose = OURS
    for frame in traceback.extract_tb(error.__traceback__):
        found = _whose(Path(frame.filename))
        if found != LIBRARY:
            whose = found
            where = f" at {frame.filename}, line {frame.lineno}"
    said = "The study is broken" if whose == STUDY else "This is an error of phasescope"
    show_problem(
        f"{type(error).__name__}: {error} {said}{where}; {VARIABLE}=1 shows how it came there."
    )
    sys.exit(BROKEN_STUDY if whose == STUDY else OUR_FAULT)


def _whose(file: Path) -> str:
    """Whether a file is of phasescope, of a study, or of a library."""
    if PACKAGE in file.parents:
        return STUDY if PACKAGE / "studies" in file.parents else OURS
    folders = [source_folder(point) for point in installed().values()]
    if any(folder in (file, *file.parents) for folder in folders if folder is not None):
        return STUDY
    libraries = [Path(path) for path in sysconfig.get_paths().values()]
    inside_library = any(folder in file.parents for folder in libraries)
    return LIBRARY if inside_library or not file.exists() else STUDY


def _named(error: OSError) -> str:
    return f" ({error.filename})" if error.filename else ""


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    show_problem(f"warning: {message}")


def _spell_what_cannot_be_printed() -> None:
    """A terminal or file that does not know a letter gets its number instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """What was printed is written now, while an error can still be told."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        leave_broken_pipe()
    except OSError as error:
        show_problem(f"cannot write what was to be printed: {error.strerror}.")
        _print_nothing_more()
        sys.exit(UNREADABLE)


def _print_nothing_more() -> None:
    """If what was printed cannot be written, give it up: Python would complain once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        print_nowhere()
