r"""Make the recorded evidence, piece by piece; run this where there is a GPU.

    python -m phasescope.studies.state_tracking.decoder.recording --out FOLDER \
        [--only NAME ...] [--skip NAME ...] [--within SECONDS]

Each piece is one sweep whose result is written to FOLDER/recorded/NAME.zip as soon as it is there, and FOLDER/recorded.tar
is made anew. A piece that FOLDER or the study already holds is left out, and so is one that would probably not end within
the time given. `--tiny` runs the same pieces at the smallest size.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

from ....claims.requests import Recorded, Sweeps
from ....records.recorded import write

DIGITS = 2**-14  # to which attention along chains is kept: the rest is noise, and does not compress
LONG = ("attention_predicate", "attention_answer", "heat_double", "heat_quadruple")
TINY: dict[str, Any] = {"samples": 4, "stages": 1, "steps": 6, "stage_steps": 3, "records": 2, "precision": "float32"}


def make(evidence: Recorded, **more: Any) -> xr.Dataset:
    """Run what was asked for and write it down."""
    from .. import study

    ask = evidence.request
    assert isinstance(ask, Sweeps)
    began, numbers = time.perf_counter(), _fields(ask)
    ds = ps.sweep(study, ask.arm, preset=ask.preset, seeds=ask.seeds, lanes=ask.lanes, store=False, **numbers)
    seconds = time.perf_counter() - began
    short = lambda x: x.copy(data=(DIGITS * np.round(x.values / DIGITS)).astype(np.float32))
    ds = ds.assign({k: short(v) for k, v in ds.items() if k in LONG})
    write(evidence, ds, type(study.spec), seconds=round(seconds, 1), rounded=DIGITS, **more)
    return ds


def _fields(ask: Sweeps) -> dict[str, Any]:
    return dict(ask.changes) | {k: list(v) for k, v in ask.axes}


def tiny(evidence: Recorded) -> Recorded:
    """The same piece at the smallest size."""
    ask = evidence.request
    small = dict(ask.changes) | TINY
    if small.get("dataset"):
        small["dataset"] = 10
    return dataclasses.replace(
        evidence, request=dataclasses.replace(ask, preset="tiny", changes=tuple(sorted(small.items())))
    )


def summary(name: str, ds: xr.Dataset, seconds: float) -> str:
    """One piece in a few lines, so that a lost file loses no number."""
    last = ds.isel(time=-1)
    row = lambda x: " ".join(f"{v:.3f}" for v in np.ravel(x))
    mean = lambda x: row(x.mean("seed"))
    updates = float(ds.time[-1])
    lines = [
        f"{name}: {seconds:.1f} s, {updates:.0f} updates, {updates / seconds:.0f} updates/s (with compilation)",
        f"  loss {row(last.loss)} | test {row(last.test_loss)}",
        f"  lengths {ds.test_length.values.tolist()}: val {mean(last.accuracy)} ± {row(last.accuracy.std('seed', ddof=1))}",
        f"  full {mean(last.accuracy_full)} | step {mean(last.step_accuracy)}",
        f"  attention, mean over steps: predicate {mean(last.attention_predicate.mean('step'))}",
        f"                              answer    {mean(last.attention_answer.mean('step'))}",
    ]
    for t in range(1, ds.sizes["time"] - 1):
        now = ds.isel(time=t)
        lines.append(f"  at {float(now.time):.0f}: loss {row(now.loss)} | val {mean(now.accuracy)}")
    return "\n".join(lines)


def pack_all(folder: Path) -> None:
    """One archive of all files, replaced whole."""
    half = folder / "recorded.tar.part"
    with tarfile.open(half, "w") as archive:
        for file in sorted((folder / "recorded").glob("*.zip")):
            archive.add(file, arcname=f"recorded/{file.name}")
    os.replace(half, folder / "recorded.tar")


def main() -> None:
    """The command line."""
    from ..claims.recorded import FOLDER, PIECES

    parser = argparse.ArgumentParser(description="Make the recorded evidence of state_tracking.")
    parser.add_argument("--out", type=Path, required=True, help="where recorded/*.zip and recorded.tar go")
    parser.add_argument("--only", nargs="*", default=list(PIECES), choices=list(PIECES))
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no piece that would end later")
    parser.add_argument("--tiny", action="store_true", help="the smallest size, to see that it works")
    chosen = parser.parse_args()
    start, longest = time.perf_counter(), 0.0
    for name in chosen.only:
        file = chosen.out / "recorded" / f"{name}.zip"
        if name in chosen.skip or file.exists() or (not chosen.tiny and (FOLDER / file.name).exists()):
            print(f"{name}: skipped", flush=True)
            continue
        if time.perf_counter() - start + longest > chosen.within:
            print(f"{name}: not begun, no time left", flush=True)
            continue
        piece = dataclasses.replace(tiny(PIECES[name]) if chosen.tiny else PIECES[name], file=file)
        began = time.perf_counter()
        ds = make(piece)
        pack_all(chosen.out)
        seconds = time.perf_counter() - began
        longest = max(longest, seconds)
        print(summary(name, ds, seconds), f"\n  {file.stat().st_size / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    main()
