"""new: a study to start from, copied from studies/_template under another name."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..discovery import installed
from ..errors import SpecError, StoreError

PLACEHOLDER = "my_study"


def write_study(name: str, out: Path) -> Path:
    """Write a package `name` into `out`; nothing that exists is touched.

    **Raises:** `SpecError` for a name that a study cannot have, `StoreError` if it cannot be written.
    """
    _check_name(name)
    folder = out / name
    if folder.exists():
        raise StoreError(
            f"{folder} exists already: choose another name, or another place with --out."
        )
    try:
        _copy(files("phasescope") / "studies" / "_template", folder, name)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error
    return folder


def _check_name(name: str) -> None:
    """Refuse a name that Python, the store or another package could not tell from something else."""
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    if not plain or name.startswith("_"):
        raise SpecError(
            "a study needs a Python name, as in my_paper, of plain letters, digits and _; "
            f'got "{name}".'
        )
    if name in installed():
        raise SpecError(f'there is a study "{name}" already: choose another name.')
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise SpecError(
            f'there is a Python module "{name}" already, and only one of the two could be '
            "imported: choose another name."
        )


def _copy(source: Traversable, target: Path, name: str) -> None:
    target.mkdir(parents=True)
    for item in source.iterdir():
        renamed = item.name.replace(PLACEHOLDER, name).removesuffix(".txt")
        if item.is_dir() and item.name != "__pycache__":
            _copy(item, target / renamed, name)
        elif item.is_file():
            (target / renamed).write_text(
                item.read_text(encoding="utf-8").replace(PLACEHOLDER, name), encoding="utf-8"
            )
