"""The table of decoders in the study's README is that of the recorded runs.

`python -m tests.studies.state_tracking.test_table_of_decoders --write` writes it anew.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import xarray as xr

import phasescope as ps
from phasescope.studies.state_tracking import study
from phasescope.studies.state_tracking.claims import comparing, paired, recorded
from phasescope.verbs.context import Context
from phasescope.verbs.evidence import Evidence

PAGE = Path(ps.__file__).parent / "studies" / "state_tracking" / "README.md"
HEAD = "| | updates | L = 5 | 10 | 20 | 40 | 80 | 160 | attention |"
RULE = "|---|---|---|---|---|---|---|---|---|"
SPREAD = 0.05  # from here on the standard deviation over seeds is shown

SECTION_7 = {
    "epochs_C6": "**C6, Section 7** (50,000 chains, 300 epochs, no layer normalisation)",
    "epochs_S5": "**S5, Section 7**",
    "epochs_norm_C6": "C6, the same with layer normalisation",
    "epochs_few_C6": "C6, the same with 10,000 chains",
    "epochs_few_S5": "S5, the same with 10,000 chains",
}
FRESH = {
    "plain_C6": "C6, no layer normalisation",
    "plain_S5": "S5, no layer normalisation",
}
RESIDUAL = {
    "residual_C6": "C6, residual stream as well",
    "residual_S5": "S5, residual stream as well",
}
STAGES = {
    "epochs_stages_S5": ("**S5, Section 7, self-training**: L = 5", "then length {length}"),
    "self_training_S5": ("S5, self-training: start", "then length {length}"),
    "control_S5": ("S5, control: start", "{more:,} more at length 5"),
}


def lines(runs: dict[str, xr.Dataset]) -> Iterator[str]:
    """The rows of the table, in its order."""
    for name, label in SECTION_7.items():
        yield _row(label, runs[name].time.values[-1], paired.end(runs[name]))
    yield from _stages("epochs_stages_S5", runs["epochs_stages_S5"])
    for group in recorded.GROUPS:
        run = runs[f"norm_{group}"]
        early = run.sel(time=10_000)
        yield _row(f"{group}, fresh chains", 10_000, early, attention=False)
        yield _row("", run.time.values[-1], run.isel(time=-1))
    yield from _last(FRESH, runs)
    for size in reversed(recorded.STARTS):
        for group in recorded.GROUPS:
            run = runs[f"starts_{group}"].sel(embedding_scale=size)
            label = f"{group}, the same from embeddings of size {size:g}"
            yield _row(label, run.time.values[-1], run.isel(time=-1))
    yield from _last(RESIDUAL, runs)
    for group in recorded.GROUPS:
        for size in reversed(recorded.SETS):
            run = runs[f"sets_{group}"].sel(dataset=size)
            yield _row(f"{group}, {size:,} chains", run.time.values[-1], run.isel(time=-1))
    yield from _stages("self_training_S5", runs["self_training_S5"])
    yield from _stages("control_S5", runs["control_S5"])


def _last(labels: dict[str, str], runs: dict[str, xr.Dataset]) -> Iterator[str]:
    for name, label in labels.items():
        yield _row(label, runs[name].time.values[-1], runs[name].isel(time=-1))


def _stages(name: str, run: xr.Dataset) -> Iterator[str]:
    start, later = STAGES[name]
    ends = paired.ends(run) if name.startswith("epochs") else comparing.ends_of_stages(run)
    times = [float(ps.in_stage(run, stage).time[-1]) for stage in ps.stage_names(run)]
    for k, (end, time) in enumerate(zip(ends, times, strict=True)):
        label = later.format(length=5 * 2**k, more=round(time - times[0])) if k else start
        yield _row(label, time, end)


def _row(label: str, updates: float, at: xr.Dataset, attention: bool = True) -> str:
    cells = [label, f"{round(float(updates)):,}"]
    for length in at.test_length.values:
        here = at.accuracy.sel(test_length=length)
        cells.append(_cell(float(here.mean()), float(here.std(ddof=1))))
    both = (at.attention_predicate + at.attention_answer).sel(test_length=20).isel(step=slice(20))
    cells.append(f"{float(both.mean()):.2f}".lstrip("0") if attention else "")
    return f"| {' | '.join(cells)} |"


def _cell(mean: float, spread: float) -> str:
    if mean == 0:
        return "0"
    shown = f"{mean:.3f}".removeprefix("0")
    return shown if spread < SPREAD else f"{shown} ± {spread:.2f}".replace("± 0.", "± .")


def table() -> str:
    """The table from the recorded runs."""
    with Evidence(study, Context(), False) as evidence:
        runs = {name: evidence.get(request)[0] for name, request in recorded.PIECES.items()}
        return "\n".join([HEAD, RULE, *lines(runs)])


def test_the_table_of_decoders_is_that_of_the_recorded_runs():
    assert table() in PAGE.read_text(encoding="utf-8")


def test_a_cell_shows_the_spread_of_seeds_where_it_is_seen():
    assert _cell(0.4821, 0.292) == ".482 ± .29"
    assert _cell(1.0, 0.01) == "1.000"
    assert _cell(0.0, 0.0) == "0"


if __name__ == "__main__" and "--write" in sys.argv:
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(HEAD)
    end = text.index("\n\n", begin)
    PAGE.write_text(text[:begin] + table() + text[end:], encoding="utf-8")
