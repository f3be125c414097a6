"""The workflows for a public host: what they call is there, and they try what the package says that it supports."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="the workflows are YAML")

ROOT = Path(__file__).parents[1]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def tried(job: dict[str, Any]) -> set[tuple[str, str]]:
    """The systems and Pythons of a job, or nothing if it is not made for several."""
    matrix = job.get("strategy", {}).get("matrix", {})
    return set(itertools.product(matrix.get("os", ()), matrix.get("python", ())))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_target_and_every_file_of_a_workflow_is_there(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    asked = " ".join(step.get("run", "") for step in steps(WORKFLOWS[name]))
    made = [word for line in re.findall(r"\bmake ([a-z ]+)", asked) for word in line.split()]
    assert [target for target in made if target not in targets] == []
    files = re.findall(r"(?:-r |cache-dependency-path: )([\w./-]+)", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
    patterns = [
        part for call in re.findall(r"hashFiles\((.*?)\)", text) for part in call.split(",")
    ]
    assert [one for one in patterns if not any(ROOT.glob(one.strip(" '")))] == []


@pytest.mark.parametrize(
    ("workflow", "job"), [("test", "test"), ("test", "locked"), ("release", "try")]
)
def test_linux_and_macos_are_tried_with_every_python_that_is_supported(workflow, job):
    systems = ("ubuntu-latest", "macos-latest")
    assert tried(WORKFLOWS[workflow]["jobs"][job]) == set(itertools.product(systems, PYTHONS))


def test_a_workflow_reads_and_has_a_time_limit():
    """None may write to the repository, and none runs for ever."""
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_every_night_all_tests_are_run():
    """Also those that take longer than a change may wait for."""
    nightly = WORKFLOWS["nightly"]
    assert "schedule" in nightly[True]  # the word `on` is true in YAML
    assert "make full PYTHON=python" in [step.get("run") for step in steps(nightly)]


def test_the_site_of_the_host_has_the_report():
    """It is made before the site, unless the report of this code is there."""
    runs = [step.get("run", "") for step in steps(WORKFLOWS["docs"])]
    (report,) = [n for n, line in enumerate(runs) if "make reproduce" in line]
    (site,) = [n for n, line in enumerate(runs) if "make docs" in line]
    assert report < site


FORMS = [
    path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_a_name_and_questions_with_names_of_their_own(path):
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    options = [o for field in form["body"] for o in field["attributes"].get("options", ())]
    assert all(isinstance(o, str) or isinstance(o["label"], str) for o in options)


def ran_by(job: str) -> dict[str, str]:
    """What the steps of a job of the tests run, by name; those without a name are joined."""
    found: dict[str, str] = {}
    for step in WORKFLOWS["test"]["jobs"][job]["steps"]:
        name = step.get("name", "")
        found[name] = f"{found.get(name, '')} {step.get('run', '')}"
    return found


NEEDS = re.compile(r'importorskip\(\s*"(?:torch|transformers|transformer_lens)"')


def test_whatever_is_skipped_without_torch_is_run_with_it():
    """Tests of the core that ask for torch or TransformerLens, and the one page whose code imports torch."""
    runs = ran_by("torch")
    assert "'.[dev,torch]'" in runs[""] and "transformer-lens==2.18" in runs[""]
    asking = [
        path for path in (ROOT / "tests/core").glob("test_*.py") if NEEDS.search(path.read_text())
    ]
    files = {str(path.relative_to(ROOT)) for path in asking}
    # Benchmarks have an extra of their own; of two others the part on text has the few lines that need torch.
    files -= {"tests/core/test_benchmarks.py"}
    on_text = files & {"tests/core/test_probes.py", "tests/core/test_logs.py"}
    assert on_text <= set(runs["all text parts, within three minutes"].split())
    assert files - on_text <= set(runs["all that needs torch"].split())
    pages = [p for p in (ROOT / "docs").glob("*.md") if "\nimport torch\n" in p.read_text()]
    assert {page.stem for page in pages} == {
        "own_logs",
        "checkpoints",
    }  # of the second it is not run
    assert "-k own_logs" in runs["the loop in torch of docs/own_logs.md"]


def test_the_parts_on_text_are_run_within_three_minutes():
    words = ran_by("torch")["all text parts, within three minutes"].split()
    assert words[:2] == ["timeout", "180"]
    wanted = {"tests/studies/test_text.py"}
    wanted |= {
        f"tests/core/test_{name}.py"
        for name in ("networks", "corpora", "probes", "read_out", "checkpoints", "logs", "replay")
    }
    assert wanted <= set(words)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_test_that_a_workflow_names_is_there(name):
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    named = re.findall(r"\btests/[\w/]+\.py", text)
    assert [path for path in named if not (ROOT / path).is_file()] == []
