"""What people install: extras, one source for the version, a lock, and a wheel that needs no repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import phasescope as ps
from docs_blocks import blocks

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements" / "lock.txt").read_text()


def test_the_version_has_one_source():
    assert PROJECT["dynamic"] == ["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited and cited[1] == ps.__version__
    assert f"\n## {ps.__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_the_extras_are_those_that_the_page_on_installing_names():
    page = (ROOT / "docs" / "install.md").read_text().partition("## Licences")[0]
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {extra for cell in table for extra in re.findall(r"`(\w+)`", cell)}
    assert named == set(PROJECT["optional-dependencies"]) - {"bench"}


def test_the_lock_has_every_library_of_the_core_with_hashes_and_no_address():
    locked = {name.lower() for name in re.findall(r"^([\w.-]+)==\S+", LOCK, re.MULTILINE)}
    core = {re.split(r"[>=<\[]", line)[0].lower() for line in PROJECT["dependencies"]}
    assert core - locked == set()
    assert LOCK.count("--hash=sha256:") >= len(locked)
    assert re.findall(r"\w+://|--index|^-e |/home|@ ", LOCK, re.MULTILINE) == []


# Words of licences under which a library may be used, changed and passed on, with its notice kept.
PERMISSIVE = ("MIT", "BSD", "Apache", "ISC", "PSF", "Python Software Foundation")
NOT_PERMISSIVE = ("MPL", "Mozilla", "GPL", "GNU", "roprietary")


def needed(extra: str) -> dict[str, metadata.Distribution]:
    """The libraries that are installed here of those that an extra brings, by name; "" has the core's."""
    wanted = [(PROJECT["name"], extra)]
    found: dict[str, metadata.Distribution] = {}
    seen = set()
    while wanted:
        name, of = wanted.pop()
        if (name, of) in seen:
            continue
        seen.add((name, of))
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for line in found[name].requires or ():
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate({"extra": of}):
                wanted += [(canonicalize_name(asked.name), one) for one in ("", *asked.extras)]
    return found


def licence(library: metadata.Distribution) -> str:
    said = library.metadata
    classifiers = [c for c in said.get_all("Classifier") or () if c.startswith("License ::")]
    first = (said.get("License") or "").partition("\n")[0]
    return said.get("License-Expression") or "; ".join(classifiers) or first


def is_permissive(said: str) -> bool:
    return any(word in said for word in PERMISSIVE) and not any(
        word in said for word in NOT_PERMISSIVE
    )


@pytest.mark.parametrize(
    ("said", "so"),
    [("MIT", True), ("BSD-3-Clause AND 0BSD", True), ("MPL-2.0 AND MIT", False), ("", False)],
)
def test_a_licence_is_permissive_if_all_of_it_is(said, so):
    assert is_permissive(said) is so


def test_the_libraries_that_are_not_permissive_are_those_that_the_page_on_installing_names():
    page = (ROOT / "docs" / "install.md").read_text().partition("## Licences")[2]
    named = set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
    other = {
        name
        for extra in ("", *PROJECT["optional-dependencies"])
        for name, library in needed(extra).items()
        if not is_permissive(licence(library))
    }
    assert needed("").keys() & named == set()
    assert other - named == set()


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, without the modules of this repository on its path."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    pytest.importorskip("build", reason="needs the package `build`")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def clean(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment of its own, with the wheel and nothing else of this repository."""
    folder = tmp_path_factory.mktemp("clean")
    (wheel,) = built.glob("*.whl")
    venv.create(folder / "env", with_pip=True)
    bin = folder / "env" / "bin"
    run(bin / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return bin


@pytest.mark.full  # builds and installs for minutes
def test_a_wheel_in_a_clean_environment_makes_a_verdict_without_the_repository(clean, tmp_path):
    command = clean / "phasescope"
    assert run(command, "--version", cwd=tmp_path) == f"phasescope {ps.__version__}\n"
    assert "regular_language" in run(command, "list", cwd=tmp_path)
    assert "false" in run(
        command, "check", "regular_language", "--claim", "thm4.5-remark", cwd=tmp_path
    )
    where = run(
        clean / "python", "-c", "import phasescope; print(phasescope.__file__)", cwd=tmp_path
    )
    assert str(clean.parent) in where


@pytest.mark.full  # installs for minutes
@pytest.mark.parametrize("name", ["linear_modes", "a_map", "own_logs"])
def test_a_notebook_runs_elsewhere(name, clean, tmp_path):
    """With the wheel and the example that its first cell installs, and without the repository."""
    text = (ROOT / "docs" / "notebooks" / f"{name}.md").read_text()
    cells = [block.text for block in blocks(text) if block.language == "python"]
    assert "./examples/linear_modes" in cells[0]
    example = ROOT / "examples" / "linear_modes"
    run(clean / "python", "-m", "pip", "install", "--quiet", example, cwd=tmp_path)
    (tmp_path / "notebook.py").write_text("\n".join(cells))
    run(clean / "python", "notebook.py", cwd=tmp_path)


@pytest.mark.full  # builds for a minute
def test_the_sdist_has_what_a_build_and_the_tests_need(built):
    import tarfile

    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "LICENSE", "README.md", "Makefile", "mkdocs.yml"}
    wanted |= {"src/phasescope/__init__.py", "src/phasescope/py.typed", "tests/conftest.py"}
    wanted |= {"requirements/lock.txt", "docs/index.md", "CHANGELOG.md", "CITATION.cff"}
    assert wanted - names == set()
    assert [name for name in names if name.startswith(("site/", "build/", ".venv"))] == []
