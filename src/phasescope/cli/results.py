"""What `run`, `sweep` and `export` say at their end: what there is, where it is, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import plain_table, show_line

if TYPE_CHECKING:
    import xarray as xr

TIMES_ABREAST = 5  # columns of a table of records


def run_summary(ds: xr.Dataset, all_times: bool, out: Path | None) -> dict[str, Any]:
    """What became of a run: where it is kept, how long it took, and its scalars at its end.

    With `all_times`, `times` and `values` have them at every record.
    """
    final = ds.isel(time=-1)
    scalars = [str(name) for name, x in final.data_vars.items() if x.ndim == 0]
    summary: dict[str, Any] = {name: ds.attrs.get(name, "") for name in ("id", "folder", "status")}
    summary |= {
        "time": float(final.time),
        "records": ds.sizes["time"],
        "final": {name: float(final[name]) for name in scalars},
    }
    if all_times:
        summary["times"] = ds.time.values.tolist()
        summary["values"] = {name: _over_time(ds, name) for name in scalars}
    return summary | seconds_of([ds.attrs.get("folder", "")]) | _written(out)


def _over_time(ds: xr.Dataset, name: str) -> list[float]:
    """A scalar at every record; some belong to the run as a whole."""
    return ds[name].broadcast_like(ds["time"]).values.tolist()


def sweep_summary(
    ds: xr.Dataset, cost: dict[str, Any], store: Path, out: Path | None
) -> dict[str, Any]:
    """What became of a sweep, beside what it was said to cost."""
    lost = int(ds["diverged_at"].notnull().sum()) if "diverged_at" in ds.coords else 0
    ids = ds.attrs["ids"].split()
    summary = {**cost, "ids": ids, "dims": {str(k): v for k, v in ds.sizes.items()}}
    summary |= {"diverged": lost, "store": str(store), "megabytes": round(ds.nbytes / 1e6, 3)}
    return summary | seconds_of([str(store / id) for id in ids]) | _written(out)


def seconds_of(folders: Sequence[str]) -> dict[str, float | None]:
    """The seconds that stored runs took to compute, as their manifests say; None if they are not stored."""
    from ..errors import StoreError
    from ..verbs.reading import find_entry

    try:
        entries = [find_entry(Path(folder))[1] for folder in folders if folder]
    except StoreError:
        return {"seconds": None}
    seconds = [float(entry.manifest.get("seconds", 0.0)) for entry in entries]
    return {"seconds": round(sum(seconds), 3) if seconds else None}


def _written(out: Path | None) -> dict[str, str]:
    return {} if out is None else {"out": str(out)}


def show_run(summary: dict[str, Any], ds: xr.Dataset) -> None:
    """The scalars of a run at the times that were asked for, or at its end; then where it is kept."""
    for times, values in _abreast(summary):
        table = plain_table("observable", *(f"at time {t:g}" for t in times), "")
        for name, row in values.items():
            table.add_row(name, *(f"{x:.6g}" for x in row), ds[name].attrs.get("long_name", ""))
        show_line(table)
        show_line()
    what = f"{summary['status']}: {summary['id'] or 'not stored'}"
    show_line(f"{what}; {_counted(summary.get('records', 1), 'record')}{_took(summary)}")
    _show_where(summary, summary["folder"])
    if summary["id"]:
        digest = summary["id"].rpartition("/")[2]
        show_line(f'In Python: ps.open("{digest}")', style="dim")


def _abreast(summary: dict[str, Any]) -> Iterator[tuple[list[float], dict[str, list[float]]]]:
    """The records to show, as many at once as stand side by side."""
    times = summary.get("times", [summary["time"]])
    values = summary.get("values", {name: [x] for name, x in summary["final"].items()})
    for start in range(0, len(times), TIMES_ABREAST):
        chosen = slice(start, start + TIMES_ABREAST)
        yield times[chosen], {name: row[chosen] for name, row in values.items()}


def show_sweep_cost(costs: dict[str, Any]) -> None:
    """What a sweep would run."""
    show_line(
        f"{_shape(costs)}; blocks that are stored: {costs['stored']}, that would run: {costs['missing']}."
    )


def show_sweep(summary: dict[str, Any]) -> None:
    """A sweep's shape, what became of its lanes, where it is kept and how long it took."""
    show_line(f"{_shape(summary)}{_took(summary)}.")
    dims = ", ".join(f"{k}={n}" for k, n in summary["dims"].items())
    show_line(f"dims: {dims}; {summary['megabytes']:.3g} MB in memory")
    if summary["diverged"]:
        left = _counted(summary["diverged"], "run")
        show_line(
            f"{left} left the finite numbers (coordinate `diverged_at`); the others are intact."
        )
    _show_where(
        summary,
        f"{summary['store']}, as {', '.join(summary['ids'][:2])}"
        + (f" and {len(summary['ids']) - 2} more" if len(summary["ids"]) > 2 else ""),
    )
    if "out" not in summary:
        show_line(
            "`--out FILE.nc` writes the dataset; ps.sweep with the same words returns it.",
            style="dim",
        )


def show_exported(summary: dict[str, Any]) -> None:
    """What was written, and what it is."""
    show_line(f"{summary['out']}: {summary['what']} of {summary['id']}", soft_wrap=True)


def _show_where(summary: dict[str, Any], kept: str) -> None:
    if kept:
        show_line(f"kept in {kept}", soft_wrap=True)
    if "out" in summary:
        show_line(f"written to {summary['out']}", soft_wrap=True)


def _shape(costs: dict[str, Any]) -> str:
    tied = costs.get("tied", {})
    axes = " x ".join(
        f"{' with '.join((k, *tied.get(k, ())))} ({n})" for k, n in costs["axes"].items()
    )
    blocks = f"{_counted(costs['blocks'], 'block')} of {_counted(costs['block'], 'lane')}"
    runs = _counted(costs["runs"], "run")
    return f"{axes or 'one run'}: {runs} in {blocks}, {_counted(costs['programs'], 'program')}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _took(summary: dict[str, Any]) -> str:
    seconds = summary.get("seconds")
    return "" if seconds is None else f"; computing took {seconds:.3g} s"
