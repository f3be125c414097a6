"""The catalogue: what a study offers, as plain JSON, so that listing studies imports none of them.

A study's catalogue is made when it is loaded and kept beside it (built-in ones are shipped with theirs) or in the
user's cache, under a digest of its sources. A stale one is never shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..study import Study

FILE = "catalogue.json"


def catalogues(study: str | None) -> dict[str, Any]:
    """The catalogue of one study or of all installed ones; a broken one is named and left out."""
    from ..discovery import installed
    from ..errors import StudyNotFound, nearest

    if study is not None and (study.endswith(".py") or "/" in study):
        from ..study import find

        loaded = find(study)
        return {loaded.name: describe(loaded)}
    points = installed()
    if study is not None and study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    entries = {name: read(point) for name, point in points.items() if study in (None, name)}
    return {name: entry for name, entry in entries.items() if entry is not None}


def read(point: EntryPoint) -> dict[str, Any] | None:
    """The catalogue of an installed study; None, with a warning that names it, if the study is broken."""
    known = kept(point)
    return _make(point) if known is None else known


def kept(point: EntryPoint) -> dict[str, Any] | None:
    """The catalogue of an installed study if there is one of its present sources; the study is not imported."""
    folder = source_folder(point)
    digest = _digest(folder)
    for place in _places(point, folder):
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(place.read_text(encoding="utf-8"))
            if digest and found.get("sources") == digest:
                return found["catalogue"]
    return None


def describe(study: Study) -> dict[str, Any]:
    """What a study offers: paper, fields, arms, presets, claims, figures."""
    import dataclasses
    import inspect

    from ..spec import field_types

    first_line = lambda f: (inspect.getdoc(f) or "").split("\n")[0]
    kinds, default = field_types(type(study.spec)), study.spec.to_json()
    fields = {}
    for f in dataclasses.fields(study.spec):
        names = ["none" if k is type(None) else k.__name__ for k in kinds[f.name]]
        entry = {"type": " | ".join(names), "default": default[f.name]}
        entry |= {k: f.metadata[k] for k in ("symbol", "doc", "unit") if f.metadata.get(k)}
        entry |= {k: list(v) if k == "choices" else v for k, v in f.metadata.items()
                  if k in ("at_least", "above", "at_most", "choices") and v not in (None, ())}  # fmt: skip
        fields[f.name] = entry
    changed = lambda spec: {k: v for k, v in spec.to_json().items() if v != default[k]}
    return {
        "paper": study.paper,
        "bibtex": study.bibtex,
        "fields": fields,
        "arms": {arm.__name__: first_line(arm) for arm in study.arms},
        "presets": {name: changed(spec) for name, spec in study.presets.items()},
        "claims": [
            {
                "id": c.id, "name": c.name, "cites": c.cites, "statement": c.statement,
                "regimes": [r.name for r in c.regimes], "expected": {r.name: r.expect.value for r in c.regimes},
            }
            for c in study.claims
        ],
        "figures": {f.id: {"name": f.name, "cites": f.cites, "caption": f.caption} for f in study.figures},
    }  # fmt: skip


def ship(point: EntryPoint) -> Path:
    """Write the catalogue of a built-in study beside its sources."""
    folder = source_folder(point)
    assert folder is not None
    from ..study import find

    path = folder / FILE
    kept = {"sources": sources_digest(folder), "catalogue": describe(find(point.name))}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


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
        digest.update(path.relative_to(folder.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _digest(folder: Path | None) -> str:
    """The digest of a study's sources; empty if there are none to be read."""
    return sources_digest(folder) if folder is not None and folder.exists() else ""


def _make(point: EntryPoint) -> dict[str, Any] | None:
    from ..errors import StudyNotFound
    from ..study import find

    try:
        catalogue = describe(find(point.name))
    except StudyNotFound as error:
        warnings.warn(f"{error} It is left out.", stacklevel=2)
        return None
    folder = source_folder(point)
    digest = _digest(folder)
    place = _places(point, folder)[-1]
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text(json.dumps({"sources": digest, "catalogue": catalogue}), encoding="utf-8")
        fresh.replace(place)
    return catalogue


def _places(point: EntryPoint, folder: Path | None) -> list[Path]:
    import platformdirs

    shipped = [folder / FILE] if folder is not None and folder.is_dir() else []
    return [*shipped, Path(platformdirs.user_cache_dir("phasescope")) / "catalogue" / f"{point.name}.json"]


if __name__ == "__main__":
    from ..discovery import installed, is_built_in

    for built_in in filter(is_built_in, installed().values()):
        print(ship(built_in))
