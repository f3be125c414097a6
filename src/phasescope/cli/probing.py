"""`phasescope probe`: what was typed, as arguments of `ps.probe`, and what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SpecError
from .terminal import plain_table, show_line

if TYPE_CHECKING:
    import xarray as xr

NAMED = 3  # parameters in no group that are named
LARGEST_TOKENS = 2**28  # bytes of a file of tokens


def groups_of(words: Sequence[str]) -> dict[str, str] | None:
    """Groups as they are typed, `--group attention=attn`; None if there are none."""
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, rule) in zip(words, pairs, strict=True):
        if not (name and equals and rule):
            raise SpecError(f"--group {word}: a group is NAME=EXPRESSION, as in attention=attn.")
    return {name: rule for name, _, rule in pairs} or None


def tokens_of(file: Path | None) -> np.ndarray | None:
    """The probe batch of a .npy file. Nothing in it is executed."""
    if file is None:
        return None
    try:
        if file.stat().st_size > LARGEST_TOKENS:
            raise SpecError(f"--tokens {file}: more than {LARGEST_TOKENS / 2**20:g} MiB.")
        found = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        if isinstance(problem, SpecError):
            raise
        raise SpecError(f"--tokens {file}: it cannot be read as a .npy file: {problem}") from None
    if not isinstance(found, np.ndarray):
        raise SpecError(
            f"--tokens {file}: it holds several arrays; a batch is one, in a .npy file."
        )
    return found


def probe_summary(ds: xr.Dataset, out: Path | None) -> dict[str, Any]:
    """What was found of every checkpoint: numbers by group, and of heads the one with the highest score."""
    from ..logs.origin import origins

    rows = [_row(ds.isel(time=at)) for at in range(ds.sizes["time"])]
    copies = int(ds["copy_of"].notnull().sum())
    [origin] = origins(ds)
    written = {} if out is None else {"out": str(out)}
    return {
        "source": origin.source, "kind": origin.kind, "sha256": origin.sha256, "copies": copies,
        "parameters": dict(zip(ds.group.values.tolist(), ds.parameters.values.tolist(), strict=True)),
        "ungrouped": int(ds.attrs["ungrouped"]),
        "ungrouped_names": [name for name in ds.attrs["ungrouped_names"].split(", ") if name],
        "checkpoints": rows,
    } | written  # fmt: skip


def _row(one: xr.Dataset) -> dict[str, Any]:
    groups = [str(name) for name in one.group.values]
    copy = float(one["copy_of"])
    row: dict[str, Any] = {
        "step": float(one.time),
        "sha256": str(one.sha256.item()),
        "copy_of": copy if np.isfinite(copy) else None,
    }
    for name in ("norm", "relative_norm", "moved"):
        row[name] = dict(zip(groups, map(float, one[name].values), strict=True))
    if "loss" in one:
        row["loss"] = float(one["loss"])
        row["entropy"] = float(one["entropy"].mean())
        row["drift"] = float(one["drift"].mean())
        for name in ("previous_token_score", "induction_score"):
            row[name] = _largest(one[name])
    return row


def _largest(score: xr.DataArray) -> dict[str, Any]:
    """The largest score and its head; of a checkpoint with NaN nobody knows either."""
    if not np.isfinite(score.values).all():
        return {"largest": np.nan, "layer": None, "head": None}
    best = score.argmax(dim=("layer", "head"))
    return {"largest": float(score.max()), **{str(dim): int(at) for dim, at in best.items()}}


def show_probe(summary: dict[str, Any], norms_only: bool = False) -> None:
    """One line for each checkpoint: norms relative to the start, and what attention does."""
    rows = summary["checkpoints"]
    groups = list(summary["parameters"])
    norms = plain_table("norm", *groups, "")
    for row in rows:
        same = "" if row["copy_of"] is None else f"= step {row['copy_of']:g}"
        cells = [f"{row['relative_norm'][group]:.4g}" for group in groups]
        norms.add_row(f"step {row['step']:g}", *cells, same)
    show_line("Norms by group, relative to the first checkpoint:")
    show_line(norms)
    if summary["ungrouped"]:
        show_line(_left_out(summary), style="dim")
    if "loss" in rows[0]:
        show_line()
        show_line("Loss, means over heads, and the largest score with its layer.head:")
        show_line(_heads(rows))
    elif not norms_only:
        show_line(
            "Attention and loss need phasescope[torch], and a config.json of gpt2 or gpt_neox.",
            style="dim",
        )
    show_line(f"{summary['source']}: {summary['kind']}, sha256 {summary['sha256'][:12]}")
    if "out" in summary:
        show_line(f"written to {summary['out']}", soft_wrap=True)


def _left_out(summary: dict[str, Any]) -> str:
    """How many parameters are in no group, with the names of some."""
    names = summary["ungrouped_names"]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f"{summary['ungrouped']} parameters are in no group: {', '.join(names[:NAMED])}{more}. "
        "--group NAME=EXPRESSION makes one."
    )


def _heads(rows: Sequence[dict[str, Any]]) -> Any:
    means = ("loss", "entropy", "drift")
    scores = ("previous_token_score", "induction_score")
    table = plain_table("attention", *means, "previous token", "induction")
    for row in rows:
        cells = [f"{row[name]:.4g}" for name in means]
        table.add_row(f"step {row['step']:g}", *cells, *(_best(row[name]) for name in scores))
    return table


def _best(score: dict[str, Any]) -> str:
    if score["layer"] is None:
        return "nan"
    return f"{score['largest']:.3g} ({score['layer']}.{score['head']})"
