"""What `phasescope map` reads, draws and prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError
from ..store import Store
from .arguments import parse_value
from .terminal import show_line

DRAWN_AXES = 2  # at most, of a map that is drawn

if TYPE_CHECKING:
    import xarray as xr

    from ..study import Study


def map_numbers(
    study: Study, claim: str, regime: str | None, words: Sequence[str]
) -> dict[str, Any]:
    """Axes as they are written, `eta=lo:hi:n:log` or `eta=a,b,c`, and single values."""
    from ..verbs.map_rows import map_row
    from ..verbs.validate import check_read

    arm = map_row(study, study.claim(claim), regime).requests[0].arm
    spec = study.default_for(arm)
    numbers: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise SpecError(f'"{word}" is not of the form field=lo:hi:n[:log] or field=value.')
        if name in numbers:
            raise SpecError(f"{name} is given twice: {word} comes after another value of it.")
        check_read(study, arm, [name])
        if ":" in text:
            numbers[name] = text
        elif "," in text:
            numbers[name] = [parse_value(spec, name, x) for x in text.split(",") if x]
        else:
            numbers[name] = parse_value(spec, name, text)
    return numbers


def check_drawable(numbers: Mapping[str, Any], data: Path | None) -> None:
    """Refuse, before anything runs, a map over more axes than can be drawn whose numbers nobody asked for."""
    axes = [
        k for k, v in numbers.items() if isinstance(v, list) or (isinstance(v, str) and ":" in v)
    ]
    if len(axes) > DRAWN_AXES and data is None:
        raise SpecError(
            f"a map over {len(axes)} axes ({', '.join(axes)}) has no drawing: ask for its numbers by --data FILE.nc, or give "
            f"one value of all but {DRAWN_AXES} of them."
        )


def map_cost(study: Study, claim: str, **asked: Any) -> dict[str, Any]:
    """What the map would run, before it is refined."""
    from ..claims.requests import maps
    from ..verbs.context import Context
    from ..verbs.map import map_layouts

    full = asked.pop("full")
    layouts = map_layouts(study, maps(study.claim(claim), **asked), Context(), full)
    return {
        "study": study.name,
        "claim": claim,
        "lanes": sum(task.lanes for layout in layouts for task in layout.tasks),
        "blocks": sum(len(layout.tasks) for layout in layouts),
    }


def keep_for_the_page(found: xr.Dataset, study: Study, store: Path) -> None:
    """Keep a map whose runs are stored, so that `phasescope serve` shows it."""
    from ..report.kept_maps import KeptMaps

    KeptMaps(Store.default_root(store)).keep(found, study)


def draw_to(found: xr.Dataset, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The map as files; of more than two axes there is no drawing."""
    from ..verbs.draw import draw_canvas
    from ..verbs.map import render_map

    if found["margin"].ndim > DRAWN_AXES:
        return []
    name = f"{found.attrs['study']}-map-{found.attrs['claim']}"
    return draw_canvas(render_map(found), folder, name, formats)


def map_summary(found: xr.Dataset, files: Sequence[Path]) -> dict[str, Any]:
    """A map in a few plain values."""
    margin = found["margin"]
    known = margin.notnull().any()
    assumed = [str(name) for name in found.data_vars if str(name).startswith("assumption_")]
    return {
        "study": found.attrs["study"],
        "claim": found.attrs["claim"],
        "statement": found.attrs["statement"],
        "row": found.attrs["row"],
        "axes": {str(name): int(size) for name, size in margin.sizes.items()},
        "cells": int(margin.size),
        "lanes": int(found.attrs["lanes"]),
        "judged": found.attrs["judged"],
        "words": dict(Counter(found["word"].values.ravel().tolist()).most_common()),
        "margin": [float(margin.min()), float(margin.max())] if known else None,
        "broken": {name: int((found[name] < 1).sum()) for name in assumed},
        "crossings": int(found.sizes.get("crossing", 0)),
        "files": [str(file) for file in files],
    }


def show_map(summary: dict[str, Any]) -> None:
    """What a map found, or would cost, as text."""
    if "words" not in summary:
        runs, blocks = _counted(summary["lanes"], "run"), _counted(summary["blocks"], "block")
        show_line(f"{summary['claim']}: {runs} in {blocks} before refinement")
        return
    show_line(f"{summary['claim']} ({summary['row']}): {summary['statement']}")
    axes = " x ".join(f"{n} {name}" for name, n in summary["axes"].items())
    words = ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in summary["words"].items())
    runs = _counted(summary["lanes"], "run")
    show_line(f"{axes}: {words} ({runs}, judged {summary['judged']})")
    if summary["margin"]:
        low, high = summary["margin"]
        show_line(f"margin from {low:.3g} to {high:.3g}")
    for name, count in summary["broken"].items():
        words = name.removeprefix("assumption_")
        show_line(
            f"assumption {words} is broken in {count} of {_counted(summary['cells'], 'cell')}"
        )
    if summary["crossings"]:
        show_line(f"zero line located at {_counted(summary['crossings'], 'point')}")
    for file in summary["files"]:
        show_line(f"written to {file}", soft_wrap=True)


def _counted(count: int, word: str) -> str:
    """A number and what it counts: 1 run, 2 runs."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
