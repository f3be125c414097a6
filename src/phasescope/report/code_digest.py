"""The digest of all code and data that a study's rows and figures come from, for what may be kept of a report."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import itertools
import sys
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType

import jax
import numpy as np
import xarray as xr

from ..claims.requests import Recorded
from ..identity.modules import is_loose
from ..identity.provenance import LIBRARIES
from ..study import Study

# When this process began to load code.
LOADED = time.time()
CORE = Path(__file__).parents[1]
# Parts of the core that change no row and no figure.
WITHOUT = ("studies", "report", "page", "cli", "testing")
DRAWN_WITH = ("matplotlib", "xarray", "ruptures")


def study_digest(study: Study) -> str | None:
    """The digest of the core, of the study's own files, of the loose modules that these import, and of what they run on.

    None if the study has no files, such as one that was typed at a prompt; or if some of them were edited while
    this process ran, for then nobody knows which text was loaded.
    """
    own = _own_files(study)
    if not own or _edited([*_core_files(), *(own if len(own) > 1 else [])]):
        return None
    files = [*own, *_recorded_files(study)]
    return _sha256([core_digest(), _files_digest(files), _files_digest(_loose_files(own))])


@functools.cache
def core_digest() -> str:
    """The digest of phasescope without its studies, of the libraries it uses, and of the device."""
    versions = [f"{name} {metadata.version(name)}" for name in (*LIBRARIES, *DRAWN_WITH)]
    device = jax.devices()[0]
    return _sha256(
        [_files_digest(_core_files()), *versions, sys.version, device.platform, device.device_kind]
    )


def dataset_digest(ds: xr.Dataset | xr.DataArray) -> str:
    """The digest of everything in a dataset: numbers, names, axes, attributes."""
    whole = ds.to_dataset(name="value") if isinstance(ds, xr.DataArray) else ds
    parts: list[str | bytes] = [repr(sorted(map(repr, whole.attrs.items())))]
    for name in sorted(whole.variables, key=str):
        variable = whole.variables[name]
        values = np.ascontiguousarray(variable.values)
        parts.append(f"{name} {variable.dims} {values.dtype} {values.shape}")
        parts.append(repr(sorted(map(repr, variable.attrs.items()))))
        parts.append(repr(values.tolist()) if values.dtype.hasobject else values.tobytes())
    return _sha256(parts)


def _core_files() -> list[Path]:
    return [file for file in CORE.rglob("*.py") if file.relative_to(CORE).parts[0] not in WITHOUT]


def _edited(files: Iterable[Path]) -> bool:
    """Whether one of these was written after this process began to load code."""
    return any(file.suffix == ".py" and file.stat().st_mtime > LOADED for file in files)


def _recorded_files(study: Study) -> list[Path]:
    """The files of recorded evidence that claims and figures ask for."""
    asked = [request for claim in study.claims for row in claim.regimes for request in row.evidence]
    asked += [request for figure in study.figures for request in figure.evidence]
    files = {request.file for request in asked if isinstance(request, Recorded)}
    return [file for file in files if file.is_file()]


def _own_files(study: Study) -> list[Path]:
    """The files of the package of the study's Spec, or the file itself if it lies in none.

    Pages are left out: they are read whenever a report is written.
    """
    module = sys.modules.get(type(study.spec).__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return []
    depth = 3 if module.__name__.startswith("phasescope.studies.") else 1
    above = len(module.__name__.split(".")) - depth - (0 if _is_package(file) else 1)
    if above < 0 and not _is_package(file):
        return [Path(file)]
    folder = Path(file).parents[max(above, 0)]
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if path.suffix != ".md" and "__pycache__" not in path.parts]


def _is_package(file: str) -> bool:
    return Path(file).name == "__init__.py"


def _loose_files(own: Iterable[Path]) -> set[Path]:
    """The files that a study's own modules reach by imports, and that lie outside of libraries.

    Those of phasescope are not among them, nor modules that only others have loaded.
    """
    files = {str(path) for path in own}
    loaded = dict(sys.modules)
    wanted = [name for name, one in loaded.items() if getattr(one, "__file__", None) in files]
    seen = set(wanted)
    found = set()
    while wanted:
        name = wanted.pop()
        path = Path(getattr(loaded[name], "__file__", None) or "")
        if path.suffix == ".py" and path.is_file():
            found.add(path)
        for other in _imported(name, loaded[name], path) - seen:
            if other.partition(".")[0] != "phasescope" and other in loaded and is_loose(other):
                seen.add(other)
                wanted.append(other)
    return found


def _imported(name: str, module: ModuleType, path: Path) -> set[str]:
    """What a module imports, by its text and by what it holds; some of these names may be no modules."""
    held = [
        x for x in list(vars(module).values()) if isinstance(x, ModuleType | type) or callable(x)
    ]
    names = {
        getattr(x, "__name__" if isinstance(x, ModuleType) else "__module__", None) for x in held
    }
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    text = ast.parse("")
    with contextlib.suppress(OSError, SyntaxError, ValueError):  # it may have been edited meanwhile
        text = ast.parse(path.read_bytes() if path.suffix == ".py" else "")
    for node in ast.walk(text):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
    parts = (str(name).split(".") for name in names if name)
    return {name for one in parts for name in itertools.accumulate(one, "{}.{}".format)}


def _files_digest(files: Iterable[Path]) -> str:
    return _sha256(part for file in sorted(set(files)) for part in (str(file), file.read_bytes()))


def _sha256(parts: Iterable[str | bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="backslashreplace") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.hexdigest()
