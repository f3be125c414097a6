"""The edge: every verb, its JSON, its errors. `--json` is one document on standard output and nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import typer.main

import phasescope as ps
from phasescope.cli import app as cli
from phasescope.cli.arguments import axes
from phasescope.discovery import installed
from phasescope.store import Store

MINE = '''
import jax.numpy as jnp
import phasescope as ps
from jaxtyping import Array, Float

class Spec(ps.Spec):
    start: float = ps.field(0.5, above=0)
    steps: int = ps.field(8, at_least=1, traced=True)

class Seen(ps.Observables):
    weight: Float[Array, ""]
    ratio: Float[Array, ""]

def squaring(spec):
    """w <- w^2."""
    stage = ps.Stage("training", ps.iterate(lambda w, t, key: w**2), ps.linear_times(spec.steps))
    return ps.Plan(lambda key: jnp.asarray(spec.start), (stage,), lambda w: Seen(w, 0.0 * w / 0.0))

@ps.claim("Lemma 1", ps.runs(squaring), id="1")
def weight_rises(run):
    """The weight rises, which it does not."""
    return ps.increasing(run.weight)

@ps.figure("Figure 1", ps.runs(squaring))
def curve(run, axes):
    """The weight."""
    axes.plot(run.time, run.weight)

study = ps.Study("mine", Spec(), (squaring,), (weight_rises,), (curve,), presets={"near": Spec(start=0.9)})
'''


@dataclasses.dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.fixture
def phasescope(monkeypatch, capsys, store):
    """The command, in this process."""

    def command(*words: object) -> Said:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["phasescope", *map(str, words)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            try:
                cli.main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
        return Said(code, *capsys.readouterr())

    return command


UNUSUAL = """
@ps.claim(
    "Lemma 2",
    ps.on("training", ps.runs(squaring), expect="false", because="it squares from {value:.2g}"),
    id="lem2", kind="monotone", whose="ours", aliases=("L2",),
)
def typed_rises(run):
    return ps.increasing(run.weight)

@ps.claim("Lemma 3", ps.runs(squaring))
def breaks(run):
    return 1 / 0

study = ps.Study("mine", Spec(), (squaring,), (typed_rises, breaks), (curve,))
"""


@pytest.fixture
def unusual(tmp_path):
    """A study with a typed claim that is false, as established, and one that cannot be checked."""
    path = tmp_path / "unusual.py"
    path.write_text(MINE + UNUSUAL)
    return path


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


# --- help and imports -----------------------------------------------------------------------------------------------

COMMANDS = sorted(typer.main.get_command(cli.app).commands)


def test_the_verbs_are_these():
    assert set(COMMANDS) >= {
        "list",
        "run",
        "sweep",
        "check",
        "draw",
        "errata",
        "report",
        "runs",
        "repair",
        "new",
    }


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_every_verb_has_an_example(verb, phasescope):
    assert "Example: phasescope " + verb in " ".join(phasescope(verb, "--help").out.split())


READ_CORPORA = ("run", "sweep", "check", "draw", "map", "report", "fork", "serve")


def test_the_commands_that_may_read_a_corpus_take_its_folder(phasescope):
    told = {verb: phasescope(verb, "--help").out for verb in COMMANDS}
    assert sorted(verb for verb in told if "--corpora" in told[verb]) == sorted(READ_CORPORA)
    assert "--data" in told["map"]  # which is what it writes


def test_corpora_are_looked_for_in_the_folder_that_is_named(phasescope, tmp_path, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_DATA", str(tmp_path / "nowhere"))
    book = tmp_path / "mine" / "book.txt"
    book.parent.mkdir()
    book.write_text("a rose is a rose is a rose\n" * 30)
    name = f"corpus=book.txt@{hashlib.sha256(book.read_bytes()).hexdigest()[:16]}"
    words = ("sweep", "lazy_to_rich", "text_two_layer", name, "rate=0.1,0.2", "--preset", "tiny")
    there = phasescope(*words, "--dry-run", "--corpora", tmp_path / "mine")
    assert there.code == 0
    words = ("run", "lazy_to_rich", "text_two_layer", "--preset", "tiny", "corpus=tinyshakespeare")
    missing = phasescope(*words, "--corpora", tmp_path / "mine")
    assert missing.code == 2 and missing.err.count("\n") == 1
    assert str(tmp_path / "mine" / "tinyshakespeare" / "input.txt") in missing.err


def test_the_help_has_an_example(phasescope):
    assert "Example: phasescope" in phasescope("--help").out


def test_an_unknown_verb_is_refused(phasescope):
    assert phasescope("rnu").code == 2


HEAVY = """
import sys
from phasescope.cli import app as cli
sys.argv = ["phasescope", *sys.argv[1:]]
try:
    cli.main()
