r"""Make the recorded evidence, piece by piece; run this where there is a GPU.

    python -m phasescope.studies.state_tracking.decoder.recording --out FOLDER \
        [--only NAME ...] [--skip NAME ...] [--within SECONDS] [--store FOLDER] [--again]

Each piece is one sweep whose result is written to FOLDER/recorded/NAME.zip as soon as it is there, and FOLDER/recorded.tar
is made anew. A piece that FOLDER or, without `--again`, the study already holds is left out, and so is one that would
probably not end within the time given. With `--store` a piece that was stopped goes on where it was. `--tiny` runs the
same pieces at the smallest size.
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

DIGITS = 2**-14  # to which attention along chains is kept: the rest is noise, and does not compress
LONG = ("attention_predicate", "attention_answer", "heat_double", "heat_quadruple")
TINY: dict[str, Any] = {
    "samples": 4,
    "stages": 1,
    "steps": 6,
    "stage_steps": 3,
    "records": 2,
    "precision": "float32",
}


def make(evidence: Any, store: Path | None = None, replaces: Path | None = None) -> xr.Dataset:
    """Run what one piece asks for and write it down, with the digests of the checks that wait for it."""
    from .. import study
    from ..claims import awaiting

    known = {claim.id for claim in study.claims}
    waiting = [claim for claim in awaiting if claim.id not in known]
    asking = dataclasses.replace(study, claims=(*study.claims, *waiting))
    return ps.record(
        asking,
        evidence,
        prepare=_rounded,
        store=False if store is None else store,
        replaces=replaces,
        rounded=DIGITS,
    )


def _rounded(ds: xr.Dataset) -> xr.Dataset:
    """Attention along chains with no more digits than mean something."""
    long = {name: x for name, x in ds.items() if name in LONG}
    return ds.assign({name: x.copy(data=_round(x.values)) for name, x in long.items()})


def _round(x: np.ndarray) -> np.ndarray:
    return (DIGITS * np.round(x / DIGITS)).astype(np.float32)


def tiny(evidence: Any) -> Any:
    """The same piece at the smallest size."""
    request = evidence.request
    small = dict(request.changes) | {
        name: value for name, value in TINY.items() if name in request.arm.reads
    }
    if small.get("dataset"):
        small["dataset"] = 10
    smaller = dataclasses.replace(request, preset="tiny", changes=tuple(sorted(small.items())))
    return dataclasses.replace(evidence, request=smaller)


def summary(name: str, ds: xr.Dataset, seconds: float) -> str:
    """One piece in a few lines, so that a lost file loses no number."""
    last = ds.isel(time=-1)
    updates = float(ds.time[-1])
    accuracy = f"{_mean(last.accuracy)} ± {_row(last.accuracy.std('seed', ddof=1))}"
    lines = [
        f"{name}: {seconds:.1f} s, {updates:.0f} updates, {updates / seconds:.0f} updates/s (with compilation)",
        f"  loss {_row(last.loss)} | test {_row(last.test_loss)}",
        f"  lengths {ds.test_length.values.tolist()}: val {accuracy}",
        f"  full {_mean(last.accuracy_full)} | step {_mean(last.step_accuracy)}",
        f"  attention, mean over steps: predicate {_mean(last.attention_predicate.mean('step'))}",
        f"                              answer    {_mean(last.attention_answer.mean('step'))}",
    ]
    for t in range(1, ds.sizes["time"] - 1):
        now = ds.isel(time=t)
        lines.append(
            f"  at {float(now.time):.0f}: loss {_row(now.loss)} | val {_mean(now.accuracy)}"
        )
    return "\n".join(lines)


def _row(x: xr.DataArray) -> str:
    return " ".join(f"{v:.3f}" for v in np.ravel(x))


def _mean(x: xr.DataArray) -> str:
    """Over seeds."""
    return _row(x.mean("seed"))


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

    chosen = _arguments(list(PIECES))
    start = time.perf_counter()
    longest = 0.0
    for name in chosen.only:
        file = chosen.out / "recorded" / f"{name}.zip"
        held = FOLDER / file.name if (FOLDER / file.name).exists() else None
        left_out = held is not None and not (chosen.tiny or chosen.again)
        if name in chosen.skip or file.exists() or left_out:
            print(f"{name}: skipped", flush=True)
            continue
        if time.perf_counter() - start + longest > chosen.within:
            print(f"{name}: not begun, no time left", flush=True)
            continue
        piece = tiny(PIECES[name]) if chosen.tiny else PIECES[name]
        began = time.perf_counter()
        ds = make(dataclasses.replace(piece, file=file), chosen.store, held)
        pack_all(chosen.out)
        seconds = time.perf_counter() - began
        longest = max(longest, seconds)
        print(summary(name, ds, seconds), f"\n  {file.stat().st_size / 1024:.0f} KiB", flush=True)


def _arguments(pieces: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the recorded evidence of state_tracking.")
    parser.add_argument(
        "--out", type=Path, required=True, help="where recorded/*.zip and recorded.tar go"
    )
    parser.add_argument("--only", nargs="*", default=pieces, choices=pieces)
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="begin no piece that would end later"
    )
    parser.add_argument(
        "--store",
        type=Path,
        help="where checkpoints are kept, for a piece that is stopped half-way",
    )
    parser.add_argument(
        "--again", action="store_true", help="make also what the study holds, to replace it"
    )
    parser.add_argument(
        "--tiny", action="store_true", help="the smallest size, to see that it works"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
