"""What is no number, no time, no seed and no width is refused in one sentence, before anything runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from phasescope.cli.arguments import axes, axis, parse
from phasescope.errors import SpecError
from phasescope.studies.regular_language import study

# In a process of its own: in this one annotations are enforced, and a wrong type would not come so far.
ASKING = """
import json, sys
import numpy as np
import phasescope as ps

nan = float("nan")
run = lambda **more: ps.run("regular_language", "symmetric", preset="tiny", store=False, **more)
sweep = lambda **more: ps.sweep("regular_language", "symmetric", preset="tiny", store=False, **more)
logged = lambda **more: ps.logged({"step": [0, 1], "loss": [1.0, 0.5]}, **more)
@ps.claim("my notebook", ps.on("training", ps.tables(logged)), kind="monotone")
def judged(run):
    return True

questions = {
    "seed=1.5": lambda: run(seed=1.5),
    "seed=1.0": lambda: run(seed=1.0),
    "seed=a": lambda: run(seed="a"),
    "seed=None": lambda: run(seed=None),
    "seed=True": lambda: run(seed=True),
    "seed=int64": lambda: run(seed=np.int64(3)),
    "seeds=[1, 1.5]": lambda: sweep(seeds=[1, 1.5]),
    "seeds=2.0": lambda: sweep(seeds=2.0),
    "seeds=True": lambda: sweep(seeds=True),
    "seeds=None": lambda: sweep(seeds=None),
    "seeds=12": lambda: sweep(seeds="12"),
    "seeds=int64": lambda: sweep(seeds=np.int64(1)),
    "at=[nan, 3]": lambda: run(at=[nan, 3]),
    "at=[3, nan]": lambda: run(at=[3, nan]),
    "sweep at=[3, nan]": lambda: sweep(at=[3, nan]),
    "at=5.0": lambda: run(at=5.0),
    "at=1,2": lambda: run(at="1,2"),
    "sweep at=5.0": lambda: sweep(at=5.0),
    "lam=[2, nan, 3]": lambda: sweep(lam=[2, nan, 3]),
    "lam=[2, 3, nan]": lambda: sweep(lam=[2, 3, nan]),
    "lam=[2, None]": lambda: sweep(lam=[2, None]),
    "lam=[2, a]": lambda: sweep(lam=[2, "a"]),
    "horizon=[2, None]": lambda: ps.sweep("regular_language", "log_flow", preset="tiny", horizon=[2, None], store=False),
    "lam=10**400": lambda: run(lam=10**400),
    "lam=[2, 10**400]": lambda: sweep(lam=[2, 10**400]),
    "block=-1": lambda: sweep(lam=[2, 3], block=-1),
    "block=0": lambda: sweep(lam=[2, 3], block=0),
    "block=2.5": lambda: sweep(lam=[2, 3], block=2.5),
    "steps=2**70": lambda: run(steps=2**70),
    "steps=10**5000": lambda: run(steps=10**5000),
    "store=123": lambda: ps.run("regular_language", "symmetric", store=123),
    "store=''": lambda: ps.run("regular_language", "symmetric", store=""),
    "sweep store=123": lambda: ps.sweep("regular_language", "symmetric", lam=[2, 3], store=123),
    "study=None": lambda: ps.run(None, "symmetric"),
    "arm=None": lambda: ps.run("regular_language", None),
    "preset=3": lambda: ps.run("regular_language", "symmetric", preset=3),
    "claim=3": lambda: ps.check("regular_language", claim=3),
    "regime=3": lambda: ps.check("regular_language", claim="eq.2", regime=3),
    "figure=3": lambda: ps.draw("regular_language", figure=3),
    "out=3": lambda: ps.draw("regular_language", figure="figure_2", out=3),
    "format=gif": lambda: ps.draw("regular_language", figure="figure_2", format="gif", store=sys.argv[1]),
    "format=3": lambda: ps.draw("regular_language", figure="figure_2", format=3, store=sys.argv[1]),
    "keep=3": lambda: run(keep=3),
    "keep=loss": lambda: run(keep="loss"),
    "keep=[3]": lambda: run(keep=[3]),
    "reduce=3": lambda: run(reduce=3),
    "sweep reduce=loss": lambda: sweep(lam=[2, 3], reduce="loss"),
    "runs()": lambda: ps.runs(),
    "runs('regular_language')": lambda: ps.runs("regular_language"),
    "sweeps('regular_language')": lambda: ps.sweeps("regular_language", lam=[2, 3]),
    "executor=3": lambda: sweep(lam=[2, 3], executor=3),
    "max_length=10**8": lambda: run(max_length=10**8),
    "a file of text": lambda: ps.run("/etc/passwd", "arm"),
    "open(3)": lambda: ps.open(3),
    "open('')": lambda: ps.open(""),
    "rename=[loss]": lambda: logged(rename=["loss"]),
    "dims=mode": lambda: logged(dims="mode"),
    "along=seed": lambda: logged(along="seed"),
    "numbers=[3]": lambda: logged(numbers=[3]),
    "numbers={width: [1, 1]}": lambda: logged(numbers={"width": np.ones(2)}),
    "unit=0.1": lambda: logged(unit="0.1"),
    "evidence=log.csv": lambda: ps.check("regular_language", claim="eq.2", evidence="log.csv"),
    "evidence=[log.csv]": lambda: ps.draw("regular_language", figure="figure_2", evidence=["log.csv"], out=sys.argv[1]),
    "claims=(one)": lambda: ps.Study("mine", ps.Spec(), arms=(), claims=judged),
    "claims=(function,)": lambda: ps.Study("mine", ps.Spec(), arms=(), claims=(judged.check,)),
    "figures=name": lambda: ps.Study("mine", ps.Spec(), arms=(), figures="curves"),
    "a task": lambda: __import__("phasescope.verbs.sweep_layout", fromlist=["Task"]).Task(
        "regular_language", "symmetric", "tiny", (), 0, (("lam", (2.0, nan, 3.0)),), None, 3
    ).job(ps.find("regular_language"), ps.find("regular_language").arm("symmetric")),
}
answers = {}
for name, ask in questions.items():
    try:
        answers[name] = f"gave {type(ask()).__name__}"
    except Exception as error:
        answers[name] = f"{type(error).__name__}: {error}"
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def store_of_drawings(tmp_path_factory):
    return tmp_path_factory.mktemp("questions") / "store"


