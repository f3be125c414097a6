"""Formulas: TeX as MathML, which every browser draws without a script.

What latex2mathml makes of a study's TeX is taken apart and built anew from known elements and attributes,
so that no text of a study can bring anything else into the page.
"""

from __future__ import annotations

import functools
import re
from xml.etree import ElementTree

from ..ledger.markup import Markup, tag

_ELEMENTS = """
    math mrow mi mn mo mtext mspace msup msub msubsup mover munder munderover mfrac msqrt mroot
    mtable mtr mtd mstyle mpadded mphantom
"""
_ATTRIBUTES = """
    display displaystyle scriptlevel mathvariant stretchy fence form separator accent symmetric
    lspace rspace minsize maxsize movablelimits linethickness width columnalign
"""
ELEMENTS = frozenset(_ELEMENTS.split())
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
# These have so many parts, no more and no fewer.
ARITY = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "mover": 2, "munder": 2}
ARITY |= {"msubsup": 3, "munderover": 3}
_VALUE = re.compile(r"[A-Za-z0-9.+\-% ]{0,40}")
# What the paper's authors would not write either.
LONGEST = 2000


@functools.lru_cache(maxsize=4096)
def formula(tex: str, display: bool = False) -> Markup:
    """TeX as MathML; as code if it is not understood in full."""
    made = _mathml(tex, display)
    return tag("code", tex, class_="tex") if made is None else made


def _mathml(tex: str, display: bool) -> Markup | None:
    from latex2mathml.converter import convert

    if not tex.strip() or len(tex) > LONGEST:
        return None
    try:
        text = convert(_plain(tex), display="block" if display else "inline")
        return _rebuilt(ElementTree.fromstring(text))
    except Exception:  # whatever a converter says of a stranger's TeX: the TeX itself is shown
        return None


def _plain(tex: str) -> str:
    """Without what changes nothing but the size of a sign, and with an operator by its general name."""
    for style in (r"\textstyle", r"\displaystyle"):
        tex = tex.replace(style, "")
    return tex.replace(r"\arg", r"\operatorname{arg}")


def _rebuilt(element: ElementTree.Element) -> Markup | None:
    """An element with what is in it, if all of it is known; a command that was left as it is, is not."""
    name = element.tag.rpartition("}")[2]
    text = (element.text or "").strip("\n")
    if name not in ELEMENTS or "\\" in text:
        return None
    children: list[str] = [text] if text else []
    for child in element:
        made = _rebuilt(child)
        if made is None:
            return None
        children.append(made)
    if len(children) != ARITY.get(name, len(children)):
        return None
    known = all(
        key in ATTRIBUTES and _VALUE.fullmatch(text) for key, text in element.attrib.items()
    )
    return tag(name, *children, **element.attrib) if known else None
