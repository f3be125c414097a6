"""The gallery: every figure of some studies as a small picture, with its caption and the line that makes it.

    python docs/make_gallery.py regular_language lazy_to_rich

writes `docs/gallery/STUDY.md` and `docs/gallery/STUDY/FIGURE.webp`. Runs are taken from the store, and made where they are
missing, so a second time takes seconds. Pictures are small on purpose; `phasescope draw` makes them at any size.

    python docs/make_gallery.py regular_language/figure_2

makes one figure, again or for the first time, and leaves the others of the page as they are.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

import phasescope as ps
from phasescope.figures.figure import Figure
from phasescope.verbs.context import default_context
from phasescope.verbs.draw import Drawing, draw_all
from phasescope.verbs.evidence import Evidence

GALLERY = Path(__file__).parent / "gallery"
WIDTH = 1000  # pixels
TEX_OR_SIGN = re.compile(r"(\$[^$]*\$|`[^`]*`)|([*_<\[\]|])")


def as_markdown(caption: str) -> str:
    """Plain words as Markdown: signs that mean something there are escaped, formulas are left alone."""
    return TEX_OR_SIGN.sub(lambda found: found[1] or f"\\{found[2]}", caption)


def thumbnail(png: bytes) -> bytes:
    """A picture of at most WIDTH pixels, as WebP."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "WEBP", quality=82, method=6)
    return out.getvalue()


def entry(drawing: Drawing) -> str:
    """A figure on the page: its name, the picture, the caption, and the line that makes it."""
    study, figure = drawing.study, drawing.figure
    return "\n".join(
        [
            f"## {figure.id}",
            "",
            f"*{as_markdown(figure.cites)}*",
            "",
            f"![{figure.id} of {study}]({study}/{figure.id}.webp)",
            "",
            as_markdown(drawing.words),
            "",
            "```",
            f"phasescope draw {study} --figure {figure.id}",
            "```",
            "",
        ]
    )


def page(study: ps.Study, drawings: list[Drawing]) -> str:
    """The page of a study."""
    head = [
        f"# Figures of {study.name}",
        "",
        f"{as_markdown(study.paper)}.",
        "",
        "<!-- made by docs/make_gallery.py -->",
        "",
    ]
    return "\n".join([*head, *map(entry, drawings)])


def with_entry(page: str, drawing: Drawing, ids: Sequence[str]) -> str:
    """A page with one of its figures made again, or made for the first time, in the order of the study's."""
    head, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    entries = {part.partition("\n")[0].removeprefix("## "): part.rstrip("\n") for part in parts}
    entries[drawing.figure.id] = entry(drawing).rstrip("\n")
    return head + "\n\n".join(entries[name] for name in ids if name in entries) + "\n"


def drawn(study: ps.Study, figures: Sequence[Figure], out: Path) -> list[Drawing]:
    """Figures of a study. One that cannot be drawn is an error."""
    with Evidence(study, default_context(None, None), False) as evidence:
        evidence.ask(request for figure in figures for request in figure.evidence)
        drawings = list(draw_all(figures, evidence, out, ("png",)))
    problems = [drawing.problem for drawing in drawings if drawing.problem]
    if problems:
        raise SystemExit("\n".join(problems))
    return drawings


def make(name: str) -> None:
    """The page and the pictures of one study, or of one of its figures (STUDY/FIGURE)."""
    name, _, one = name.partition("/")
    study = ps.find(name)
    figures = [figure for figure in study.figures if one in ("", figure.id)]
    if not figures:
        raise SystemExit(f"{name} has no figure {one}.")
    folder = GALLERY / study.name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as out:
        drawings = drawn(study, figures, Path(out))
    for drawing in drawings:
        (folder / f"{drawing.figure.id}.webp").write_bytes(thumbnail(drawing.png))
    path = GALLERY / f"{study.name}.md"
    ids = [figure.id for figure in study.figures]
    path.write_text(with_entry(path.read_text(), *drawings, ids) if one else page(study, drawings))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make(name)
