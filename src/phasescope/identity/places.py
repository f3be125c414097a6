"""Where in an author's own code an error came from: the innermost line that is no library's."""

from __future__ import annotations

import dataclasses
import linecache
import sys
import traceback

from .modules import is_core

# Libraries that call an author's functions back, so that their frames stand between.
LIBRARIES = frozenset(
    {
        "beartype",
        "diffrax",
        "equinox",
        "jax",
        "jaxlib",
        "jaxtyping",
        "lineax",
        "matplotlib",
        "numpy",
        "optax",
        "optimistix",
        "pandas",
        "scipy",
        "xarray",
    }
)


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of a file, and its text without the space around it."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}, `{self.text}`" if self.text else f"{self.file}:{self.line}"
        )


def authors_place(error: BaseException) -> Place | None:
    """The innermost line of an author that an error passed through; None if there is none."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        file = frame.f_code.co_filename
        if not _is_library(module) and not file.startswith("<"):
            text = linecache.getline(file, line, frame.f_globals).strip()
            found = Place(file, line, text)
    return found


def said_with_place(error: BaseException) -> str:
    """The kind of an error, what it says, and the author's own line that it came from; without a full stop."""
    said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    place = authors_place(error)
    # A syntax error names its line itself: nothing of the file ran.
    if place is None or f"{place.file}:{place.line}" in said or isinstance(error, SyntaxError):
        return said
    return f"{said} ({place})"


def _is_library(module: str) -> bool:
    top = module.partition(".")[0]
    return is_core(module) or top in LIBRARIES or top in sys.stdlib_module_names
