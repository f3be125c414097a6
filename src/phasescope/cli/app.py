"""The command line: thin verbs over the Python ones. Strings are resolved here, once; heavy imports wait for a verb."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MissingExtra, PhasescopeError, SpecError
from .names import check_ids, check_names

app = typer.Typer(
    help="A laboratory for the training dynamics of transformers.\n\n"
    "Example: phasescope check regular_language",
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False,
)  # fmt: skip

INTERRUPTED = 130
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="An installed study, or a file such as ./mine.py.")]
ArmName = Annotated[str, typer.Argument(metavar="ARM", help="One of the study's arms; see `phasescope list STUDY`.")]
Studies = Annotated[
    list[str] | None, typer.Argument(metavar="[STUDY ...]", help="Studies; all installed ones if none is named.")
]
Fields = Annotated[
    list[str] | None, typer.Argument(metavar="[FIELD=VALUE ...]", help="Numbers of the run, as in eta=0.1.")
]
Preset = Annotated[str | None, typer.Option(help="Start from a named set of numbers, such as figure_2.")]
_WHERE = "Where runs are kept. Default: $PHASESCOPE_STORE, else ./phasescope-runs."
StoreDir = Annotated[Path | None, typer.Option("--store", metavar="DIR", help=_WHERE)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Full = Annotated[bool, typer.Option("--full", help="Use the full-size evidence where a reduced one is the default.")]
At = Annotated[str | None, typer.Option(metavar="T,T,...", help="Record at these times: 100,600 or 1:1e4:50:log.")]


@app.command("list")
def list_(study: Annotated[str | None, typer.Argument(metavar="[STUDY]")] = None, as_json: Json = False) -> None:
    """Studies with their arms, presets, claims and figures.

    Example: phasescope list regular_language
    """
    from .output import catalogues, show

    found = catalogues(study)
    _print_json({"studies": found}) if as_json else show(found, in_full=study is not None)


@app.command()
def run(
    study: StudyName,
    arm: ArmName,
    fields: Fields = None,
    preset: Preset = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    at: At = None,
    store: StoreDir = None,
    as_json: Json = False,
) -> None:
    """One run of one arm. A finished run is read from the store; an unfinished one goes on where it stopped.

    Example: phasescope run regular_language symmetric lam=10 steps=10000 --at 600,1000
    """
    check_names(study, arm, preset, fields or [])
    from ..spec import parse
    from ..verbs.run import job_for, lab, obtain
    from .arguments import axis
    from .output import show_run

    chosen = _study(study)
    job = job_for(
        chosen, arm, preset, seed, axis(at, "--at") if at else None, parse(chosen.specify(preset), fields or [])
    )
    ds, id = obtain(chosen, job, lab(store, None))
    final = ds.isel(time=-1)
    scalars = {k: float(v) for k, v in final.data_vars.items() if v.ndim == 0}
    kept = {name: ds.attrs[name] for name in ("folder", "status")}
    summary = {"id": id, **kept, "time": float(final.time), "final": scalars}
    _print_json(summary) if as_json else show_run(summary, ds)


@app.command()
def sweep(
    study: StudyName,
    arm: ArmName,
    fields: Fields = None,
    preset: Preset = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, ...: a further axis.")] = 1,
    at: At = None,
    width: Annotated[
        int | None, typer.Option(min=1, help="Lanes in a block (fixed, padded; part of the identity).")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler to send the blocks to.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and stop.")] = False,
    store: StoreDir = None,
    as_json: Json = False,
) -> None:
    """Runs over the product of values: floats and seeds are lanes of one program, other fields tasks of their own.

    Example: phasescope sweep regular_language symmetric lam=2:200:64:log max_length=6,12 --dry-run
    """
    check_names(study, arm, preset, fields or [])
    from ..verbs.run import lab
    from ..verbs.sweep import bill, lay_out, sweep_in
    from .arguments import axes, axis
    from .output import show_bill, show_sweep

    chosen = _study(study)
    place = lab(store, None)
    values = axes(chosen.specify(preset), fields or [])
    layout = lay_out(chosen, chosen.arm(arm), preset, seeds, axis(at, "--at") if at else None, width, values)
    costs = bill(chosen, chosen.arm(arm), layout, place)
    if dry_run:
        _print_json(costs) if as_json else show_bill(costs)
        return
    with _executor(cluster) as executor:
        ds, ids = sweep_in(chosen, chosen.arm(arm), layout, place, executor)
    lost = int((ds["diverged_at"].notnull()).sum())
    summary = {**costs, "ids": ids, "dims": {str(k): v for k, v in ds.sizes.items()}, "diverged": lost}
    _print_json(summary) if as_json else show_sweep(summary, ds)


@app.command()
def check(
    studies: Studies = None,
    claim: Annotated[str | None, typer.Option(metavar="ID", help="Only this claim.")] = None,
    regime: Annotated[str | None, typer.Option(help="Only this regime: published, theory or beyond.")] = None,
    full: Full = False,
    recompute: Annotated[bool, typer.Option("--recompute", help="Run again what is recorded: for a GPU.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the bill (runs missing) and stop.")] = False,
    store: StoreDir = None,
    as_json: Json = False,
) -> None:
    """The ledger: a verdict on every claim. Exit 1 if an outcome differs from the expected one.

    Example: phasescope check regular_language --claim 4.4-window
    """
    check_ids(studies or [], claim=claim)
    from ..verbs.check import check_in
    from ..verbs.run import lab
    from .output import check_bill, show_check_bill, show_ledger

    chosen, place = _studies(studies), lab(store, None)
    if dry_run:
        costs = check_bill(chosen, place, claim, regime, full, recompute)
        _print_json({"rows": costs}) if as_json else show_check_bill(costs)
        return
    ledger = check_in(chosen, place, claim, regime, full, recompute)
    _print_json(ledger.to_json()) if as_json else show_ledger(ledger)
    if ledger.surprises:
        raise typer.Exit(1)


@app.command()
def draw(
    studies: Studies = None,
    figure: Annotated[str | None, typer.Option(metavar="ID", help="Only this figure.")] = None,
    format: Annotated[str, typer.Option(help="png, pdf or svg; several with commas.")] = "png",
    out: Annotated[Path, typer.Option(metavar="DIR")] = Path("phasescope-figures"),
    full: Full = False,
    store: StoreDir = None,
    as_json: Json = False,
) -> None:
    """The figures, as files.

    Example: phasescope draw regular_language --figure figure_2 --format pdf
    """
    check_ids(studies or [], figure=figure)
    from ..report import draw_figures
    from ..verbs.run import lab

    formats = tuple(format.split(","))
    for f in formats:
        if f not in ("png", "pdf", "svg"):
            raise SpecError(f"--format is png, pdf or svg, got {f}.")
    paths = draw_figures(_studies(studies), lab(store, None), out, None if figure is None else [figure], formats, full)
    _print_json({"files": [str(p) for p in paths]}) if as_json else print(*paths, sep="\n")


@app.command()
def report(
    studies: Studies = None,
    out: Annotated[Path, typer.Option(metavar="DIR")] = Path("phasescope-report"),
    full: Full = False,
    store: StoreDir = None,
) -> None:
    """Ledger and figures as Markdown, JSON and one self-contained HTML file; findings first.

    Example: phasescope report --out report
    """
    check_ids(studies or [])
    from ..report import write_report
    from ..verbs.run import lab
    from .output import show_report

    made = write_report(_studies(studies), lab(store, None), out, full)
    show_report(made)
    if made.ledger.surprises:
        raise typer.Exit(1)


@app.command()
def runs(store: StoreDir = None, as_json: Json = False) -> None:
    """What the store holds, unfinished runs included.

    Example: phasescope runs --store ./phasescope-runs
    """
    from ..store import Store
    from .output import run_rows, show_runs

    rows = run_rows(Store(Store.default_root(store)))
    _print_json({"runs": rows}) if as_json else show_runs(rows)


@app.command()
def repair(store: StoreDir = None, as_json: Json = False) -> None:
    """Verify every hash, rebuild the index, and name what is damaged. Exit 1 if something was.

    Example: phasescope repair --store ./phasescope-runs
    """
    from ..store import Store
    from .output import repair_summary, show_repair

    summary = repair_summary(Store(Store.default_root(store)))
    _print_json(summary) if as_json else show_repair(summary)
    if summary["damaged"]:
        raise typer.Exit(1)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A Python name, such as my_paper.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to put the new package.")] = Path(),
) -> None:
    """A study to start from: a small package that passes `check_study` as it stands.

    Example: phasescope new my_paper && pip install -e ./my_paper && phasescope check my_paper
    """
    from .new import write_study

    print(f"{write_study(name, out)}\nNext: pip install -e {out / name} && phasescope check {name}")


def main() -> None:
    """The entry point: errors of ours become one clear line, warnings one line each."""
    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    try:
        app()
    except PhasescopeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # what typer makes of Ctrl-C
            print("Stopped. What was done is kept; the same command goes on from there.", file=sys.stderr)
        raise
    except BrokenPipeError:
        sys.exit(0)


def _study(name: str) -> Any:
    from ..study import find

    return find(name)


def _studies(names: list[str] | None) -> list[Any]:
    from ..discovery import installed
    from ..errors import StudyNotFound

    if names:
        return [_study(name) for name in names]
    chosen = []
    for name in installed():
        try:
            chosen.append(_study(name))
        except StudyNotFound as error:
            warnings.warn(f"{error} It is left out.", stacklevel=1)
    return chosen


@contextlib.contextmanager
def _executor(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtra("`--cluster` needs the cluster extra: pip install 'phasescope[cluster]'") from error
    with Client(address) as client:
        yield client.get_executor()


def _print_json(document: Any) -> None:
    from ..files import to_json

    print(json.dumps(to_json(document), indent=1, ensure_ascii=False, allow_nan=False))
