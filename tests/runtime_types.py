"""How annotations are checked while tests run: by beartype, with an int welcome where a float is (PEP 484)."""

from typing import Self

from beartype import BeartypeConf, beartype

UNCHECKED = {
    # Where the backport `importlib_metadata` is installed, the standard library hands out the backport's EntryPoint.
    "phasescope.discovery",
    "phasescope.cli.catalogue",
    # Identity is read from JSON, which has lists for tuples; numpy's scalars are neither ndarray nor float.
    "phasescope.store.entries",
    "phasescope.analysis.worst_entry",
    "phasescope.analysis.phases",
    "phasescope.studies.regular_language.chain_of_thought",
}
_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function):
    """The function, with its annotations enforced; inside a program a Spec holds arrays where it says numbers."""
    free = function.__module__ in UNCHECKED or function.__qualname__.endswith("Spec.__init__")
    if free or function.__annotations__.get("return") in (
        "Self",
        Self,
    ):  # beartype sees `Self` only in a whole class
        return function
    return _beartype(function)
