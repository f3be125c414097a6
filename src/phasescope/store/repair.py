"""Repair of a store: damaged runs are set aside, and what dead writers left is cleared."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files import make_folders, os_errors_as_store_errors
from .entries import NAME, Problem, RepairReport, run_id
from .faults import REPAIR, Damaged, Linked, NewerFormat
from .folders import draft_folders, lock_file, run_folders, walk
from .paths import file_lock, inside, is_link, link_message, remove_tree
from .run_document import verify_run

_LOCK = re.compile(r"([0-9a-f]{16})\.lock")
_PART = re.compile(r"\.([0-9a-f]{16})\.part")
_INDEX_PART = re.compile(r"\.index\.json\.[0-9]+\.part")


def repair(root: Path, remove: bool) -> RepairReport:
    """Verify every hash, set damaged runs aside (or delete them), and clear what dead writers left.

    Links are named and left where they are, but for those in place of what the store itself
    would clear.
    """
    newer = []
    alike = collections.defaultdict(dict)
    cleared = _clear(root)
    folders, links = run_folders(root)
    links += draft_folders(root)[1]
    damaged = [link_problem(link, root) for link in links]
    for folder in folders:
        try:
            document = verify_run(folder, root)
        except NewerFormat as error:
            newer.append(Problem(run_id(folder), folder, str(error)))
        except (Damaged, Linked) as error:
            damaged.append(_set_aside(folder, root, _without_advice(error), remove))
        except StoreError as error:  # it may be whole, only not readable by us
            damaged.append(Problem(run_id(folder), folder, str(error)))
        else:
            question, answer = _question_and_answer(document)
            if answer:
                alike[answer].setdefault(question, run_id(folder))
    if remove:
        cleared += _remove_quarantine(root)
    groups = [tuple(group.values()) for group in alike.values() if len(group) > 1]
    return RepairReport(
        checked=len(folders) + len(links),
        damaged=damaged,
        newer=newer,
        cleared=cleared,
        alike=groups,
    )


def link_problem(link: Path, root: Path) -> Problem:
    """A link that stands where the store has something of its own."""
    return Problem("/".join(link.relative_to(root).parts), link, link_message(link))


def _without_advice(error: StoreError) -> str:
    """What is wrong, without the advice to do what is being done."""
    return str(error).removesuffix(REPAIR).rstrip()


def _set_aside(folder: Path, root: Path, message: str, remove: bool) -> Problem:
    """Move a damaged run out of the way, or remove it.

    Where that is refused, it stays and the message says so.
    """
    name = run_id(folder)
    if remove:
        remove_tree(folder)
        left = " It could not be removed." if folder.exists() else ""
        return Problem(name, folder, message + left)
    try:
        aside = inside(root, ".quarantine")
        with os_errors_as_store_errors(aside, "set the damaged run aside in"):
            make_folders(aside)
            stem = ".".join(folder.parts[-3:])
            number = next(n for n in range(1, 10**6) if not os.path.lexists(aside / f"{stem}.{n}"))
            os.rename(folder, aside / f"{stem}.{number}")
    except StoreError as error:
        return Problem(name, folder, f"{message} It was left where it is: {error}")
    return Problem(name, folder, message, aside / f"{stem}.{number}")


def _clear(root: Path) -> list[Path]:
    """Remove half-written runs, drafts of finished runs and lock files that no living process
    holds.

    A link in place of one of these, or of the index, is removed itself; what it points to is
    left alone.
    """
    index_parts, index_links = walk(root, _INDEX_PART, files=True)
    cleared = index_parts + index_links
    if is_link(root / "index.json"):
        cleared.append(root / "index.json")
    for path in cleared:
        remove_tree(path)
    half, half_links = walk(root, NAME, NAME, _PART)
    locks: list[Path] = []
    lock_links: list[Path] = []
    if not is_link(root / ".drafts"):
        locks, lock_links = walk(root / ".drafts", NAME, NAME, _LOCK, files=True)
    lock_links = [link for link in lock_links if _LOCK.fullmatch(link.name)]
    for link in lock_links:
        remove_tree(link)
    half += [link for link in half_links if _PART.fullmatch(link.name)]
    names = {(*p.parts[-3:-1], p.name[1:-5]) for p in half} | {
        (*p.parts[-3:-1], p.name[:-5]) for p in locks
    }
    for study, arm, digest in sorted(names):
        with contextlib.suppress(OSError):  # a store that can only be read has no writers
            cleared += _clear_run(root, study, arm, digest)
    return [path for path in cleared + lock_links if not os.path.lexists(path)]


def _clear_run(root: Path, study: str, arm: str, digest: str) -> list[Path]:
    """What a dead writer of this run left, removed; nothing where a living one holds it."""
    lock = lock_file(root, study, arm, digest)
    target = inside(root, study, arm, digest)
    leftovers = [
        inside(root, study, arm) / f".{digest}.part"
    ]  # it may be a link, which goes itself
    if target.exists():
        leftovers.append(inside(root, ".drafts", study, arm, digest))
    leftovers = [path for path in leftovers if os.path.lexists(path)]
    make_folders(lock.parent)
    with file_lock(lock, wait=False) as free:
        if not free:
            return []
        for path in leftovers:
            remove_tree(path)
        lock.unlink(missing_ok=True)
    return leftovers


def _remove_quarantine(root: Path) -> list[Path]:
    aside = root / ".quarantine"
    if is_link(aside) or not aside.exists():
        return []
    remove_tree(aside)
    return [aside]


def _question_and_answer(document: Mapping[str, Any]) -> tuple[str, str]:
    """What a run was asked, and the hashes of its records ("" if it has none), each as one text."""
    question = {k: v for k, v in document["identity"].items() if k not in ("source", "width")}
    records = {
        name: array["sha256"] for name, array in document["content"].items() if not array["coord"]
    }
    answer = json.dumps([question["study"], records], sort_keys=True) if records else ""
    return json.dumps(question, sort_keys=True), answer
