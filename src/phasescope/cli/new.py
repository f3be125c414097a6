"""new: a study to start from, copied from studies/_template under another name."""

from __future__ import annotations

import keyword
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..errors import SpecError, StoreError

PLACEHOLDER = "my_study"


def write_study(name: str, out: Path) -> Path:
    """Write a package `name` into `out`; nothing that exists is touched."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise SpecError(f'a study needs a Python name, as in my_paper, got "{name}".')
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