@pytest.fixture(scope="module")
def answers(store_of_drawings):
    """What plain Python says to each question."""
    done = subprocess.run(
        [sys.executable, "-c", ASKING, str(store_of_drawings)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


SEED = "SpecError: regular_language: a seed is a whole number from 0 to 4294967295, got seed="
SEEDS = "SpecError: regular_language: seeds are one or more different numbers from 0 to 4294967295, all of them whole, got "
TIMES = "SpecError: regular_language: `at` is a list of times, such as at=[1, 10], got at="
BLOCK = "SpecError: regular_language: a block has one or more lanes, got block="
REDUCE = "SpecError: regular_language: reduce is a mapping of names to reductions, such as reduce="
EVIDENCE = " asks for evidence of a claim, and takes the function of an arm, got "
STORED = ". What the store holds is ps.stored(); a run is made by ps.run, a sweep by ps.sweep."
KEEP = 'SpecError: regular_language.symmetric: keep is a list of names, such as keep=["loss"], got keep='


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("seed=1.5", SEED + "1.5."),
        ("reduce=3", REDUCE + '{"last": ps.final("loss")}, got reduce=3.'),
        ("sweep reduce=loss", REDUCE + '{"last": ps.final("loss")}, got reduce=\'loss\'.'),
        ("runs()", "SpecError: ps.runs(arm)" + EVIDENCE + "no arm" + STORED),
        (
            "runs('regular_language')",
            f"SpecError: ps.runs(arm){EVIDENCE}'regular_language'{STORED}",
        ),
        (
            "sweeps('regular_language')",
            f"SpecError: ps.sweeps(arm){EVIDENCE}'regular_language'{STORED}",
        ),
        ("seed=1.0", SEED + "1.0."),
        ("seed=a", SEED + "'a'."),
        ("seed=None", SEED + "None."),
        ("seed=True", SEED + "True."),
        ("seed=int64", "gave Dataset"),
        ("seeds=[1, 1.5]", SEEDS + "seeds=[1, 1.5]."),
        ("seeds=2.0", SEEDS + "seeds=2.0."),
        ("seeds=True", SEEDS + "seeds=True."),
        ("seeds=None", SEEDS + "seeds=None."),
        ("seeds=12", SEEDS + "seeds='12'."),
        ("seeds=int64", "gave Dataset"),
        ("at=[nan, 3]", "SpecError: regular_language: nan is not a time, got at=[nan, 3.0]."),
        ("at=[3, nan]", "SpecError: regular_language: nan is not a time, got at=[3.0, nan]."),
        ("sweep at=[3, nan]", "SpecError: regular_language: nan is not a time, got at=[3.0, nan]."),
        ("at=5.0", TIMES + "5.0."),
        ("at=1,2", TIMES + "'1,2'."),
        ("sweep at=5.0", TIMES + "5.0."),
        ("lam=[2, nan, 3]", "SpecError: regular_language: lam must be a finite number"),
        ("lam=[2, 3, nan]", "SpecError: regular_language: lam must be a finite number"),
        ("a task", "SpecError: regular_language: lam must be a finite number"),
        ("lam=[2, None]", "SpecError: regular_language: lam must be a number, got lam=None."),
        ("lam=[2, a]", "SpecError: regular_language: lam must be a number, got lam='a'."),
        (
            "horizon=[2, None]",
            "SpecError: regular_language: an axis of horizon is made of numbers, got (2, None)",
        ),
        (
            "lam=10**400",
            "SpecError: regular_language: lam is too large for a number of 64 bits: it has 401 digits.",
        ),
        (
            "lam=[2, 10**400]",
            "SpecError: regular_language: lam is too large for a number of 64 bits",
        ),
        ("block=-1", BLOCK + "-1."),
        ("block=0", BLOCK + "0."),
        ("block=2.5", BLOCK + "2.5."),
        (
            "steps=2**70",
            "SpecError: regular_language: steps is too large for a number of 64 bits: it has 22 digits.",
        ),
        (
            "steps=10**5000",
            "SpecError: regular_language: steps is too large for a number of 64 bits: it has 5001 digits.",
        ),
        ("store=123", "SpecError: store is the path of a folder, got store=123."),
        ("store=''", "SpecError: store is the path of a folder, got store=''."),
        ("sweep store=123", "SpecError: store is the path of a folder, got store=123."),
        ("study=None", "SpecError: a study is the name of an installed one"),
        ("arm=None", "SpecError: regular_language: the name of its arm is a word, got arm=None."),
        (
            "preset=3",
            "SpecError: regular_language: the name of its preset is a word, got preset=3.",
        ),
        ("claim=3", "SpecError: the id of a claim is a word, got claim=3."),
        ("regime=3", "SpecError: a regime is one of published, theory, beyond, got regime=3."),
        ("figure=3", "SpecError: the id of a figure is a word, got figure=3."),
        ("out=3", "SpecError: out is the path of a folder, got out=3."),
        ("format=gif", 'SpecError: figures cannot be drawn as "gif". Known: pdf, png, svg.'),
        ("format=3", "SpecError: the format of a figure is a word, such as png, got format=3."),
        ("keep=3", KEEP + "3."),
        ("keep=loss", KEEP + "'loss'."),
        ("keep=[3]", KEEP + "[3]."),
        (
            "executor=3",
            "SpecError: regular_language.symmetric: executor is one of concurrent.futures, such as ps.workers(2), got",
        ),
        ("max_length=10**8", "SpecError: regular_language: max_length must be at most 100000"),
        (
            "a file of text",
            "StudyNotFound: /etc/passwd is no Python file: the name of a study's file ends in .py.",
        ),
        ("rename=[loss]", "SpecError: rename has values by name, got rename=['loss']."),
        ("dims=mode", "SpecError: dims has values by name, got dims='mode'."),
        ("along=seed", "SpecError: along has values by name, got along='seed'."),
        ("numbers=[3]", "SpecError: numbers has values by name, got numbers=[3]."),
        (
            "numbers={width: [1, 1]}",
            "SpecError: numbers has values of fields of a Spec, as a run is asked for with; width has ndarray.",
        ),
        (
            "unit=0.1",
            "SpecError: unit is how much time one step is, a number above 0, got unit='0.1'.",
        ),
        (
            "evidence=log.csv",
            "SpecError: evidence is a dataset or a request, got 'log.csv': ps.logged makes a dataset of a log",
        ),
        ("evidence=[log.csv]", "SpecError: evidence is a dataset or a request, got 'log.csv'"),
        (
            "claims=(one)",
            "SpecError: mine: its claims are several, such as claims=(one,), got Claim.",
        ),
        (
            "claims=(function,)",
            "SpecError: mine: judged is no claim: @ps.claim(...) before a function makes one of it.",
        ),
        (
            "figures=name",
            "SpecError: mine: its figures are several, such as figures=(one,), got str.",
        ),
        ("open(3)", "SpecError: a run is an id, or the path of a folder or file, got 3."),
        ("open('')", "SpecError: a run is an id, or the path of a folder or file, got ''."),
    ],
)
def test_a_wrong_question_is_answered_in_one_sentence(question, answer, answers):
    assert answers[question].startswith(answer)


