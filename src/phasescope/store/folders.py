"""Where everything is in a store: the folders of finished and unfinished runs, by name or as they are found."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError
from .entries import DIGEST, NAME
from .paths import inside, is_link

if TYPE_CHECKING:
    from .entries import Identity

RECORDS = "records.zarr.zip"


def run_folder(root: Path, identity: Identity) -> Path:
    """Where a finished run is."""
    return inside(root, identity.study, identity.arm, identity.digest)


def unfinished_folder(root: Path, identity: Identity) -> Path:
    """Where a run is written before it is visible."""
    return inside(root, identity.study, identity.arm, f".{identity.digest}.part")


def draft_folder(root: Path, identity: Identity) -> Path:
    """Where the checkpoints of a run are."""
    return inside(root, ".drafts", identity.study, identity.arm, identity.digest)


def snapshot_file(name: str) -> str:
    """The file of a snapshot; a stage may have any name, a file may not."""
    return f"snapshots/{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:100]}.safetensors"


def lock_file(root: Path, study: str, arm: str, digest: str) -> Path:
    """What the process that computes a run holds."""
    return inside(root, ".drafts", study, arm, f"{digest}.lock")


def run_folders(root: Path) -> tuple[list[Path], list[Path]]:
    """The folders `study/arm/digest`, and the links in place of one of them or of another part
    of the store.
    """
    folders, links = walk(root, NAME, NAME, DIGEST)
    return folders, _other_links(root) + links


def links_for_runs(root: Path) -> list[Path]:
    """The second of what `run_folders` gives, in far less time where there are many runs."""
    links = _walk(root, (NAME, NAME, DIGEST), files=False)[1]
    return _other_links(root) + sorted(map(Path, links))


def _other_links(root: Path) -> list[Path]:
    others = (root / name for name in (".drafts", ".quarantine", "index.json"))
    return [path for path in others if is_link(path)]


def draft_folders(root: Path) -> tuple[list[Path], list[Path]]:
    """The folders `study/arm/digest` below `.drafts`, and the links in place of one of them."""
    if is_link(root / ".drafts"):
        return [], []  # it is among the links of `run_folders`
    return walk(root / ".drafts", NAME, NAME, DIGEST)


def walk(top: Path, *names: re.Pattern[str], files: bool = False) -> tuple[list[Path], list[Path]]:
    """The folders (or `files`) below `top` whose names fit, one pattern a level, and the links
    that fit.

    No link is entered. Anything else is none of ours.
    """
    found, links = _walk(top, names, files)
    return sorted(map(Path, found)), sorted(map(Path, links))


def _walk(top: Path, names: Sequence[re.Pattern[str]], files: bool) -> tuple[list[str], list[str]]:
    try:
        found = [str(top)]
        links: list[str] = []
        for level, name in enumerate(names, 1):
            entries = [e for folder in found for e in os.scandir(folder) if name.fullmatch(e.name)]
            found = []
            for entry in entries:
                if entry.is_symlink() or (os.name == "nt" and is_link(entry.path)):
                    links.append(entry.path)
                elif entry.is_dir() != (files and level == len(names)):
                    found.append(entry.path)
        return found, links
    except FileNotFoundError:  # removed while we looked: look again
        return _walk(top, names, files) if top.exists() else ([], [])
    except OSError as error:
        raise StoreError(
            f"cannot read the store {top}: {error.strerror}. Choose another: --store DIR"
        ) from error
