"""The arguments and flags of the commands, each with its help. A new flag is declared here and taken in `commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__


def _show_version(asked: bool) -> bool:
    if asked:
        print(f"phasescope {__version__}")
        raise typer.Exit
    return asked


def _folder(text: str | Path) -> Path:
    """A folder that was typed; an empty word, as an unset variable gives, is not taken for the present folder."""
    if not str(text):
        raise typer.BadParameter("the name of the folder is empty.")
    return Path(text)


Version = Annotated[
    bool,
    typer.Option(
        "--version", is_eager=True, callback=_show_version, help="Print the version and stop."
    ),
]

StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="An installed study, or a file such as ./mine.py.")
]
ArmName = Annotated[
    str, typer.Argument(metavar="ARM", help="One of the study's arms; see `phasescope list STUDY`.")
]
Studies = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STUDY ...]", help="Studies; all installed ones if none is named."),
]
Fields = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FIELD=VALUE ...]", help="Numbers of the run, as in eta=0.1."),
]
Preset = Annotated[
    str | None, typer.Option(help="Start from a named set of numbers, such as figure_2.")
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[WORD ...]", help="Parts of an id, a status, or a number such as eta=0.1."
    ),
]
Last = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only so many, those that ended last.")
]
_WHERE = "Where runs are kept. Default: $PHASESCOPE_STORE, else ./phasescope-runs."
StoreDir = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help=_WHERE, parser=_folder)
]
_CORPORA = "Where text corpora lie. Default: $PHASESCOPE_DATA, else a folder of the user's."
Corpora = Annotated[
    Path | None, typer.Option("--corpora", metavar="DIR", help=_CORPORA, parser=_folder)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Full = Annotated[
    bool,
    typer.Option("--full", help="Use the full-size evidence where a reduced one is the default."),
]
At = Annotated[
    str | None,
    typer.Option(metavar="T,T,...", help="Record at these times: 100,600 or 1:1e4:50:log."),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME,...", help="Compute and keep only these observables: loss,accuracy."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run, and stop.")]
Seed = Annotated[int, typer.Option(min=0)]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds 0, 1, ...: a further axis.")]
_GIVEN = "Begin from arrays of your own, a .npz or .safetensors with names such as params.weight."
Given = Annotated[Path | None, typer.Option("--given", metavar="FILE", help=_GIVEN)]
Tied = Annotated[
    list[str] | None,
    typer.Option(
        "--tied",
        metavar="FIELD,FIELD,...",
        help="Fields that move together along one axis, as in dim=10,20 m0=0.3,0.2 --tied dim,m0.",
    ),
]
Block = Annotated[
    int | None,
    typer.Option(min=1, help="Lanes in a block (fixed, padded; part of the identity)."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Send the blocks to a Dask scheduler, as tcp://HOST:8786."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Compute the blocks in so many processes of this machine."
    ),
]
TlsFolder = Annotated[
    Path | None,
    typer.Option("--tls", metavar="FOLDER", help="Of --cluster: ca.pem, cert.pem and key.pem."),
]
TlsCa = Annotated[Path | None, typer.Option(metavar="FILE", help="In place of --tls, each file.")]
TlsCert = Annotated[Path | None, typer.Option(metavar="FILE")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Of a block on a worker; past it, it is set aside."),
]
ClaimId = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Only this claim, in full; by its id, name or an alias."),
]
Why = Annotated[bool, typer.Option("--why", help="Add the reason to every row.")]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="Print where a check that could not be made went wrong.")
]
Regime = Annotated[str | None, typer.Option(help="Only this regime: published, theory or beyond.")]
Recompute = Annotated[
    bool, typer.Option("--recompute", help="Run again what is recorded: for a GPU.")
]
FigureId = Annotated[str | None, typer.Option(metavar="ID", help="Only this figure.")]
Format = Annotated[str, typer.Option(help="png, pdf or svg; several with commas.")]
SheetFormat = Annotated[str, typer.Option("--format", help="markdown or latex.")]
OutDir = Annotated[Path, typer.Option(metavar="DIR", parser=_folder)]
PackageDir = Annotated[
    Path, typer.Option(metavar="DIR", help="Where to put the new package.", parser=_folder)
]
PackageName = Annotated[
    str, typer.Argument(metavar="NAME", help="A Python name, such as my_paper.")
]
MaybeStudy = Annotated[str | None, typer.Argument(metavar="[STUDY]")]
ListClaims = Annotated[
    bool, typer.Option("--claims", help="Every claim: statement, kind, established words.")
]
ListFields = Annotated[
    bool, typer.Option("--fields", help="Every field: meaning and range; and every preset.")
]
ListFigures = Annotated[bool, typer.Option("--figures", help="Every figure with its caption.")]
OutFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write the dataset: FILE.nc (netCDF) or FILE.zarr.zip."),
]
RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="An id, its beginning, or the folder of a run; see `runs`."),
]
ForkAt = Annotated[
    float, typer.Option("--at", metavar="T", help="The time of the run at which it is forked.")
]
Clamp = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A parameter that stays as it is; may be repeated."),
]
Reset = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A parameter put back to its start; may be repeated."),
]
Replace = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A number for all entries of a parameter, or FILE.npy with its array; may be repeated.",
    ),
]
Lane = Annotated[
    int | None,
    typer.Option(metavar="K", help="Of a block of a sweep: the lane whose run is meant, from 0."),
]
ExportFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="FILE.nc, FILE.zarr.zip or FILE.safetensors.")
]
StageName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a state: the stage at whose end it is; the last one."),
]
ClaimName = Annotated[
    str,
    typer.Argument(metavar="CLAIM", help="Its id or name; see `phasescope list STUDY --claims`."),
]
MapFields = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FIELD=LO:HI[:N][:log] ...", help="One or two axes, as in eta=0.01:1:64:log."
    ),
]
Refine = Annotated[
    int,
    typer.Option(
        min=0, metavar="LEVELS", help="Halve the edges that the zero line crosses so often."
    ),
]
MapRegime = Annotated[
    str | None, typer.Option(help="Which row: published, theory or beyond; the first that fits.")
]
MapStore = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Keep the runs of all cells there. Default: none."),
]
MapData = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="Also write the map: FILE.nc or FILE.zarr.zip."),
]

Port = Annotated[
    int, typer.Option(min=0, max=65535, help="Where the page listens; 0 takes a free port.")
]
Host = Annotated[
    str, typer.Option(help="The address to listen at. Beyond this machine it needs --allow-remote.")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the URL and open nothing.")]
AllowRemote = Annotated[
    bool,
    typer.Option(
        "--allow-remote",
        help="Let other machines reach the page: whoever has the URL can read the store and start runs, unencrypted.",
    ),
]

Checkpoints = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL_OR_FOLDER ...",
        help="A .safetensors file, the folder of a model, a folder of checkpoints, or several.",
    ),
]
Steps = Annotated[
    str | None,
    typer.Option(metavar="N,N,...", help="Steps of the checkpoints, where names do not say them."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME=EXPRESSION",
        help="A group of parameters, by a regular expression on their names; may be repeated.",
    ),
]
Tokens = Annotated[
    Path | None,
    typer.Option(metavar="FILE.npy", help="The probe batch: whole numbers [sequence, position]."),
]
DoubledLength = Annotated[
    int, typer.Option("--length", min=2, help="Tokens of a random sequence, before it is doubled.")
]
DoubledSequences = Annotated[int, typer.Option("--sequences", min=1, help="Doubled sequences.")]
NormsOnly = Annotated[
    bool, typer.Option("--norms-only", help="No attention and no loss: no torch is loaded.")
]
AllowPickles = Annotated[
    bool,
    typer.Option(
        "--allow-pickles", help="Also read .pt and .bin: torch takes tensors of them, nothing else."
    ),
]
