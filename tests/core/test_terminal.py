"""A terminal shows what stores and studies say, and obeys none of it; a strange entry is a row and stops nothing."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from phasescope.cli import app as cli
from phasescope.cli.listing import PARTS, show_catalogues
from phasescope.cli.results import show_run
from phasescope.cli.terminal import show_json, show_line, show_problem
from phasescope.store import Identity, Store
from phasescope.store.sealed import seal

# Clipboard, title and screen by escape codes, in both spellings; markup that is open, closed and a link; a line turned round.
HOSTILE = "[/red][link=https://evil]C6[/link]\x1b]52;c;aGk=\x07\x1b[2J\x9b2J\u202e:boom:"
COMMANDS = ("\x1b", "\x9b", "\x07", "\u202e")


@pytest.fixture
def command(monkeypatch, capsys, store):
    """The command, in this process: its exit code, and what it printed."""

    monkeypatch.setenv("COLUMNS", "1000")

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["phasescope", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def put(root, seed: int = 0, **spec):
    ds = xr.Dataset({"loss": ("time", np.arange(3.0) + seed)}, {"time": np.arange(3)})
    identity = Identity("mine", "arm", spec, seed)
    with Store(root).draft(identity) as draft:
        return draft.finish(ds, {"seconds": 1.0})


def forge(entry, **changes) -> None:
    """Change a run's document and seal it again, as a stranger would."""
    path = entry.folder / "run.json"
    document = json.loads(path.read_bytes())
    del document["seal"]
    path.write_bytes(seal(document | changes))


def is_tame(text: str) -> bool:
    return not any(mark in text for mark in COMMANDS)


# --- nothing is obeyed -------------------------------------------------------------------------------------------


def test_words_of_a_stored_run_are_shown_and_not_obeyed(command, store):
    forge(put(store, word=HOSTILE), created=HOSTILE)
    code, out, _ = command("runs")
    shown = "".join(out.split())
    assert (code, is_tame(out), "[/red]" in shown, r"\x1b]52" in shown) == (0, True, True, True)


def test_json_on_a_terminal_is_json_and_commands_nothing(command, store):
    put(store, word=HOSTILE)
    _, out, _ = command("runs", "--json")
    [row] = json.loads(out)["runs"]
    assert (is_tame(out), row["spec"]["word"]) == (True, HOSTILE)


def test_the_words_of_a_study_are_shown_and_not_obeyed(capsys):
    field = {"type": "str", "default": HOSTILE, "doc": HOSTILE, "choices": [HOSTILE]}
    claim = {
        "id": HOSTILE,
        "cites": HOSTILE,
        "statement": HOSTILE,
        "expected": {HOSTILE: HOSTILE},
    }
    entry = {
        "paper": HOSTILE,
        "fields": {HOSTILE: field},
        "presets": {HOSTILE: {HOSTILE: HOSTILE}},
        "arms": {HOSTILE: HOSTILE},
        "claims": [claim],
        "figures": {HOSTILE: {"cites": HOSTILE, "caption": HOSTILE}},
    }
    show_catalogues({HOSTILE: entry})
    show_catalogues({HOSTILE: entry}, parts=())
    show_catalogues({HOSTILE: entry}, parts=PARTS)
    out = capsys.readouterr().out
    assert (is_tame(out), "[/red]" in "".join(out.split())) == (True, True)


def test_the_label_of_a_stored_record_is_shown_and_not_obeyed(capsys):
    loss = xr.DataArray(1.0, attrs={"long_name": HOSTILE})
    summary = {"time": 1.0, "final": {"loss": 1.0}, "status": "finished", "id": "a/b/c"}
    show_run(summary | {"folder": HOSTILE}, xr.Dataset({"loss": loss}))
    assert is_tame(capsys.readouterr().out)


