"""What a study's tests use: the contract that every study keeps, and evidence on which no claim may hold.

`ClaimContract`, `VerdictContract` and `FigureContract` are classes of tests to subclass; they need pytest.
"""

from typing import TYPE_CHECKING, Any

from .fields import fields_read_by as fields_read_by
from .stand_ins import labelled_like as labelled_like
from .structureless import constant_like as constant_like
from .structureless import noise_like as noise_like
from .study_contract import check_study as check_study

if TYPE_CHECKING:
    from .pytest_contracts import ClaimContract as ClaimContract
    from .pytest_contracts import FigureContract as FigureContract
    from .pytest_contracts import VerdictContract as VerdictContract

WITH_PYTEST = ("ClaimContract", "FigureContract", "VerdictContract")


def __getattr__(name: str) -> Any:
    if name not in WITH_PYTEST:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..errors import MissingExtra

    try:
        import pytest  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"`phasescope.testing.{name}` needs pytest: pip install pytest"
        ) from error
    from . import pytest_contracts as contracts

    return getattr(contracts, name)
