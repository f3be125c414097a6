"""The catalogue: what a study offers, as plain JSON, so that listing studies imports none of them.

A study's catalogue is made when the study is first loaded by a command, and kept in the user's cache under a digest of
its sources. A stale one is never shown.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..claims.claim import Claim
    from ..claims.regime import Regime
    from ..study import Study

SLOW = 5.0  # seconds after which a study that is being loaded is named


def catalogues(study: str | None) -> dict[str, Any]:
    """The catalogue of one study or of all installed ones; among all, a broken one is named and left out."""
    from ..discovery import installed
    from ..errors import StudyNotFound, nearest

    if study is not None and (study.endswith(".py") or "/" in study):
        from ..study import find

        loaded = find(study)
        return {loaded.name: describe(loaded)}
    points = installed()
    if study is not None and study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    if study is not None:
        return {study: kept(points[study]) or make(points[study])}
    entries = {name: read(point) for name, point in points.items()}
    return {name: entry for name, entry in entries.items() if entry is not None}


def read(point: EntryPoint) -> dict[str, Any] | None:
    """The catalogue of an installed study; None, with a warning that names it, if the study is broken."""
    from ..errors import StudyNotFound

    known = kept(point)
    if known is not None:
        return known
    try:
        return make(point)
    except StudyNotFound as error:
        warnings.warn(f"{error} It is left out.", stacklevel=2)
        return None


def kept(point: EntryPoint) -> dict[str, Any] | None:
    """The catalogue of an installed study if there is one of its present sources; the study is not imported."""
    digest = _digest(source_folder(point))
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(_file(point).read_text(encoding="utf-8"))
        if digest and found.get("sources") == digest:
            return found["catalogue"]
    return None


def make(point: EntryPoint) -> dict[str, Any]:
    """Load the study, describe it, and keep that for the next time. Raises `StudyNotFound` if it is broken."""
    from ..discovery import is_built_in
    from ..study import find

    digest = _digest(source_folder(point))
    with contextlib.nullcontext() if is_built_in(point) else _named_if_slow(point.name):
        catalogue = describe(find(point.name))
    file = _file(point)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text(json.dumps({"sources": digest, "catalogue": catalogue}), encoding="utf-8")
        fresh.replace(file)
    return catalogue


@contextlib.contextmanager
def _named_if_slow(study: str) -> Iterator[None]:
    """Say which plugin is being loaded, if it takes so long that somebody would ask."""
    from .terminal import show_problem

    sentence = f'still loading the study "{study}"; commands that name another one do not load it.'
    timer = threading.Timer(SLOW, show_problem, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def describe(study: Study) -> dict[str, Any]:
    """What a study offers: paper, fields, arms, presets, claims, figures."""
    import inspect

    from ..study import specs_of

    fields = _fields(study)
    presets = {}
    for name, preset in study.presets.items():
        values = {k: v for spec in specs_of(preset) for k, v in spec.to_json().items()}
        presets[name] = {k: v for k, v in values.items() if v != fields[k]["default"]}
    return {
        "paper": study.paper,
        "authors": list(study.authors),
        "link": study.link,
        "bibtex": study.bibtex,
        "fields": fields,
        "arms": {arm.__name__: (inspect.getdoc(arm) or "").split("\n")[0] for arm in study.arms},
        "takes": {
            arm.__name__: [f.name for f in dataclasses.fields(study.default_for(arm))]
            for arm in study.arms
        },
        "presets": presets,
        "claims": [_claim(study, claim) for claim in study.claims],
        "figures": {
            f.id: {"name": f.name, "cites": f.cites, "caption": f.caption} for f in study.figures
        },
    }


def _fields(study: Study) -> dict[str, Any]:
    """The fields of all Specs of the study; one that not every arm reads is listed with those that do."""
    from ..spec import field_types

    entries: dict[str, Any] = {}
    read_by = study.fields
    for spec in study.defaults:
        kinds = field_types(type(spec))
        default = spec.to_json()
        for f in dataclasses.fields(spec):
            entry = _field(f, kinds[f.name], default[f.name])
            if len(read_by[f.name]) < len(study.arms):
                entry["arms"] = list(read_by[f.name])
            entries[f.name] = entry
    return entries


def _field(field: dataclasses.Field[Any], kinds: Sequence[type], default: Any) -> dict[str, Any]:
    names = ["none" if kind is type(None) else kind.__name__ for kind in kinds]
    entry: dict[str, Any] = {"type": " | ".join(names), "default": default}
    for key in ("symbol", "doc", "unit"):
        if field.metadata.get(key):
            entry[key] = field.metadata[key]
    for key in ("at_least", "above", "at_most", "below", "choices"):
        value = field.metadata.get(key)
        if value not in (None, ()):
            entry[key] = list(value) if key == "choices" else value
    return entry


def _claim(study: Study, claim: Claim) -> dict[str, Any]:
    from ..verbs.map_rows import mappable
    from ..verbs.rows import chosen_claims

    regimes = [row.regime for row in chosen_claims(study, claim.id)]
    entry = {
        "id": claim.id,
        "name": claim.name,
        "aliases": list(claim.aliases),
        "cites": claim.cites,
        "statement": claim.statement,
        "regimes": list(dict.fromkeys(str(regime.name) for regime in regimes)),
        "expected": {_row_name(regime): str(regime.expect) for regime in regimes},
        "maps_over": mappable(study, claim),
    }
    if claim.typed is not None:
        entry |= {
            "kind": claim.typed.kind.value,
            "whose": claim.typed.whose.value,
            "tex": claim.typed.tex,
            "page": claim.typed.page,
        }
    return entry


def _row_name(regime: Regime) -> str:
    return f"{regime.on}, {regime.name}" if regime.on else str(regime.name)


def source_folder(point: EntryPoint) -> Path | None:
    """Where a study's sources lie: its package folder, or its single file. The study is not imported."""
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(point.module)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            return origin.parent if origin.name == "__init__.py" else origin
    return None


def sources_digest(folder: Path) -> str:
    """SHA-256 over the study's sources."""
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    digest = hashlib.sha256()
    for path in files:
        digest.update(
            path.relative_to(folder.parent).as_posix().encode() + b"\0" + path.read_bytes()
        )
    return digest.hexdigest()


def _digest(folder: Path | None) -> str:
    """The digest of a study's sources; empty if there are none to be read."""
    return sources_digest(folder) if folder is not None and folder.exists() else ""


def _file(point: EntryPoint) -> Path:
    """Where the catalogue of a study is kept."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("phasescope")) / "catalogue" / f"{point.name}.json"
