"""Executed notebooks show what they print, and not how long a machine took."""

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need phasescope[notebook]")
pytest.importorskip("jupytext", reason="notebooks need phasescope[notebook]")

SCRIPT = Path(__file__).parents[1] / "docs" / "make_notebooks.py"


def test_progress_is_left_out_and_warnings_are_not():
    spec = importlib.util.spec_from_file_location("make_notebooks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    v4 = nbformat.v4
    said = ["0:00:30  a study: checking 0 of 1\n", "\n", "UserWarning: other digits\n"]
    cell = v4.new_code_cell("1 + 1")
    cell.outputs = [
        v4.new_output("stream", name="stderr", text=said[0]),
        v4.new_output("stream", name="stderr", text="".join(said)),
        v4.new_output("execute_result", {"text/plain": "2"}),
    ]
    notebook = module.without_progress(v4.new_notebook(cells=[v4.new_markdown_cell("# a"), cell]))
    warning, result = notebook.cells[1].outputs
    assert warning.text == said[2]
    assert result.data["text/plain"] == "2"
