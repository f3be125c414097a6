"""What README and the pages of docs/ say is so: their code is run, the numbers beside it are compared."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
import types
from pathlib import Path

import matplotlib as mpl
import pytest
import typer.main

from docs_blocks import agrees, blocks, carry_out, commands, prints
from phasescope.cli import app as cli
from phasescope.discovery import installed, is_built_in

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
STUDY_PAGES = sorted((ROOT / "src" / "phasescope" / "studies").glob("*/README.md"))
# Pages whose commands and names are looked at, and which have no code that is run here.
OTHER_PAGES = [
    ROOT / "RELEASING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("*/*.md")),
]
WITH_CODE = [
    page
    for page in PAGES
    if any(block.language == "python" or block.printed_by for block in blocks(page.read_text()))
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One store for all pages: a run that two of them show is made once."""
    folder = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PHASESCOPE_STORE", str(folder / "store"))
        patch.chdir(folder)
        with mpl.rc_context({"backend": "agg"}):
            yield folder


def run_page(page: Path, full: bool) -> list[str]:
    """Carry out the blocks of a page one after the other; returns what its comments say that is not so."""
    module = types.ModuleType(f"page_{page.stem}")
    wrong = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)  # annotations are looked up there
        for block in blocks(page.read_text()):
            if block.printed_by:
                wrong += prints(block, page)
            if block.language != "python":
                continue
            if block.file:
                with open(block.file, "a") as file:
                    file.write(f"{block.text}\n\n")
                continue
            compile(block.text, str(page), "exec")
            if "import torch" in block.text:
                pytest.importorskip("torch")
            if not block.not_run and (full or not block.left_to_full):
                wrong += carry_out(block, page, vars(module))
    return wrong


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_and_gives_what_is_said(page, shared):
    assert run_page(page, full=False) == []


NOTEBOOKS = [
    page for page in sorted((ROOT / "docs" / "notebooks").glob("*.md")) if page.stem != "index"
]
# Those that train for seconds; the other ones ask for runs that verdicts of the studies rest on.
SHORT = ("linear_modes.md", "own_logs.md", "a_map.md")


@pytest.mark.parametrize("page", [p for p in NOTEBOOKS if p.name in SHORT], ids=lambda p: p.name)
def test_the_code_of_a_short_notebook_runs_and_gives_what_is_said(page, shared):
    assert run_page(page, full=False) == []


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda p: p.name)
def test_the_first_cell_of_a_notebook_installs_what_its_cells_ask_for(page):
    first, *others = [block.text for block in blocks(page.read_text()) if block.language]
    asked = set(re.findall(r'"(\w+)"', " ".join(others))) & installed().keys()
    outside = {name for name in asked if not is_built_in(installed()[name])}
    wanted = ["."] + [f"./examples/{name}" for name in sorted(outside)]
    assert re.findall(r"pip install (.*)", first) == [" ".join(wanted)]
    assert [path for path in wanted if not (ROOT / path / "pyproject.toml").exists()] == []


@pytest.mark.full  # minutes of training; the claims that they name are judged by the tests of the studies
@pytest.mark.parametrize(
    "page", [p for p in NOTEBOOKS if p.name not in SHORT], ids=lambda p: p.name
)
def test_the_code_of_a_notebook_runs_and_gives_what_is_said(page, shared):
    assert run_page(page, full=False) == []


LONG = [p for p in WITH_CODE if any(b.left_to_full for b in blocks(p.read_text()))]


@pytest.mark.full  # every block beside these is run above
@pytest.mark.parametrize("page", LONG, ids=lambda page: page.name)
def test_the_code_that_takes_longer_runs_too(page, shared):
    assert run_page(page, full=True) == []


EVERY_PAGE = [*PAGES, *STUDY_PAGES, *OTHER_PAGES]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_command_of_a_page_exists_with_its_flags(page):
    group = typer.main.get_command(cli.app)
    context = group.make_context("phasescope", ["list"])
    for words in commands(page.read_text()):
        if words[:1] == ["--help"] or words[:1] == ["--version"]:
            continue
        name, command, rest = group.resolve_command(context, words)
        if rest:
            command.make_context(name, list(rest))


