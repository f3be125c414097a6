"""Rows as JSON and back, with all that they hold: so that a report need not judge again what did not change.

Only the classes that are named here are ever made of a document.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..analysis.sources import Source, SourceKind
from ..analysis.trace import Trace
from ..analysis.verdict import Outcome, Verdict
from ..claims.answer import Answer
from ..claims.assumptions import Met, Scope
from ..claims.regime import RegimeName
from ..claims.statement import Kind, Object, Whose
from ..claims.words import Word
from ..ledger.ledger import Row

# What a value is, if it is none of JSON's own.
TYPE = "#"
RECORDS = {cls.__name__: cls for cls in (Row, Verdict, Trace, Source, Met, Answer)}
WORDS = {
    cls.__name__: cls for cls in (Outcome, Word, RegimeName, Kind, Whose, Object, SourceKind, Scope)
}
# Outcomes by lane may be large, and no report shows them.
LEFT_OUT = ("lanes",)


def rows_to_json(rows: Iterable[Row]) -> str:
    """Rows as text."""
    return json.dumps([_encoded(row) for row in rows])


def rows_from_json(text: str) -> tuple[Row, ...]:
    """The rows of a text that `rows_to_json` made; anything else is a `ValueError`."""
    try:
        found = _decoded(json.loads(text))
    except (KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError(f"no rows of a ledger: {problem}") from problem
    if not isinstance(found, tuple) or not all(isinstance(row, Row) for row in found):
        raise ValueError("no rows of a ledger")
    return found


def _encoded(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return {TYPE: type(value).__name__, "value": value.value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _encoded(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.name not in LEFT_OUT and not _is_default(value, field)
        }
        return {TYPE: type(value).__name__, **fields}
    if isinstance(value, np.ndarray):
        return {TYPE: "array", "values": value.tolist()}
    if isinstance(value, Mapping):
        return {TYPE: "mapping", "items": [[str(k), _encoded(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        return [_encoded(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float):
        return float(value)
    return value


def _is_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    found = getattr(value, field.name)
    return field.default is None and found is None


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(one) for one in value)
    if not isinstance(value, dict):
        return value
    kind = value[TYPE]
    if kind == "array":
        return np.array(value["values"], float)
    if kind == "mapping":
        return {name: _decoded(inner) for name, inner in value["items"]}
    if kind in WORDS:
        return WORDS[kind](value["value"])
    fields = {name: _decoded(inner) for name, inner in value.items() if name != TYPE}
    return RECORDS[kind](**fields)
