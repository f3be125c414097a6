"""Numbers in the prose of docs/ are those of the code: limits, widths, defaults, and what other tests ask for.

Timings are measured by hand, and are the exception. Numbers beside a line of code are compared by `test_docs.py`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pkgutil
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import phasescope as ps
from phasescope import analysis, probes
from phasescope.checkpoints import tensorfile
from phasescope.cli import exit_codes
from phasescope.cluster import addresses, workers
from phasescope.engine import cache, calls
from phasescope.engine.fused import choice, runs
from phasescope.ledger import findings
from phasescope.records import evidence_file
from phasescope.store import containers, sealed, values
from phasescope.store import store as stores
from phasescope.verbs import context, fork_origin, map_axes, outlook, sent_blocks, sweep_layout

ROOT = Path(__file__).parents[1]
WORDS = {4: "four", 5: "five", 10: "ten"}


def page(name: str) -> str:
    """A page with every white space as one blank, so that a phrase is found where a line ends."""
    return " ".join((ROOT / name).read_text().split())


def missing(name: str, *phrases: str) -> list[str]:
    """Of some phrases, with numbers of the code, those that a page does not have."""
    text = page(name)
    return [phrase for phrase in phrases if phrase not in text]


def binary(number: int) -> str:
    """A power of two in the units of the pages: 2 GiB, 256 MiB."""
    power = 30 if number >= 2**30 else 20
    return f"{number >> power} {'GiB' if power == 30 else 'MiB'}"


def test_the_page_on_sweeps_has_the_widths_of_blocks_and_kernels():
    said = (
        f"(on a CPU {sweep_layout.CPU_WIDTHS[0]}, padded",
        f"({choice.LEAST_LANES:,} lanes or more, 2^{int(math.log2(choice.LEAST_WORK))} steps in all)",
        f"a kernel of more than {runs.LARGEST_KERNEL:,} scalar operations",
        f"up to {sweep_layout.FUSED_WIDTH:,} runs, as far as its kept records take less than "
        f"{binary(sweep_layout.FITTING_BYTES)}",
    )
    assert missing("docs/sweeps.md", *said) == []


def test_the_page_on_maps_has_the_points_of_an_axis():
    levels = 5
    parts = 2 * (map_axes.REFINED_POINTS - 1) * 2**levels
    assert parts > 1000
    said = (
        f"`n` is {map_axes.POINTS} for floats ({map_axes.REFINED_POINTS} with `refine`) and "
        f"{map_axes.WHOLE_POINTS} for whole numbers",
        "A line is located to 1/(2 (n - 1) 2^LEVELS) of an axis of n points: from the "
        f"{map_axes.REFINED_POINTS} points of a refined axis {WORDS[levels]} levels give 1/{parts}",
    )
    assert missing("docs/maps.md", *said) == []


def test_the_page_on_forks_says_how_many_states_are_remembered():
    said = f"{WORDS[fork_origin.STATES_KEPT]} such states are remembered"
    assert missing("docs/forks.md", said) == []


def test_the_pages_on_stopping_say_how_far_back_a_checkpoint_is():
    seconds = context.Context.save_every
    said = f"last checkpoint ({WORDS[int(seconds)]} seconds back at most)"
    assert missing("docs/resume.md", said) == []
    assert missing("docs/cluster.md", said) == []


def test_the_page_on_clusters_has_what_a_sweep_gives_up_after():
    said = (
        f"If {WORDS[sent_blocks.HOPELESS]} blocks fail before any succeeds",
        f"tcp://10.0.0.1:{addresses.PORT}",
        f"and exit code {exit_codes.INCOMPLETE}",
    )
    assert workers.DEATHS == 0  # "none for `--workers`"
    assert missing("docs/cluster.md", *said) == []


def test_what_dask_allows_is_what_the_page_says():
    pytest.importorskip("distributed")  # brings its settings
    dask = pytest.importorskip("dask")
    allowed = dask.config.get("distributed.scheduler.allowed-failures")
    assert (
        missing("docs/cluster.md", f"`distributed.scheduler.allowed-failures`, {allowed} in Dask")
        == []
    )


def test_the_page_on_concepts_has_the_tolerances_of_a_flow():
    defaults = inspect.signature(ps.flow).parameters
    rtol, atol = defaults["rtol"].default, defaults["atol"].default
    said = f"error control (`rtol={rtol:.0e}`, `atol={atol:.0e}`)".replace("e-09", "e-9")
    assert missing("docs/concepts.md", said) == []
    assert calls.TARGET_SECONDS == 0.5  # "in pieces of about half a second", also in trust
    for name in ("docs/concepts.md", "docs/trust.md"):
        assert missing(name, "about half a second") == []


def test_the_page_on_trust_says_from_which_length_a_run_is_announced():
    assert outlook.LONG == 24 * 3600  # "more than a day to go"
    assert missing("docs/trust.md", "A run that has more than a day to go says so") == []


def test_the_page_on_the_store_has_its_limits():
    longest = len(json.dumps([1.2345678901234567e-05] * 2)) - len(
        json.dumps([1.2345678901234567e-05])
    )
    times = sealed.LARGEST_JSON / longest
    asked = round(
        times / 2, -5
    )  # those that were asked for and those that were recorded stand in one file
    said = (
        f"| records of a run, in memory | {binary(stores.LIMIT)};",
        f"| recorded evidence, in memory | {binary(evidence_file.LIMIT)} |",
        f"| {binary(sealed.LARGEST_JSON)} ({times / 1e6:.1f} million record times; "
        f"a run may be asked for {asked:,.0f}) |",
        f"| `index.json` | {binary(sealed.LARGEST_INDEX)};",
        f"| names, shapes and attributes of the records | {binary(containers.LARGEST_METADATA)} |",
        f"Of a block of more than {values.WRITTEN_OUT:,} lanes a digest of their numbers counts",
        f"blocks of more than {values.WRITTEN_OUT:,} lanes, have format {sealed.FORMAT}",
    )
    assert missing("docs/store.md", *said) == []


def test_the_page_on_checkpoints_has_what_is_read_at_a_time():
    assert tensorfile.PIECE == 2**20  # "1 million numbers at a time"
    said = ("1 million numbers at a time", f"a header beyond {binary(tensorfile.LARGEST_HEADER)}")
    assert missing("docs/checkpoints.md", *said) == []


def test_the_page_on_replay_has_what_its_test_asks_for():
    source = (ROOT / "tests/core/test_replay.py").read_text()
    far = re.search(r"^IN_32_BITS = (\S+)$", source, re.MULTILINE)
    steps = re.search(r"^STEPS, .* = (\d+), ", source, re.MULTILINE)
    assert far and steps
    said = (
        f"A test feeds {steps[1]} batches to autograd and SGD of torch",
        f"no weight differs by more than {far[1]} of the largest one",
    )
    assert missing("docs/replay.md", *said) == []


def test_the_page_on_compiled_programs_says_how_much_is_kept():
    assert missing("docs/cache.md", f"Beyond {binary(cache.LIMIT)} what was not used") == []


def test_the_pages_on_the_ledger_have_the_margin_that_is_thin_and_the_factors_that_turn():
    thin = f"{findings.THIN:g}"
    assert missing("docs/words.md", f"margins below {thin} on a chosen bound") == []
    assert (
        missing("docs/words.md", f"`Ledger.turned_by({findings.HALF:g}, {findings.DOUBLE:g})`")
        == []
    )
    assert (
        missing("docs/numbers.md", f"Rows with a margin below {thin} on a bound that we chose")
        == []
    )


def test_the_page_on_a_row_says_where_a_fall_begins_to_count():
    modules = (
        importlib.import_module(f"phasescope.analysis.{found.name}")
        for found in pkgutil.iter_modules(analysis.__path__)
    )
    (flat,) = {module.FLAT for module in modules if hasattr(module, "FLAT")}
    said = f"lies above -{flat:g}, where a fall begins to count"
    assert missing("docs/row.md", said) == []


def test_a_fitted_exponent_holds_only_if_its_interval_lies_within_the_tolerance():
    assert (
        missing(
            "docs/claims.md",
            "`scales_like(y, x, 2, tol=0.05)` holds only if all of it lies in [1.95, 2.05]",
        )
        == []
    )


def test_the_pages_name_the_pythons_that_are_supported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    first, last = pythons[0], pythons[-1]
    for name in ("README.md", "docs/index.md", "docs/install.md"):
        assert missing(name, f"Python {first} to {last}") == []
    assert project["requires-python"].startswith(f">={first},")


def test_the_page_of_contributing_has_the_floor_of_coverage():
    floor = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["report"]
    assert missing("CONTRIBUTING.md", f"below {floor['fail_under']}% it is an error") == []


def test_what_readme_says_of_exit_codes_is_so():
    text = page("README.md")
    found = re.search(
        r"Exit code 0: every word as established; (\d): a word changed; (\d): bad input; (\d): a check",
        text,
    )
    assert found
    assert [int(code) for code in found.groups()] == [
        exit_codes.CHANGED,
        exit_codes.BAD_INPUT,
        exit_codes.NOT_CARRIED_OUT,
    ]


@pytest.mark.full  # 12 s; test_probes.py asks for what is promised, by fewer curves
def test_the_page_on_probes_has_how_often_a_plateau_of_noise_was_cut_short():
    def cut_short(records: int, allowed: float) -> float:
        noise = np.random.default_rng(records).normal(size=(2000, records))
        found = (probes.longest_plateau(x, false_alarm=allowed) for x in noise)
        return float(np.mean([one is None or one.stop - one.start < records for one in found]))

    lengths = (10, 30, 60, 150)
    tenth, hundredth = (max(cut_short(n, allowed) for n in lengths) for allowed in (0.1, 0.01))
    said = (
        f"on 2,000 curves each of {', '.join(map(str, lengths[:-1]))} and {lengths[-1]} records, {tenth:.2%} at "
        f"most were cut short with 10% allowed, and {hundredth:.2%} with 1%"
    )
    assert missing("docs/probes.md", said) == []


TEXT_COLUMNS = (
    ("lazy_to_rich", "figure_2", "text_two_layer"),
    ("scan_and_snap", "figure_7", "text_attention"),
    ("regular_language", "figure_7", "text_gpt"),
)
TEXT_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)


@pytest.mark.parametrize(("column", "place"), [*enumerate(TEXT_COLUMNS)])
def test_the_page_on_text_has_the_settings_of_its_figures(column, place):
    """Those that a paper states are in bold; `-` is for what does not apply."""
    name, preset, arm = place
    study = importlib.import_module(f"phasescope.studies.{name}").study
    spec = study.specify(preset, arm)
    protocol = study.protocols[preset]
    table = (ROOT / "docs/text.md").read_text().partition("| field |")[2].partition("\n\n")[0]
    said = {row[1]: row[2].split("|")[column].strip() for row in TEXT_ROW.finditer(table)}
    assert len(said) > 30
    stated = {*protocol.stated, *dict(protocol.varied)}
    assert {field for field, cell in said.items() if cell.startswith("**")} == stated & {*said}
    found = {field: cell.strip("*") for field, cell in said.items() if cell != "-"}
    assert found == {field: as_cell(getattr(spec, field)) for field in found}


def as_cell(value):
    """A value of a field as the table of docs/text.md has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, str):
        return value.partition("@")[0]
    return f"{value:g}" if isinstance(value, float) or value < 10_000 else f"{value:,}"
