"""How a study and its numbers show themselves at a prompt and in a notebook. Nothing here computes."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .spec import Spec
    from .study import Study

WIDTH = 88


def spec_text(spec: Spec) -> str:
    """Every field with its value, defaults included."""
    values = ", ".join(f"{name}={_value(value)}" for name, value in _values(spec))
    line = f"{type(spec).__name__}({values})"
    return textwrap.fill(line, WIDTH, subsequent_indent="     ", break_long_words=False)


def spec_html(spec: Spec) -> str:
    """Every field with its value, symbol and meaning, as a table."""
    said = {f.name: f.metadata for f in dataclasses.fields(spec)}
    rows = [
        (name, _value(value), said[name].get("symbol", ""), said[name].get("doc", ""))
        for name, value in _values(spec)
    ]
    return _table(("field", "value", "symbol", "meaning"), rows)


def study_text(study: Study) -> str:
    """The paper, the arms, the fields with their defaults, and how many claims and figures there are."""
    paragraphs = [f"Study {study.name}: {study.paper or 'of no paper'}"]
    paragraphs += [f"  {title}: {words}" for title, words in _parts(study)]
    lines = [textwrap.fill(text, WIDTH, subsequent_indent="    ") for text in paragraphs]
    return "\n".join(lines)


def study_html(study: Study) -> str:
    """The same as a table, with what every arm is."""
    title = f"<p><b>{html.escape(study.name)}</b> {html.escape(study.paper)}</p>"
    arms = [(arm.__name__, _first_line(arm)) for arm in study.arms]
    rest = [(title, words) for title, words in _parts(study) if title != "arms"]
    return title + _table(("arm", ""), arms) + _table(("", ""), rest)


def _parts(study: Study) -> list[tuple[str, str]]:
    fields = {name: value for spec in study.defaults for name, value in _values(spec)}
    parts = [
        ("authors", ", ".join(study.authors)),
        ("link", study.link),
        ("arms", ", ".join(arm.__name__ for arm in study.arms)),
        ("fields", ", ".join(f"{name}={_value(value)}" for name, value in fields.items())),
        ("presets", ", ".join(study.presets)),
        ("claims", _counted(study.claims, "study.claims, ps.check")),
        ("figures", ", ".join(figure.id for figure in study.figures)),
    ]
    return [(title, words) for title, words in parts if words]


def _counted(things: Sequence[Any], where: str) -> str:
    return f"{len(things)} ({where})" if things else ""


def _values(spec: Spec) -> Iterable[tuple[str, Any]]:
    return [(f.name, getattr(spec, f.name)) for f in dataclasses.fields(spec)]


def _value(value: Any) -> str:
    """A number or a word; of an array, which a swept field is inside a program, its type and shape."""
    if hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    return repr(value)


def _first_line(arm: Any) -> str:
    return (arm.__doc__ or "").strip().partition("\n")[0]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(word)}</th>" for word in heads)
    lines = [f"<tr>{head}</tr>"] if any(heads) else []
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return f"<table>{''.join(lines)}</table>"
