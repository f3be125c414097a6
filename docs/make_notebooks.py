"""Notebooks from the pages of docs/notebooks: executed, and kept in build/notebooks.

    python docs/make_notebooks.py                 # all
    python docs/make_notebooks.py linear_modes    # some

One whose page did not change since is left alone, unless `--anew` is given.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

PAGES = Path(__file__).parent / "notebooks"
BUILT = Path(__file__).parents[1] / "build" / "notebooks"
SECONDS = 1800  # for one cell; the longest trains for some minutes on a busy machine
PROGRESS = re.compile(r"\d+:\d\d:\d\d  ")  # how a line begins that says what is going on
STARTUP = 300  # seconds for a kernel to come up


def digest(page: Path) -> str:
    return hashlib.sha256(page.read_bytes()).hexdigest()


def is_current(page: Path) -> bool:
    """Whether the executed notebook is that of the page as it is now."""
    built = BUILT / f"{page.stem}.ipynb"
    return built.exists() and nbformat.read(built, 4).metadata.get("page") == digest(page)


def without_progress(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what was said while one waited, which only a slow machine says."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                lines = output["text"].splitlines(keepends=True)
                kept = [line for line in lines if line.strip() and not PROGRESS.match(line)]
                output["text"] = "".join(kept)
        if "outputs" in cell:
            cell["outputs"] = [o for o in cell["outputs"] if o.get("text", "there") != ""]
    return notebook


def execute(page: Path) -> None:
    """Run a page as a notebook, in a folder of its own, and keep the result."""
    notebook = jupytext.read(page)
    notebook.metadata["page"] = digest(page)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        # Over sockets of this user: over TCP a kernel warns that others on the machine may listen.
        ours = {"transport": "ipc", "ip": str(Path(sockets) / "kernel")}
        client = NotebookClient(
            notebook,
            config=Config({"KernelManager": ours}),
            resources={"metadata": {"path": folder}},
            startup_timeout=STARTUP,
            timeout=SECONDS,
        )
        client.execute()
    BUILT.mkdir(parents=True, exist_ok=True)
    nbformat.write(without_progress(notebook), BUILT / f"{page.stem}.ipynb")


def main(arguments: list[str]) -> None:
    names = [name for name in arguments if not name.startswith("-")]
    for page in sorted(PAGES.glob("*.md")):
        wanted = page.stem in names or (not names and page.stem != "index")
        if wanted and ("--anew" in arguments or not is_current(page)):
            print(f"{page.stem}: executing", flush=True)
            execute(page)


if __name__ == "__main__":
    main(sys.argv[1:])
