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
