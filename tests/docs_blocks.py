"""The code in the pages of the documentation: blocks of Python with the numbers in their comments, and commands."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Before a block that takes too long for every run of the tests.
LEFT_TO_FULL = "<!-- run by `make full` -->"
# Before a block that needs what a machine of the tests does not have.
NOT_RUN = "<!-- not run:"
# Before a block that is written to the end of a file, and before what a command prints.
FILE = re.compile(r"<!-- file: (\S+) -->$")
OUTPUT = re.compile(r"<!-- output of: phasescope (.+) -->$")
RUN_ID = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
NUMBERS_FIRST = re.compile(rf"[\[(]?\s*{NUMBER.pattern}(?:[,\s]+{NUMBER.pattern})*\s*[\])]?")
COMMAND = re.compile(r"`(phasescope [^`]*)`")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, the line that it begins at, whether it is left to `make full` or
    cannot be run at all, and of which file it is a part, or of which command what is printed.
    """

    language: str
    text: str
    line: int
    left_to_full: bool
    not_run: bool = False
    file: str = ""
    printed_by: str = ""


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for found in FENCE.finditer(page):
        before = page[: found.start()]
        marked = before.rstrip().endswith(LEFT_TO_FULL)
        last = before.rstrip().rpartition("\n")[2]
        file = FILE.search(last)
        command = OUTPUT.search(last)
        yield Block(
            language=found[1],
            text=found[2],
            line=before.count("\n") + 2,
            left_to_full=marked,
            not_run=last.startswith(NOT_RUN),
            file=file[1] if file else "",
            printed_by=command[1] if command else "",
        )


def commands(page: str) -> Iterator[list[str]]:
    """The calls of phasescope in a page, as words: in blocks without a language, and between backticks."""
    lines = [line for b in blocks(page) if not b.language for line in b.text.splitlines()]
    lines += COMMAND.findall(FENCE.sub("", page))
    lines += [f"phasescope {b.printed_by}" for b in blocks(page) if b.printed_by]
    for line in lines:
        words = shlex.split(line, comments=True)
        for separator in ("&&", ">", "|"):
            if separator in words:
                words = words[: words.index(separator)]
        if words[:1] == ["phasescope"] and not {"...", "as"} & set(words):
            yield words[1:]


def carry_out(block: Block, page: Path, namespace: dict[str, Any]) -> list[str]:
    """Execute a block statement by statement; returns what its comments say that is not so."""
    wrong = []
    said = _comments(block.text)
    for statement in ast.parse(block.text).body:
        code = ast.Module([statement], [])
        comment = said.get(statement.end_lineno or 0, "")
        if not isinstance(statement, ast.Expr):
            exec(compile(code, str(page), "exec"), namespace)
            continue
        value = eval(compile(ast.Expression(_looked_at(statement)), str(page), "eval"), namespace)
        if comment and not agrees(comment, value):
            line = block.line + statement.lineno - 1
            wrong.append(f"{page.name}:{line} says {comment!r}, and it is {value!r}")
    return wrong


def prints(block: Block, page: Path) -> list[str]:
    """Carry out a command in a process of its own; returns what the page says that it does not print.

    Three dots stand for anything, ids of runs for any other id, and white space for any other.
    """
    script = "from phasescope.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *shlex.split(block.printed_by)],
        env=os.environ | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    said, found = (RUN_ID.sub("ID", text) for text in (block.text, done.stdout))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(said, found, flags):
        return []
    return [f"{page.name}:{block.line} phasescope {block.printed_by} prints\n{found}{done.stderr}"]


def agrees(comment: str, value: Any) -> bool:
    """Whether a value is what a comment says: a literal, or numbers to the digits that are written.

    Numbers come first in a comment; one that begins with a word has none.
    """
    words = comment.strip()
    numbers = NUMBERS_FIRST.match(words)
    if numbers:
        written = NUMBER.findall(numbers[0])
        found = np.ravel(np.asarray(value, float))
        return len(written) == found.size and all(map(_is_rounded, written, found))
    if words[0] in "[(\"'{":
        return ast.literal_eval(words) == value
    return not NUMBER.search(words)


def _is_rounded(written: str, found: float) -> bool:
    """Whether a number has the digits that are written."""
    digits, _, power = written.partition("e")
    places = len(digits.partition(".")[2])
    scale = 10.0 ** int(power or 0)
    return abs(found - float(written)) <= 0.5000001 * 10.0**-places * scale


def _looked_at(statement: ast.Expr) -> ast.expr:
    """The expression, or what it prints."""
    call = statement.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print":
        return call.args[0]
    return call


def _comments(text: str) -> dict[int, str]:
    """The comments by line."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
