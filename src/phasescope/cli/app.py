"""The command line: its commands, each of which calls the Python verb of its name.

Their arguments and flags are declared in `flags`, what they print is in `output`. Heavy imports wait
for a command.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import SpecError
from . import flags
from .ending import carry_out
from .exit_codes import CHANGED, NOT_CARRIED_OUT, in_help
from .names import check_ids, check_names

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..spec import Spec
    from ..study import Study

app = typer.Typer(
    help="A laboratory for the training dynamics of transformers.\n\nExample: phasescope check regular_language",
    epilog=in_help(),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def options(version: flags.Version = False) -> None:
    """What holds for every command; the text of `phasescope --help` is given above."""


@app.command("list")
def list_(
    study: flags.MaybeStudy = None,
    claims: flags.ListClaims = False,
    fields: flags.ListFields = False,
    figures: flags.ListFigures = False,
    as_json: flags.Json = False,
) -> None:
    """Studies; or one study on a page, and its claims, fields or figures in full.

    Example: phasescope list regular_language --claims
    """
    from .catalogue import catalogues
    from .listing import show_catalogues
    from .output import emit

    asked = {"claims": claims, "fields": fields, "figures": figures}
    parts = [part for part, is_asked in asked.items() if is_asked]
    found = catalogues(study)
    emit({"studies": found}, as_json, show_catalogues, found, parts if study or parts else None)


@app.command()
def run(
    study: flags.StudyName,
    arm: flags.ArmName,
    fields: flags.Fields = None,
    preset: flags.Preset = None,
    seed: flags.Seed = 0,
    at: flags.At = None,
    keep: flags.Keep = None,
    out: flags.OutFile = None,
    given: flags.Given = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """One run of one arm. A finished run is read from the store; an unfinished one goes on where it stopped.

    Example: phasescope run regular_language symmetric lam=10 steps=10000 --at 600,1000
    """
    check_names(study, arm, preset, fields or [])
    from .. import find
    from .. import run as run_arm
    from .arguments import axis, names, parse
    from .exports import check_out, write_out
    from .given_file import given_arm
    from .output import emit
    from .results import run_summary, show_run

    check_out(out)
    chosen = find(study)
    numbers: dict[str, Any] = parse(_numbers(chosen, arm, preset, fields), fields or [])
    times = axis(at, "--at") if at else None
    begun = given_arm(chosen.arm(arm), given)
    ds = run_arm(
        chosen,
        begun,
        preset=preset,
        seed=seed,
        at=times,
        keep=names(keep),
        store=store,
        **numbers,
    )
    write_out(ds, out)
    summary = run_summary(ds, all_times=at is not None, out=out)
    emit(summary, as_json, show_run, summary, ds)


@app.command()
def sweep(
    study: flags.StudyName,
    arm: flags.ArmName,
    fields: flags.Fields = None,
    preset: flags.Preset = None,
    seeds: flags.Seeds = 1,
    at: flags.At = None,
    keep: flags.Keep = None,
    tied: flags.Tied = None,
    given: flags.Given = None,
    block: flags.Block = None,
    workers: flags.Workers = None,
    cluster: flags.Cluster = None,
    tls: flags.TlsFolder = None,
    tls_ca: flags.TlsCa = None,
    tls_cert: flags.TlsCert = None,
    tls_key: flags.TlsKey = None,
    time_limit: flags.TimeLimit = None,
    dry_run: flags.DryRun = False,
    out: flags.OutFile = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """Runs over the product of values: floats and seeds are lanes of one program, other fields tasks of their own.

    Example: phasescope sweep regular_language symmetric lam=2:200:64:log max_length=6,12 --dry-run
    """
    check_names(study, arm, preset, fields or [])
    from .. import find
    from .. import sweep as sweep_arm
    from ..store import Store
    from ..verbs.sweep import sweep_cost
    from .arguments import axes, axis, names, take_tied
    from .executors import chosen_executor
    from .exports import check_out, write_out
    from .given_file import given_arm
    from .output import emit
    from .results import show_sweep, show_sweep_cost, sweep_summary

    check_out(out)
    chosen = find(study)
    values = axes(_numbers(chosen, arm, preset, fields), fields or [])
    ties = take_tied(tied or [], values)
    times = axis(at, "--at") if at else None
    asked: dict[str, Any] = {
        "preset": preset,
        "seeds": seeds,
        "at": times,
        "block": block,
        "keep": names(keep),
        "store": store,
    }
    begun = given_arm(chosen.arm(arm), given)
    cost = sweep_cost(chosen, begun, *ties, **asked, **values)
    if dry_run:
        emit(cost, as_json, show_sweep_cost, cost)
        return
    files = {"ca": tls_ca, "cert": tls_cert, "key": tls_key}
    with chosen_executor(workers, cluster, tls, files, time_limit) as executor:
        ds = sweep_arm(chosen, begun, *ties, executor=executor, **asked, **values)
    write_out(ds, out)
    summary = sweep_summary(ds, cost, Store(Store.default_root(store)).root, out)
    emit(summary, as_json, show_sweep, summary)


@app.command()
def check(
    studies: flags.Studies = None,
    claim: flags.ClaimId = None,
    regime: flags.Regime = None,
    full: flags.Full = False,
    recompute: flags.Recompute = False,
    why: flags.Why = False,
    traceback: flags.Traceback = False,
    dry_run: flags.DryRun = False,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """The ledger: a word for every claim. With --claim, one claim in full.

    Exit code 0: every word is the established one. 1: a word changed. 2: bad input, or nothing to
    check. 3: a check could not be carried out.

    Example: phasescope check regular_language --claim thm4.5-remark
    """
    check_ids(studies or [], claim=claim)
    from .. import check as check_studies
    from ..verbs.check_cost import check_cost
    from .cards import cards
    from .expectations import say_what_it_takes
    from .output import emit, show_check_cost, show_claim, show_ledger

    chosen = _studies(studies)
    asked: dict[str, Any] = {
        "claim": claim,
        "regime": regime,
        "full": full,
        "recompute": recompute,
        "store": store,
    }
    if dry_run:
        cost = check_cost(*chosen, **asked)
        emit({"rows": cost}, as_json, show_check_cost, cost)
        return
    if claim is None:
        say_what_it_takes(chosen, **asked)
    ledger = check_studies(*chosen, **asked)
    if claim is None:
        emit(ledger.to_json(), as_json, show_ledger, ledger, why, traceback)
    else:
        options = {"--full": full, "--recompute": recompute}
        told = cards(ledger, chosen, studies or [], claim, options)
        emit(ledger.to_json(), as_json, show_claim, ledger, told, traceback)
    _exit_with(ledger)


@app.command()
def draw(
    studies: flags.Studies = None,
    figure: flags.FigureId = None,
    format: flags.Format = "png",
    out: flags.OutDir = Path("phasescope-figures"),
    full: flags.Full = False,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """The figures, as files.

    Example: phasescope draw regular_language --figure figure_2 --format pdf
    """
    check_ids(studies or [], figure=figure)
    from .. import draw as draw_studies
    from .output import emit

    formats = _formats(format)
    paths = draw_studies(
        *_studies(studies), figure=figure, out=out, format=formats, full=full, store=store
    )
    emit({"files": [str(p) for p in paths]}, as_json, print, *paths, sep="\n")


@app.command("map")
def map_(
    study: flags.StudyName,
    claim: flags.ClaimName,
    fields: flags.MapFields = None,
    regime: flags.MapRegime = None,
    refine: flags.Refine = 0,
    at: flags.At = None,
    full: flags.Full = False,
    format: flags.Format = "png",
    out: flags.OutDir = Path("phasescope-figures"),
    data: flags.MapData = None,
    dry_run: flags.DryRun = False,
    store: flags.MapStore = None,
    as_json: flags.Json = False,
) -> None:
    """Where a claim stops holding: its check at every cell of a grid, drawn with its zero line.

    Example: phasescope map regular_language fig2 lam=0.5:50:24:log eta=0.01:1:24:log --refine 4
    """
    check_ids([study], claim=claim)
    from .. import find
    from ..verbs.map import map as map_claim
    from .arguments import axis
    from .exports import check_out, write_out
    from .maps import draw_to, map_cost, map_numbers, map_summary, show_map
    from .output import emit

    check_out(data)
    formats = _formats(format)
    chosen = find(study)
    asked: dict[str, Any] = {
        "regime": regime,
        "refine": refine,
        "at": axis(at, "--at") if at else None,
        "full": full,
        **map_numbers(chosen, claim, regime, fields or []),
    }
    if dry_run:
        cost = map_cost(chosen, claim, **asked)
        emit(cost, as_json, show_map, cost)
        return
    found = map_claim(chosen, claim, store=store or False, **asked)
    write_out(found, data)
    files = draw_to(found, out, formats)
    summary = map_summary(found, [*files, *([data] if data else [])])
    emit(summary, as_json, show_map, summary)


@app.command()
def report(
    studies: flags.Studies = None,
    out: flags.OutDir = Path("phasescope-report"),
    full: flags.Full = False,
    store: flags.StoreDir = None,
) -> None:
    """Ledger and figures as one self-contained HTML file to search and read; Markdown, JSON, LaTeX beside it.

    What did not change since the last time is neither judged nor drawn again. Exit codes are those of `check`.

    Example: phasescope report --out report
    """
    check_ids(studies or [])
    from ..report import write_report
    from ..verbs.context import default_context
    from .expectations import say_what_it_takes
    from .output import show_report

    chosen = _studies(studies)
    say_what_it_takes(chosen, full=full, figures=True, store=store)
    made = write_report(chosen, default_context(store), out, full)
    show_report(made)
    _exit_with(made.ledger)


@app.command()
def errata(
    study: flags.StudyName,
    format: flags.SheetFormat = "markdown",
    full: flags.Full = False,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """What a paper's authors should know: errata with the rows that show them, as Markdown or LaTeX.

    Example: phasescope errata regular_language --format latex > errata.tex
    """
    if format not in ("markdown", "latex"):
        raise SpecError(f"--format is markdown or latex, got {format}.")
    check_ids([study])
    from .. import errata as errata_of
    from .output import emit

    sheet = errata_of(study, full=full, store=store)
    text = sheet.to_latex() if format == "latex" else sheet.to_markdown()
    emit(sheet.to_json(), as_json, print, text, end="")


@app.command()
def runs(store: flags.StoreDir = None, as_json: flags.Json = False) -> None:
    """What the store holds, unfinished runs included.

    Example: phasescope runs --store ./phasescope-runs
    """
    from ..store import Store
    from ..verbs.store_contents import stored_runs
    from .output import emit
    from .runs_table import show_runs

    rows = stored_runs(Store(Store.default_root(store)))
    emit({"runs": rows}, as_json, show_runs, rows)


@app.command()
def serve(
    store: flags.StoreDir = None,
    port: flags.Port = 8017,
    host: flags.Host = "127.0.0.1",
    no_browser: flags.NoBrowser = False,
    allow_remote: flags.AllowRemote = False,
) -> None:
    """A local page over the store: ledger, runs with one time cursor, maps, and a lab. Needs phasescope[page].

    Example: phasescope serve --store ./phasescope-runs
    """
    from ..page.server import serve as serve_page

    serve_page(store, port, host, not no_browser, allow_remote)


@app.command()
def fork(
    run: flags.RunId,
    at: flags.ForkAt,
    fields: flags.Fields = None,
    clamp: flags.Clamp = None,
    reset: flags.Reset = None,
    out: flags.OutFile = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """Go on from the state of a stored run at a time, with parameters held fixed or reset, or other numbers.

    Example: phasescope fork 4ddf eta=0.01 --at 100 --clamp W
    """
    from .exports import check_out, write_out
    from .forks import fork_run
    from .output import emit
    from .results import run_summary, show_run

    check_out(out)
    ds = fork_run(run, at, fields or [], clamp or [], reset or [], store)
    write_out(ds, out)
    summary = run_summary(ds, all_times=False, out=out)
    emit(summary, as_json, show_run, summary, ds)


@app.command()
def export(
    run: flags.RunId,
    file: flags.ExportFile,
    stage: flags.StageName = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """A stored run as a file: its records as .nc or .zarr.zip, its state at a stage's end as .safetensors.

    Example: phasescope export 4ddf state.safetensors
    """
    from .exports import export_run
    from .output import emit
    from .results import show_exported

    summary = export_run(run, file, stage, store)
    emit(summary, as_json, show_exported, summary)


@app.command()
def repair(store: flags.StoreDir = None, as_json: flags.Json = False) -> None:
    """Verify every hash, rebuild the index, and name what is damaged. Exit 1 if something was.

    Example: phasescope repair --store ./phasescope-runs
    """
    from ..store import Store
    from ..verbs.store_contents import repair as repair_store
    from .output import emit, show_repair

    summary = repair_store(Store(Store.default_root(store)))
    emit(summary, as_json, show_repair, summary)
    if summary["damaged"]:
        raise typer.Exit(CHANGED)


@app.command()
def new(
    name: flags.PackageName,
    out: flags.PackageDir = Path(),
) -> None:
    """A study to start from: a small package that passes `check_study` as it stands.

    Example: phasescope new my_paper && pip install -e ./my_paper && phasescope check my_paper
    """
    from .new import write_study

    print(f"{write_study(name, out)}\nNext: pip install -e {out / name} && phasescope check {name}")


def main() -> None:
    """The entry point: errors become one clear line, warnings one line each; see `exit_codes`."""
    carry_out(app)


def _exit_with(ledger: Ledger) -> None:
    """End with the code that says what the ledger found."""
    if ledger.errors:
        raise typer.Exit(NOT_CARRIED_OUT)
    if ledger.surprises:
        raise typer.Exit(CHANGED)


def _formats(words: str) -> tuple[str, ...]:
    """The formats in which to draw."""
    formats = tuple(words.split(","))
    for f in formats:
        if f not in ("png", "pdf", "svg"):
            raise SpecError(f"--format is png, pdf or svg, got {f}.")
    return formats


def _numbers(study: Study, arm: str, preset: str | None, fields: list[str] | None) -> Spec:
    """The numbers that words such as `eta=0.1` change; a field that the arm does not read is an error."""
    from ..verbs.validate import check_read

    chosen = study.arm(arm)
    named = [word.partition("=") for word in fields or []]
    check_read(study, chosen, [name for name, equals, _ in named if equals])
    return study.specify(preset, chosen)


def _studies(names: list[str] | None) -> list[Study]:
    """The studies of these names, or all installed ones; then a broken one is warned of and left out."""
    from ..discovery import installed
    from ..errors import StudyNotFound
    from ..study import find

    if names:
        return [find(name) for name in names]
    chosen = []
    for name in installed():
        try:
            chosen.append(find(name))
        except StudyNotFound as error:
            warnings.warn(f"{error} It is left out.", stacklevel=1)
    return chosen
