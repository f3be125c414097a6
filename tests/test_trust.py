"""docs/trust.md: the tests that it names are there, and the exit codes are those of the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from phasescope.cli.exit_codes import MEANINGS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


def defined_in(file: Path) -> set[str]:
    """The tests that a file defines, in classes too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {function.name for function in functions if function.name.startswith("test_")}


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_every_test_that_the_page_names_is_there(file):
    named = {test for other, test in NAMED if other == file}
    assert named - defined_in(ROOT / file) == set()


def test_every_fault_has_a_line_and_every_line_a_test():
    lines = re.findall(r"^\| (\d+) \| .*::test_.*$", PAGE, flags=re.MULTILINE)
    assert [int(number) for number in lines] == list(range(1, 23))


def test_the_exit_codes_of_the_page_are_those_of_the_help():
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
    assert {int(code): said for code, said in rows} == MEANINGS