def test_every_script_module_extra_and_name_that_a_page_speaks_of_is_there():
    texts = [page.read_text() for page in EVERY_PAGE]
    found = {
        what: {one for text in texts for one in re.findall(pattern, text)}
        for what, pattern in {
            "scripts": r"python ((?:docs|tests|benchmarks)/\w+\.py)",
            "modules": r"python -m (phasescope[\w.]+)",
            "names": r"\bps\.(\w+)",
        }.items()
    }
    extras = {one for text in texts for one in re.findall(r"install [^\n`]*\[([\w,]+)\]", text)}
    public = re.findall(
        r" as (\w+)$", (ROOT / "src/phasescope/__init__.pyi").read_text(), re.MULTILINE
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all(found.values())
    assert extras
    assert [one for one in found["scripts"] if not (ROOT / one).exists()] == []
    assert [one for one in found["modules"] if importlib.util.find_spec(one) is None] == []
    assert found["names"] - set(public) == set()
    assert {e for one in extras for e in one.split(",")} - set(
        project["optional-dependencies"]
    ) == set()


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_flag_of_a_script_or_module_stands_in_its_source(page):
    pattern = r"python (?:-m )?((?:docs|tests|benchmarks)/\w+\.py|phasescope[\w.]+)([^\n`#]*)"
    missing = []
    for name, words in re.findall(pattern, page.read_text()):
        if name.endswith(".py"):
            files = [ROOT / name, *(ROOT / "benchmarks").glob("harness*.py")]
        else:
            files = [
                ROOT / "src" / f"{name.replace('.', '/')}.py",
                ROOT / "src/phasescope/cli/recording.py",
            ]
        source = "".join(file.read_text() for file in files)
        flags = re.findall(r"(?<=\s)--(\w[\w-]*)", words)
        missing += [
            f"{name} --{flag}"
            for flag in flags
            if f"--{flag}" not in source and not re.search(rf"\b{flag}:", source)
        ]
    assert missing == []


def test_every_target_of_make_that_a_page_names_is_there():
    makefile = (ROOT / "Makefile").read_text()
    texts = [page.read_text() for page in PAGES]
    named = {
        word for text in texts for word in re.findall(r"(?:`|^)make (\w+)", text, re.MULTILINE)
    }
    assert named
    assert [
        word for word in sorted(named) if not re.search(rf"^{word}:", makefile, re.MULTILINE)
    ] == []


# Commands of the pages that answer at once, or from runs that the code of the pages has made.
CHEAP = ("list", "run regular_language symmetric", "sweep")


def exit_code() -> int:
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_cheap_commands_of_the_quick_start_are_carried_out(shared, monkeypatch, capsys):
    asked = [" ".join(words) for words in commands((ROOT / "docs" / "quickstart.md").read_text())]
    cheap = [words for words in asked if words.startswith(CHEAP)]
    assert len(cheap) >= 4
    for words in cheap:
        monkeypatch.setattr(sys, "argv", ["phasescope", *words.split()])
        assert exit_code() == 0, words
        assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("comment", "value", "so"),
    [
        ("3.409, 3.20", [3.40924, 3.20304], True),
        ("3.40916, 3.20304", [3.40924, 3.20304], False),
        ("[232, 962]: to the record", [232.0, 962.0], True),
        ("232", [232.0, 962.0], False),
        ("0.0034: what a step costs", 0.003398, True),
        ('("lam", "time")', ("lam", "time"), True),
        ('("lam",)', ("lam", "time"), False),
        ("a verdict on a theorem", None, True),
        ("the step costs 0.02", 0.0034, False),
    ],
)
def test_a_comment_is_held_against_the_value(comment, value, so):
    assert agrees(comment, value) is so
