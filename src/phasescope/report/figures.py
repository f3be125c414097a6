"""The figures of a study in the page. Each picture is held once; the first stands at the top of the report."""

from __future__ import annotations

import base64
import functools
import io

from ..ledger.markup import Markup, safe_name, tag
from ..verbs.draw import Drawing
from .gather import Section
from .prose import prose

# Colours of a plot in the page, and how often they are moved to the middle of those that they stand for: a colour bar
# of a map would else have steps of a wrong hue. The file beside the page has all colours.
COLOURS = 256
ROUNDS = 3


def gallery(section: Section) -> Markup | None:
    """All figures of a study with their captions; the one at the top is pointed at."""
    if not section.drawings:
        return None
    shown = [_in_gallery(section, drawing) for drawing in section.drawings]
    return tag("div", *shown, class_="gallery")


def _in_gallery(section: Section, drawing: Drawing) -> Markup:
    if drawing is section.cover:
        where = tag("a", "shown at the top", href=f"#{place(drawing)}")
        return tag("figure", tag("p", where), caption(drawing))
    return picture(drawing)


def picture(drawing: Drawing) -> Markup:
    """A figure with its caption, or the reason why it could not be drawn."""
    if drawing.problem:
        inner = tag("p", f"! {drawing.problem}", class_="surprise")
    else:
        figure = drawing.figure
        inner = tag(
            "img",
            src=inline(drawing.png),
            alt=f"{figure.cites}: {drawing.words}",
            width=round(figure.size[0] * 96),
            height=round(figure.size[1] * 96),
        )
    return tag("figure", inner, caption(drawing), id=place(drawing))


def caption(drawing: Drawing) -> Markup:
    """What the figure is of the paper, and what it shows."""
    figure = drawing.figure
    return tag(
        "figcaption",
        tag("b", figure.cites),
        " ",
        prose(drawing.words),
        " ",
        tag("code", figure.id),
    )


def place(drawing: Drawing) -> str:
    """The anchor of a figure."""
    return safe_name("figure", drawing.study, drawing.figure.id)


def inline(png: bytes) -> str:
    """A picture as part of the page."""
    return f"data:image/png;base64,{base64.b64encode(_smaller(png)).decode()}"


@functools.lru_cache(maxsize=256)
def _smaller(png: bytes) -> bytes:
    """The picture with a palette, if that is smaller; the same bytes for the same picture."""
    from PIL import Image

    buffer = io.BytesIO()
    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            flat = Image.new("RGB", image.size, "white")
            flat.paste(image, mask=image.convert("RGBA").getchannel("A"))
        few = flat.quantize(COLOURS, kmeans=ROUNDS, dither=Image.Dither.NONE)
        few.save(buffer, format="PNG", optimize=True)
    except (OSError, ValueError):  # no picture that can be read: as it is
        return png
    return buffer.getvalue() if buffer.tell() < len(png) else png
