"""Which modules count: those whose code is read, rather than known by its name."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import site
import sys
import sysconfig
from typing import Any

from ..discovery import installed

CORE = "phasescope"
STUDIES = "phasescope.studies"
# Packages and modules of the core that every run goes through. They count as a whole, for every arm.
ENGINE = ("spec", "plan", "engine", "records")
# Modules in them that cannot change a number.
NOT_ENGINE = (
    "engine.cache",
    "engine.plain_numbers",
    "engine.scoped_settings",
    "records.evidence_file",
    "records.names",
)


def is_core(module: str) -> bool:
    return f"{module}.".startswith(f"{CORE}.") and not f"{module}.".startswith(f"{STUDIES}.")


def is_model(module: str) -> bool:
    """Modules of the core that are what an arm trains, as a study's own are."""
    return f"{module}.".startswith(f"{CORE}.networks.")


@functools.lru_cache(maxsize=4096)
def is_engine(module: str) -> bool:
    """Modules that count as a whole for every arm; what errors say changes no digit."""
    inside = module.removeprefix(f"{CORE}.")
    if inside == module or inside in NOT_ENGINE:
        return False
    return inside.partition(".")[0] in (*ENGINE, "errors")


@functools.lru_cache(maxsize=4096)
def module_of(file: str, named: str | None) -> str:
    """The module whose file this is; decorators may have given a function another module's name."""
    known = sys.modules.get(named or "")
    if known is not None and getattr(known, "__file__", None) == file:
        return named or ""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == file:
            return name
    return (named or "") if file.startswith("<") else f"file:{file}"


@functools.lru_cache(maxsize=4096)
def is_loose(module: str) -> bool:
    """Whether a module lies outside the folders of the interpreter and of installed libraries."""
    if module == "__main__":
        return True
    if module.partition(".")[0] in sys.stdlib_module_names or module in sys.builtin_module_names:
        return False
    file = module.removeprefix("file:") if module.startswith("file:") else None
    if file is None:
        loaded = sys.modules.get(module)
        file = getattr(loaded, "__file__", None)
        if file is None:
            return (
                loaded is None
                and bool(module)
                and importlib.util.find_spec(module.partition(".")[0]) is None
            )
    path = pathlib.Path(file)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    if any(path.is_relative_to(folder) for folder in _library_folders()):
        return False
    return not any(_holds_libraries(str(folder)) for folder in path.parents)


@functools.cache
def _holds_libraries(folder: str) -> bool:
    """Whether libraries were installed into this folder: an installer leaves its notes beside them."""
    return next(pathlib.Path(folder).glob("*.dist-info"), None) is not None


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    named = [paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths]
    return (*named, *site.getsitepackages(), site.getusersitepackages())


def packages_that_count(arm: Any) -> frozenset[str]:
    """phasescope, the arm's own package, and every package that offers a study."""
    packages = {point.module.partition(".")[0] for point in installed().values()}
    home = getattr(arm, "__module__", None) or ""
    top = home.partition(".")[0]
    if top and top not in sys.stdlib_module_names:
        packages.add(top)
    return frozenset({CORE, *packages})