except SystemExit:
    pass
print(sorted({"jax", "xarray", "matplotlib", "diffrax", "zarr"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["list", "--json"], ["list", "linear_modes"]]
)
def test_help_and_list_import_nothing_heavy(words):
    command = [sys.executable, "-W", "ignore", "-c", HEAVY, *words]
    subprocess.run(command, capture_output=True)  # what is not yet in the catalogue is put there
    assert subprocess.run(command, capture_output=True, text=True).stderr == "[]\n"


# --- list -----------------------------------------------------------------------------------------------------------


def test_list_gives_every_study_with_its_parts(phasescope):
    studies = phasescope("list", "--json").json["studies"]
    parts = {"paper", "fields", "arms", "presets", "claims", "figures"}
    assert {name: parts <= entry.keys() for name, entry in studies.items()} == dict.fromkeys(
        studies, True
    )


def test_list_gives_every_claim_with_its_expectations(phasescope):
    [first, *_] = phasescope("list", "linear_modes", "--json").json["studies"]["linear_modes"][
        "claims"
    ]
    assert {"id", "statement", "regimes", "expected"} <= first.keys()


def test_list_shows_the_studies_to_people(phasescope):
    assert "linear_modes" in phasescope("list").out


def test_list_shows_one_study_on_a_page(phasescope):
    said = phasescope("list", "linear_modes").out
    wanted = ("epsilon=", "logistic", "learning_curves", "--claims", "--fields", "--figures")
    assert [word in said for word in wanted] == [True] * len(wanted)
    assert "time course" not in said


@pytest.mark.parametrize(
    ("flag", "word"),
    [
        ("--claims", "time course"),
        ("--fields", "[>= 1] (descent)"),
        ("--figures", "strongest rises first"),
    ],
)
def test_list_shows_parts_of_a_study_in_full(phasescope, flag, word):
    said = " ".join(phasescope("list", "linear_modes", flag).out.split())
    assert word in said


@pytest.mark.parametrize("study", sorted(installed()))
def test_every_study_fits_on_a_page(phasescope, monkeypatch, study):
    monkeypatch.setenv("COLUMNS", "80")
    assert len(phasescope("list", study).out.splitlines()) <= 50


def test_list_names_a_file_in_the_command_that_it_advises(phasescope, tmp_path):
    bare = tmp_path / "bare.py"
    bare.write_text(MINE.replace("(weight_rises,)", "()"))
    said = phasescope("list", bare).out
    assert f"Run one: phasescope run {bare} squaring" in said
    assert "claims" not in said  # it has none


ON_A_LOG = '''
import phasescope as ps

def my_run():
    return ps.logged({"step": [0, 1, 20], "train_loss": [1.0, 0.5, 0.25]})

@ps.claim("my notebook", ps.on("training", ps.tables(my_run)), kind="monotone")
def the_training_loss_falls_from_record_to_record(run):
    """The training loss falls."""
    return ps.decreasing(run.train_loss, "loss")

study = ps.Study("on_a_log", ps.Spec(), arms=(), claims=(the_training_loss_falls_from_record_to_record,))
'''


def test_a_study_of_logs_alone_is_listed_drawn_and_checked(phasescope, tmp_path, monkeypatch):
    file = tmp_path / "on_a_log.py"
    file.write_text(ON_A_LOG)
    assert f"Check it: phasescope check {file}" in phasescope("list", file).out
    assert phasescope("draw", file, "--out", tmp_path / "art").out == "No figure was drawn.\n"
    monkeypatch.setenv("COLUMNS", "80")
    said = phasescope("check", file)
    assert said.code == 0
    assert "time=20" in said.out  # the last letters of the last column


def test_list_takes_a_file(phasescope, mine):
    assert list(phasescope("list", mine, "--json").json["studies"]) == ["mine"]


# --- run ------------------------------------------------------------------------------------------------------------


def test_run_gives_id_folder_status_and_final_scalars(phasescope, store):
    said = phasescope("run", "linear_modes", "logistic", "epsilon=1e-2", "--json").json
    [entry] = Store(store).entries()
    assert (said["id"], said["folder"], said["status"]) == (entry.id, str(entry.folder), "finished")


def test_run_gives_what_python_gives(phasescope):
    said = phasescope(
        "run", "linear_modes", "logistic", "epsilon=1e-2", "--at", "0.5,2", "--json"
    ).json
    ds = ps.run("linear_modes", "logistic", epsilon=1e-2, at=[0.5, 2.0], store=False)
    assert (said["time"], said["final"]["loss"]) == (2.0, float(ds.loss[-1]))


def test_run_takes_a_file_a_preset_and_a_field(phasescope, mine):
    final = phasescope("run", mine, "squaring", "steps=1", "--preset", "near", "--json").json[
        "final"
    ]
    assert final["weight"] == pytest.approx(0.81)


def test_run_is_strict_json_even_with_nan(phasescope, mine):
    assert phasescope("run", mine, "squaring", "--json").json["final"]["ratio"] == "nan"


def test_run_shows_people_a_table(phasescope, mine):
    assert "weight" in phasescope("run", mine, "squaring").out


def test_run_writes_into_the_store_that_is_named(phasescope, mine, tmp_path):
    phasescope("run", mine, "squaring", "--store", tmp_path / "there")
    assert len(Store(tmp_path / "there").entries()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "linear_mode", "flow"], 'there is no study "linear_mode". Known:'),
        (["run", "linear_modes", "flwo"], 'linear_modes has no arm "flwo".'),
        (["run", "linear_modes", "flow", "epsilom=1"], 'there is no field "epsilom".'),
        (["run", "linear_modes", "flow", "epsilon"], '"epsilon" is not of the form field=value'),
        (["run", "linear_modes", "flow", "modes=2.5"], "modes must be an integer, got modes=2.5."),
        (["run", "linear_modes", "descent", "steps=0"], "steps must be at least 1, got steps=0."),
        (["run", "linear_modes", "flow", "steps=0"], 'linear_modes.flow does not read "steps"'),
        (
            ["run", "linear_modes", "flow", "--preset", "large"],
            'linear_modes has no preset "large".',
        ),
        (["run", "linear_modes", "flow", "--at", "1e9"], "linear_modes.flow runs from 0 to 15"),
        (
            ["run", "linear_modes", "flow", "--at", "soon"],
            "--at=soon is neither numbers a,b,c nor a range",
        ),
        (["run", "nowhere.py", "flow"], "there is no file nowhere.py."),
        (
            ["run", "linear_modes", "flow", "--seed", "4294967296"],
            "a seed is a whole number from 0 to 4294967295",
        ),
        (["list", "linear_mode"], 'there is no study "linear_mode".'),
        (
            ["sweep", "linear_modes", "flow", "epsilon=1:2"],
            "epsilon=1:2 is neither numbers a,b,c nor a range",
        ),
        (["sweep", "linear_modes", "flow", "epsilon=1:2:3:ln"], "epsilon=1:2:3:ln is neither"),
        (["sweep", "linear_modes", "flow", "modes=2,2"], "the axis modes needs values that differ"),
        (["check", "linear_modes", "--claim", "7"], 'linear_modes: no claim "7".'),
        (["check", "linear_modes", "--regime", "publish"], 'there is no regime "publish".'),
        (["draw", "linear_modes", "--figure", "9"], 'no figure "9".'),
        (["draw", "linear_modes", "--format", "gif"], "--format is png, pdf or svg, got gif."),
        (["new", "my-paper"], "a study needs a Python name, as in my_paper"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(words, sentence, phasescope):
    said = phasescope(*words)
    assert (said.code, said.out, said.err.count("\n"), sentence in said.err) == (2, "", 1, True)


def test_divergence_is_one_clear_line_and_exit_code_5(phasescope, mine):
    said = phasescope("run", mine, "squaring", "start=2", "steps=20", "--json")
    assert (said.code, said.out, "at step 10 of stage" in said.err, said.err.count("\n")) == (
        5,
        "",
        True,
        1,
    )


def test_a_negative_seed_is_refused(phasescope):
    assert phasescope("run", "linear_modes", "flow", "--seed", "-1").code == 2


def test_ctrl_c_is_one_line_and_exit_code_130(phasescope, mine, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("phasescope.verbs.run.find_or_run", pressed)
    said = phasescope("run", mine, "squaring")
    assert (said.code, said.err) == (
        130,
        "Stopped. What was done is kept; the same command goes on from there.\n",
    )


# --- sweep ----------------------------------------------------------------------------------------------------------


def test_sweep_gives_dims_and_runs(phasescope, mine):
    said = phasescope(
        "sweep", mine, "squaring", "start=0.1:0.9:5", "steps=2,4", "--seeds", 2, "--json"
    ).json
    wanted = {"start": 5, "steps": 2, "seed": 2, "time": 5}
    assert ({k: said["dims"][k] for k in wanted}, len(said["ids"]), said["runs"]) == (
        wanted,
        said["blocks"],
        20,
    )


def test_sweep_counts_the_lanes_that_diverged(phasescope, mine):
    assert (
        phasescope("sweep", mine, "squaring", "start=0.5,2,4", "steps=20", "--json").json[
            "diverged"
        ]
        == 2
    )


def test_a_dry_run_of_a_sweep_runs_nothing(phasescope, mine, store):
    said = phasescope(
        "sweep", mine, "squaring", "start=1e-3:1:7:log", "steps=2,4", "--dry-run", "--json"
    ).json
    known = {k: said[k] for k in ("axes", "runs", "blocks", "stored", "missing")}
    assert (known, Store(store).entries()) == (
        {"axes": {"steps": 2, "start": 7}, "runs": 14, "blocks": 2, "stored": 0, "missing": 2},
        [],
    )


def test_a_range_is_evenly_spaced_in_the_way_it_says(mine):
    spec = ps.find(str(mine)).spec
    values = axes(spec, ["start=1e-2:1:3:log", "steps=2:8:4"])
    np.testing.assert_allclose(
        [*values["start"], *values["steps"]], [0.01, 0.1, 1.0, 2, 4, 6, 8], rtol=1e-12
    )


def test_sweep_shows_people_its_shape(phasescope, mine):
    assert "dims: " in phasescope("sweep", mine, "squaring", "start=0.5,0.6").out


# --- check, draw, report --------------------------------------------------------------------------------------------

ROW = {"study", "claim", "regime", "outcome", "expected", "measured", "required", "where", "runs"}


def test_check_gives_a_row_for_every_claim(phasescope):
    said = phasescope("check", "linear_modes", "--claim", "waiting_time_is_logarithmic", "--json")
    [row] = said.json["rows"]
    assert (said.code, row.keys() >= ROW, row["outcome"]) == (0, True, "holds")


def test_check_of_a_single_file_works_and_a_surprise_is_exit_code_1(phasescope, mine):
    said = phasescope("check", mine, "--json")
    assert (said.code, said.json["rows"][0]["outcome"], said.json["rows"][0]["expected"]) == (
        1,
        "fails",
        "holds",
    )


def test_check_shows_people_the_ledger(phasescope, mine):
    assert "1 word differs from the established one" in phasescope("check", mine).out


def test_check_of_one_claim_prints_it_in_full(phasescope):
    said = phasescope("check", "linear_modes", "--claim", "waiting_time_is_logarithmic")
    lines = [line.split(None, 1)[0] for line in said.out.splitlines() if line[:1].strip()]
    labels = (
        "claim cites statement formula kind held word expected margin checks bounds compared runs"
    )
    assert [label for label in labels.split() if label not in lines] == []
    assert "phasescope check linear_modes --claim waiting_time_is_logarithmic" in said.out


def test_the_command_that_reproduces_a_claim_is_the_one_that_was_typed(phasescope, mine):
    said = phasescope("check", mine, "--claim", "weight_rises")
    assert f"reproduce     phasescope check {mine} --claim 1" in said.out.splitlines()


def test_why_adds_the_reason_to_every_row(phasescope, unusual):
    plain = phasescope("check", unusual).out
    told = " ".join(phasescope("check", unusual, "--why").out.split())
    assert "squares" not in plain
    assert "squares" in told


def test_a_check_that_could_not_be_carried_out_is_exit_code_3(phasescope, unusual):
    said = phasescope("check", unusual)
    assert said.code == 3
    assert "1 check could not be carried out" in said.out
    assert "ZeroDivisionError" not in said.out.split("rows;")[1]


def test_what_broke_a_check_stands_on_one_line_under_the_table_with_its_place(
    phasescope, unusual, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    said = phasescope("check", unusual).out
    table, _, below = said.partition("mine: ")
    assert "see under" in table and "ZeroDivisionError" not in table
    line = " ".join(below.split("  ! ")[1].split())
    assert line.startswith("breaks (published) could not be checked: ZeroDivisionError: division ")
    assert "unusual.py:" in line.replace(" ", "") and "`return 1 / 0`" in line


def test_traceback_says_where_a_check_went_wrong(phasescope, unusual):
    said = phasescope("check", unusual, "--traceback").out
    assert "in breaks" in said
    assert "ZeroDivisionError: division by zero" in said.split("Traceback")[1]


def test_report_ends_with_the_codes_of_check(phasescope, unusual, tmp_path):
    assert phasescope("report", unusual, "--out", tmp_path / "report").code == 3


def test_nothing_to_check_is_one_line_and_exit_code_2(phasescope, tmp_path):
    bare = tmp_path / "bare.py"
    bare.write_text(MINE.replace("(weight_rises,)", "()"))
    said = phasescope("check", bare)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "there is nothing to check: mine has no claim" in said.err


def test_a_regime_without_a_row_is_nothing_to_check(phasescope, mine):
    said = phasescope("check", mine, "--regime", "beyond")
    assert (said.code, said.err.count("\n")) == (2, 1)


def test_the_help_of_check_says_its_exit_codes(phasescope):
    told = " ".join(phasescope("check", "--help").out.split())
    assert "Exit code 0: every word is the established one." in told
    assert "3: a check could not be carried out" in told


def test_list_shows_kind_whose_expected_words_and_aliases(phasescope, unusual):
    told = " ".join(phasescope("list", unusual, "--claims").out.split())
    assert "monotone, ours" in told
    assert "false" in told
    assert "L2" in told
    assert "untyped" in told


def test_a_dry_run_of_check_is_the_cost(phasescope, mine, store):
    said = phasescope("check", mine, "--dry-run", "--json")
    assert (said.json["rows"], Store(store).entries()) == (
        [
            {
                "study": "mine",
                "needed": 1,
                "missing": 1,
                "seconds": None,
                "megabytes": None,
                "recorded": {},
            }
        ],
        [],
    )


def test_a_claim_of_one_study_is_found_among_several(phasescope, mine):
    said = phasescope("check", "linear_modes", mine, "--claim", "1", "--json")
    assert [row["study"] for row in said.json["rows"]] == ["mine"]


def test_draw_writes_the_files_it_names(phasescope, mine, tmp_path):
    files = phasescope(
        "draw", mine, "--format", "png,svg", "--out", tmp_path / "art", "--json"
    ).json["files"]
    assert sorted(files) == sorted(map(str, (tmp_path / "art").iterdir()))


ERRATA = "# mine\n\n## Errata of the paper\n\n| | |\n|---|---|\n| E1 | $x_1$ for `x` |\n"


@pytest.mark.parametrize(
    ("format", "shown"),
    [("markdown", "## E1\n\n$x_1$ for `x`"), ("latex", "\\subsection*{E1}\n$x_1$ for \\texttt{x}")],
)
def test_errata_are_printed_in_either_form(format, shown, phasescope, mine):
    mine.with_name("README.md").write_text(ERRATA)
    said = phasescope("errata", mine, "--format", format)
    assert (said.code, shown in said.out) == (0, True)


def test_errata_in_another_form_are_refused(phasescope, mine):
    said = phasescope("errata", mine, "--format", "word")
    assert (said.code, "--format is markdown or latex, got word." in said.err) == (2, True)


def test_a_report_has_the_errata_sheets(phasescope, mine, tmp_path):
    mine.with_name("README.md").write_text(ERRATA)
    phasescope("report", mine, "--out", tmp_path / "report")
    written = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"errata-mine.md", "errata-mine.tex"} <= written


def test_report_writes_one_page_and_its_ledger(phasescope, mine, tmp_path):
    said = phasescope("report", mine, "--out", tmp_path / "report")
    written = {path.name for path in (tmp_path / "report").iterdir()}
    assert (said.code, {"index.html", "ledger.json", "ledger.md", "figures"} <= written) == (
        1,
        True,
    )


# --- runs, repair, new ----------------------------------------------------------------------------------------------


def test_runs_of_an_empty_store_are_none(phasescope):
    assert phasescope("runs", "--json").json == {"runs": []}


def test_runs_lists_what_was_run(phasescope, mine):
    made = phasescope("run", mine, "squaring", "--json").json
    [row] = phasescope("runs", "--json").json["runs"]
    assert (row["id"], row["status"], row["folder"]) == (made["id"], "finished", made["folder"])


def test_runs_with_words_lists_those_that_have_all_of_them(phasescope, mine):
    for steps in (3, 4):
        phasescope("run", mine, "squaring", f"steps={steps}")
    [row] = phasescope("runs", "squaring", "STEPS=4", "--json").json["runs"]
    assert row["spec"]["steps"] == 4
    assert len(phasescope("runs", "squaring", "--last", "1", "--json").json["runs"]) == 1
    assert "No run has all of these words: nowhere" in phasescope("runs", "nowhere").out


def test_runs_shows_people_a_table(phasescope, mine):
    phasescope("run", mine, "squaring")
    assert "finished" in phasescope("runs").out


def test_repair_of_a_sound_store_finds_nothing(phasescope, mine):
    phasescope("run", mine, "squaring")
    said = phasescope("repair", "--json")
    assert (said.code, said.json["intact"], said.json["damaged"]) == (0, 1, [])


def test_repair_names_what_is_damaged_and_exits_with_1(phasescope, mine, store):
    made = phasescope("run", mine, "squaring", "--json").json
    [records] = store.glob("mine/squaring/*/records.zarr.zip")
    records.write_bytes(b"gone")
    said = phasescope("repair", "--json")
    assert (said.code, said.json["intact"], [p["id"] for p in said.json["damaged"]]) == (
        1,
        0,
        [made["id"]],
    )


def test_repair_tells_people_what_is_damaged(phasescope, mine, store):
    phasescope("run", mine, "squaring")
    next(store.glob("mine/squaring/*/run.json")).write_text("{}")
    assert "damaged: " in phasescope("repair").out


def test_new_writes_a_package_and_says_what_is_next(phasescope, tmp_path):
    said = phasescope("new", "my_paper", "--out", tmp_path)
    assert ((tmp_path / "my_paper" / "pyproject.toml").exists(), "pip install -e" in said.out) == (
        True,
        True,
    )


def test_a_warning_is_one_line_on_standard_error(phasescope, monkeypatch):
    warned = lambda study: warnings.warn("broken plugin", stacklevel=1) or {}
    monkeypatch.setattr("phasescope.cli.catalogue.catalogues", warned)
    said = phasescope("list", "--json")
    assert (said.json, said.err) == ({"studies": {}}, "warning: broken plugin\n")


def test_fields_that_are_tied_are_one_axis_of_a_sweep(phasescope):
    words = ("sweep", "linear_modes", "logistic", "modes=2,3", "epsilon=1e-2,1e-3")
    cost = phasescope(*words, "--tied", "modes,epsilon", "--dry-run", "--json").json
    assert (cost["axes"], cost["runs"], cost["programs"]) == ({"modes": 2}, 2, 2)
    said = phasescope(*words, "--tied", "modes,epsilon", "--dry-run").out
    assert said.startswith("modes with epsilon (2): 2 runs in 2 blocks of 1 lane")


def test_a_caption_without_its_numbers_says_what_stands_for_them(phasescope):
    said = phasescope("list", "regular_language", "--figures").out
    assert "falls from ... to" in " ".join(said.split())
    assert said.rstrip().endswith("a number of the data, which `phasescope draw` fills in.")


def test_only_some_observables_are_kept_where_the_command_says_so(phasescope):
    said = phasescope("run", "linear_modes", "logistic", "--keep", "loss", "--json")
    assert list(said.json["final"]) == ["loss"]
    said = phasescope(
        "sweep", "linear_modes", "logistic", "epsilon=0.1,0.2", "--keep", "loss", "--json"
    )
    assert set(said.json["dims"]) == {"epsilon", "time"}
    said = phasescope("run", "linear_modes", "logistic", "--keep", "los")
    assert said.code == 2
    assert 'has no observable "los"' in said.err
    assert 'Did you mean "loss"?' in said.err


def test_the_package_is_run_as_the_command(tmp_path):
    words = [sys.executable, "-m", "phasescope", "--version"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert said.stdout.split()[-1] == ps.__version__
