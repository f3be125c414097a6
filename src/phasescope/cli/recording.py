r"""Make the recorded evidence of a study, piece by piece; run this where there is a GPU.

    python -m phasescope.cli.recording STUDY --out FOLDER [--store FOLDER] [--corpora DIR] [--within SECONDS] \
        [--only NAME ...] [--again] [--tiny]

A study's pieces are `PIECES` of its module `claims.recorded`; each is written to FOLDER/NAME.zip as soon as it is there. A
piece that FOLDER or, without `--again`, the study already holds is left out. With `--store` a piece that was stopped goes on
where it was: after `--within` seconds this command stops by itself, and the same call goes on. `--tiny` makes the same pieces
at the smallest size, on the generated text or on `--corpus`. `--corpora` (or `--data`) is the folder of the corpora.
"""

from __future__ import annotations

import _thread
import argparse
import dataclasses
import importlib
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from ..claims.requests import Recorded
from ..errors import PhasescopeError, SpecError, StudyNotFound
from ..networks.observables import with_few_maps
from ..networks.sources import VARIABLE
from ..study import Study, find
from ..verbs.record import record
from .exit_codes import INCOMPLETE, code_of

STOPPED = INCOMPLETE  # exit code: there is more to do


def pieces_of(study: Study) -> tuple[Mapping[str, Recorded], Path]:
    """The recorded evidence of a study by name, and the folder in which it holds what was recorded."""
    try:
        module = importlib.import_module(f"{_package(study)}.claims.recorded")
    except ModuleNotFoundError:
        raise StudyNotFound(f"{study.name} has no recorded evidence to make.") from None
    return module.PIECES, module.FOLDER


def with_awaiting(study: Study) -> Study:
    """The study with the claims that wait for their evidence, so that a recording knows their checks."""
    waiting = getattr(importlib.import_module(f"{_package(study)}.claims"), "awaiting", ())
    known = {claim.id for claim in study.claims}
    more = tuple(claim for claim in waiting if claim.id not in known)
    return dataclasses.replace(study, claims=(*study.claims, *more))


def _package(study: Study) -> str:
    return type(study).__module__.partition(".")[0] + f".studies.{study.name}"


def tiny(study: Study, piece: Recorded, corpus: str | None = None) -> Recorded:
    """The same piece at the smallest size: words and switches are the preset's, numbers those of `tiny`."""
    request = piece.request
    small = study.specify("tiny", request.arm)
    asked = study.specify(request.preset, request.arm, **dict(request.changes))
    kept = ("corpus", "level", "arithmetic")
    words = {
        name: value
        for name, value in asked.to_json().items()
        if isinstance(value, str | bool) and name not in kept and value != small.to_json()[name]
    }
    if corpus is not None:
        words["corpus"] = corpus
    smaller = dataclasses.replace(request, preset="tiny", changes=tuple(sorted(words.items())))
    return dataclasses.replace(piece, request=smaller)


def make(
    study: Study, piece: Recorded, store: Path | None = None, replaces: Path | None = None
) -> xr.Dataset:
    """Run what one piece asks for and write it down, with the digests of the checks that wait for it."""
    return record(
        with_awaiting(study),
        piece,
        prepare=with_few_maps,
        store=False if store is None else store,
        replaces=replaces,
    )


def summary(name: str, ds: xr.Dataset, seconds: float) -> str:
    """The last record of a piece in a few lines, so that a lost file loses no number."""
    last = ds.isel(time=-1)
    lines = [f"{name}: {seconds:.1f} s, {float(ds.time[-1]):.0f} updates (with compilation)"]
    for variable, x in last.data_vars.items():
        if x.size <= 64 and np.issubdtype(x.dtype, np.floating):
            lines.append(f"  {variable} {' '.join(f'{v:.4g}' for v in np.ravel(x))}")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """The command line; the exit code is 7 if time ran out. What is wrong with the input is one line on standard error."""
    chosen = _arguments(words)
    if chosen.data is not None:
        os.environ[VARIABLE] = str(chosen.data)
    try:
        return _made(chosen)
    except PhasescopeError as problem:
        print(problem, file=sys.stderr)
        return code_of(problem)


def _made(chosen: argparse.Namespace) -> int:
    study = find(chosen.study)
    pieces, folder = pieces_of(study)
    strange = [name for name in chosen.only if name not in pieces]
    if strange:
        raise SpecError(f'{study.name} has no piece "{strange[0]}". Known: {", ".join(pieces)}.')
    if chosen.within is not None and not 0 < chosen.within < threading.TIMEOUT_MAX:
        raise SpecError(f"--within is a number of seconds above 0, got {chosen.within:g}.")
    clock = None
    if chosen.within is not None:
        clock = threading.Timer(chosen.within, _thread.interrupt_main)
        clock.daemon = True
        clock.start()
    try:
        for name in chosen.only or pieces:
            _one(study, name, pieces, folder, chosen)
    except KeyboardInterrupt:
        where = (
            "where this one was" if chosen.store else "from the start of this piece (no --store)"
        )
        print(f"stopped: the same call goes on {where}", flush=True)
        return STOPPED
    finally:
        if clock is not None:
            clock.cancel()
    return 0


def _one(
    study: Study,
    name: str,
    pieces: Mapping[str, Recorded],
    folder: Path,
    chosen: argparse.Namespace,
) -> None:
    file = chosen.out / f"{name}.zip"
    held = folder / file.name if (folder / file.name).exists() else None
    if file.exists() or (held is not None and not (chosen.tiny or chosen.again)):
        print(f"{name}: skipped", flush=True)
        return
    piece = tiny(study, pieces[name], chosen.corpus) if chosen.tiny else pieces[name]
    began = time.perf_counter()
    ds = make(study, dataclasses.replace(piece, file=file), chosen.store, held)
    seconds = time.perf_counter() - began
    size = file.stat().st_size / 1024
    print(summary(name, ds, seconds), f"\n  {size:.0f} KiB", flush=True)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the recorded evidence of a study.")
    parser.add_argument("study")
    parser.add_argument("--out", type=Path, required=True, help="where NAME.zip goes")
    parser.add_argument("--only", nargs="*", default=[], help="these pieces")
    parser.add_argument("--within", type=float, help="stop after so many seconds")
    parser.add_argument("--store", type=Path, help="where checkpoints are kept from call to call")
    parser.add_argument(
        "--corpora", "--data", dest="data", type=Path, help="the folder of the corpora"
    )
    parser.add_argument("--again", action="store_true", help="make also what the study holds")
    parser.add_argument("--tiny", action="store_true", help="the smallest size, to see it work")
    parser.add_argument("--corpus", help="with --tiny: a text file in place of the generated text")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