def test_an_error_and_a_warning_are_one_line_that_commands_nothing(command, capsys):
    code, _, err = command("run", f"./{HOSTILE}\n.py", "arm")
    assert (code, is_tame(err), err.count("\n")) == (2, True, 1)
    show_problem(f"warning: {HOSTILE}\nand more")
    said = capsys.readouterr().err
    assert (is_tame(said), said.count("\n")) == (True, 1)


def test_a_line_with_brackets_is_printed_as_it_is(capsys):
    show_line("fields [a, b] and [/b] :smile:")
    assert capsys.readouterr().out == "fields [a, b] and [/b] :smile:\n"


@pytest.mark.parametrize("text", ["\x7f", "\x85", "\u2066", 'a"b\\', "é"])
def test_json_keeps_every_text(text, capsys):
    show_json({"text": text})
    assert json.loads(capsys.readouterr().out) == {"text": text}


# --- a strange entry is a row -------------------------------------------------------------------------------------

STRANGE = [{"manifest": {"seconds": "lots"}}, {"status": 3}, {"created": None}, {"format": 99}]


@pytest.mark.parametrize("changes", STRANGE, ids=str)
def test_a_run_that_cannot_be_read_is_a_row_and_the_others_are_listed(command, store, changes):
    forge(put(store, seed=0), **changes)
    sound = put(store, seed=1)
    code, out, _ = command("runs", "--json")
    rows = json.loads(out)["runs"]
    assert (code, [row["status"] for row in rows]) == (0, ["finished", "cannot be read"])
    assert (rows[0]["id"], "run.json" in rows[1]["problem"]) == (sound.id, True)
    assert "cannot be read" in command("runs")[1]


@pytest.mark.parametrize("changes", [{"lanes": [1]}, {"seed": float("inf")}], ids=str)
def test_an_unfinished_run_that_cannot_be_read_is_a_row(command, store, changes):
    with Store(store).draft(Identity("mine", "arm", {}, 0)) as draft:
        draft.save({"local": 1}, [], {})
        path = draft.folder / "000001.json"
    document = json.loads(path.read_bytes())
    del document["seal"]
    document["identity"] |= changes
    path.write_bytes(seal(document))
    code, out, _ = command("runs", "--json")
    assert (code, [row["status"] for row in json.loads(out)["runs"]]) == (0, ["cannot be read"])
    assert command("runs")[0] == 0


# --- repair -------------------------------------------------------------------------------------------------------


def test_repair_of_a_store_that_can_only_be_read_names_all_damage(command, store, monkeypatch):
    for seed in range(3):
        (put(store, seed).folder / "records.zarr.zip").write_bytes(b"gone")
    put(store, 3)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("write", "fsync", "replace", "rename", "mkdir", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    code, out, _ = command("repair")
    assert (code, out.count("\ndamaged: "), out.count("It was left where it is")) == (1, 3, 3)
    assert "1 runs are intact; the index could not be written." in out


def test_repair_says_where_the_damage_went_and_not_to_repair(command, store):
    (put(store).folder / "records.zarr.zip").write_bytes(b"gone")
    code, out, _ = command("repair")
    [moved] = (store / ".quarantine").iterdir()
    assert (code, f"It was moved to {moved}" in out, "phasescope repair" in out) == (1, True, False)
    assert "the index is rebuilt" in out


# --- where nobody reads -------------------------------------------------------------------------------------------

LISTING = "import sys; from phasescope.cli.app import main; sys.argv[0] = 'phasescope'; main()"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", LISTING, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    lines = done.stderr.splitlines()
    said = [line for line in lines if not line.startswith("still loading")]  # on a busy machine
    assert (done.returncode, len(said)) == (6, 1)
    assert "No space left on device" in said[0]


@pytest.mark.parametrize("words", [["list", "regular_language"], ["list", "--json"]], ids=str)
def test_a_reader_that_leaves_early_is_no_fault(words):
    end, other = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *words],
        stdout=other,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(other)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_knows_only_ascii_is_shown_everything(monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", LISTING, "run", "./é.py", "arm"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, r"\xe9.py" in done.stderr) == (2, True)