def test_nothing_is_run_for_a_figure_in_a_format_that_is_none(answers, store_of_drawings):
    assert not store_of_drawings.exists()


# --- on a command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["nan", "nan,3", "3,nan", "1:nan:3", "nan:3:3:log"])
def test_nan_is_no_record_time(text):
    with pytest.raises(SpecError, match="is neither numbers a,b,c nor a range"):
        axis(text, "--at")


@pytest.mark.parametrize("words", [["lam=2", "lam=3"], ["lam=2", "eta=1", "lam=2"]])
def test_a_field_of_a_run_is_given_once(words):
    with pytest.raises(SpecError, match="lam is given twice"):
        parse(study.spec, words)


@pytest.mark.parametrize(
    "words", [["lam=2:3:2:log", "lam=5,6"], ["lam=2", "lam=3"], ["lam=2,3", "lam=4"]]
)
def test_a_field_of_a_sweep_is_given_once(words):
    with pytest.raises(SpecError, match="lam is given twice"):
        axes(study.spec, words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "regular_language", "symmetric", "--at", "nan"], "--at=nan is neither numbers"),
        (
            ["sweep", "regular_language", "symmetric", "--at", "nan", "--dry-run"],
            "--at=nan is neither numbers",
        ),
        (
            ["sweep", "regular_language", "symmetric", "lam=2,nan,3", "--dry-run"],
            "lam must be a finite number",
        ),
        (
            ["sweep", "regular_language", "symmetric", "lam=2,nan,nan", "--dry-run"],
            "lam must be a finite number",
        ),
        (["run", "regular_language", "symmetric", "lam=2", "lam=3"], "lam is given twice"),
        (["draw", "regular_language", "--figure", "a", "--figure=b"], "--figure is given twice"),
        (
            ["sweep", "regular_language", "symmetric", "lam=2:3:2:log", "lam=5,6", "--dry-run"],
            "lam is given twice",
        ),
    ],
)
def test_the_command_line_refuses_it_in_one_line(words, sentence, store, monkeypatch, capsys):
    from phasescope.cli import app as cli

    monkeypatch.setattr(sys, "argv", ["phasescope", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    lines = capsys.readouterr().err.strip().splitlines()
    said = [line for line in lines if not line.startswith("still loading")]  # on a busy machine
    assert (end.value.code, len(said), sentence in said[0]) == (2, 1, True)
