"""A plain Python file as a module: how a study is loaded that is not installed."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from .errors import StudyBroken, StudyNotFound
from .identity.places import said_with_place


def module_in(path: Path) -> ModuleType:
    """The module that a file holds, loaded anew when it was edited."""
    try:
        found = path.stat()
    except OSError:
        raise StudyNotFound(f"there is no file {path}.") from None
    if not path.is_file():
        raise StudyNotFound(f"{path} is not a file.")
    if path.suffix != ".py":
        raise StudyNotFound(f"{path} is no Python file: the name of a study's file ends in .py.")
    return _load(path.resolve(), found.st_mtime_ns, found.st_size)


class _FromText(SourceFileLoader):
    """Loads what the file says now: Python's own cache cannot tell two edits within one second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


@functools.lru_cache(maxsize=256)
def _load(path: Path, _edited: int, _size: int) -> ModuleType:
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    loader = _FromText(name, str(path))
    module_spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert module_spec is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module  # annotations are looked up there
    sys.path.insert(0, str(path.parent))  # its helper modules lie beside it
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise StudyBroken(f"{path} does not run: {said_with_place(error)}.") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(path.parent))
    return module
