"""What is kept of a report from one time to the next: the rows of a study, and its figures.

It lies in the user's cache folder, beside compiled programs. Rows are found again if the code, the libraries, the
device and the stored runs are the same; a figure, if its function and its evidence are. Whatever cannot be
read is made anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import cache_folder, make_folders, write_atomically
from ..identity import Unidentified
from ..identity.objects import plain_function
from ..identity.texts import text_digest
from ..ledger.markup import safe_name
from .code_digest import core_digest, dataset_digest, study_digest
from .codec import rows_from_json, rows_to_json

if TYPE_CHECKING:
    from ..figures.figure import Figure
    from ..ledger.ledger import Row
    from ..study import Study
    from ..verbs.context import Context

ROWS = "rows.json"


def folder() -> Path | None:
    """Where reports keep what they made: `PHASESCOPE_CACHE/report`, else in the user's cache; None if it is 0."""
    return cache_folder("report")


@dataclasses.dataclass(frozen=True)
class Made:
    """The rows of a study, in words what each rests on, and its figures: digest by id."""

    rows: tuple[Row, ...]
    evidence: tuple[tuple[str, ...], ...]
    figures: Mapping[str, str]


class Kept:
    """What is kept of one study in one store; of a study without files, or without a store, nothing is."""

    def __init__(self, study: Study, context: Context, full: bool) -> None:
        top = folder()
        digest = study_digest(study) if context.store is not None and top is not None else None
        self.root = None if context.store is None else context.store.root
        self.place: Path | None = None
        if digest is not None and top is not None:
            size = "full" if full else "small"
            self.place = top / safe_name(study.name, size, _short(str(self.root)))
        self.key = digest

    def made(self) -> Made | None:
        """What was made before, if nothing that it depends on changed since."""
        if self.place is None or self.root is None:
            return None
        try:
            document = json.loads((self.place / ROWS).read_bytes())
            rows = rows_from_json(document["rows"])
            if document["key"] != self.key or document["stamps"] != _stamps(self.root, rows):
                return None
            evidence = tuple(tuple(map(str, labels)) for labels in document["evidence"])
            figures = {str(id): str(digest) for id, digest in document["figures"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return Made(rows, evidence, figures) if len(rows) == len(evidence) else None

    def keep(self, made: Made) -> None:
        """Keep this for the next time, in place of what was kept before."""
        if self.place is None or self.root is None or any(row.error for row in made.rows):
            return
        document: dict[str, Any] = {
            "key": self.key,
            "stamps": _stamps(self.root, made.rows),
            "rows": rows_to_json(made.rows),
            "evidence": [list(labels) for labels in made.evidence],
            "figures": dict(made.figures),
        }
        with contextlib.suppress(OSError):  # a report is written whether or not it can be kept
            make_folders(self.place)
            write_atomically(self.place / ROWS, json.dumps(document).encode())
            used = {ROWS, *made.figures.values()}
            for file in self.place.iterdir():
                if file.name.partition(".")[0] not in used and file.name != ROWS:
                    file.unlink()

    def image(self, digest: str, format: str) -> bytes | None:
        """A figure that was drawn before."""
        if self.place is None or not digest.isalnum():
            return None
        with contextlib.suppress(OSError):
            return (self.place / f"{digest}.{format}").read_bytes()
        return None

    def keep_image(self, digest: str, format: str, image: bytes) -> None:
        """Keep a figure for the next time."""
        if self.place is not None and digest:
            with contextlib.suppress(OSError):
                make_folders(self.place)
                write_atomically(self.place / f"{digest}.{format}", image)


def figure_digest(figure: Figure, evidence: Iterable[Any]) -> str:
    """The digest of a figure: of its function with all that it calls, of its evidence, of the core.

    Empty if the function has no text, or remembers values that no text shows.
    """
    draw = plain_function(figure.draw)
    if draw is None or draw.__closure__ or draw.__defaults__ or draw.__kwdefaults__:
        return ""
    try:
        text = text_digest(draw)
    except Unidentified:
        return ""
    shape = f"{figure.id} {figure.panels} {figure.size}"
    return _short(" ".join([core_digest(), text, shape, *map(dataset_digest, evidence)]))


def _stamps(root: Path, rows: Iterable[Row]) -> dict[str, list[int]]:
    """Size and time of the documents of the stored runs that rows rest on."""
    found = {}
    for id in dict.fromkeys(id for row in rows for id in row.runs):
        path = root / id / "run.json"
        try:
            stat = path.stat()
        except (OSError, ValueError):
            continue
        found[id] = [stat.st_mtime_ns, stat.st_size]
    return found


def _short(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]
