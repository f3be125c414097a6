"""Modules of the page and their data as one HTML text, which needs neither a server nor the network."""

from __future__ import annotations

import base64
import html
import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
# A module is named in `from "./x.js"`, `import "./x.js"` or `import("./x.js")`.
_IMPORT = re.compile(r"""((?:\bfrom|\bimport)\s*\(?\s*)(["'])\./([\w./-]+)\2""")


def page_of(entry: Path, title: str, data: Mapping[str, Any]) -> str:
    """A page that runs the module `entry`, which finds `data` as JSON in the element of that id.

    All modules travel in the page, under names of their own. Nothing else may be loaded.
    """
    first = f"page/{entry.name}"
    modules = {f"page/{name}": _url(text) for name, text in _modules(entry).items()}
    key = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; script-src 'nonce-{key}' data:; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    style = (STATIC / "page.css").read_text(encoding="utf-8").replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{style}</style>
<script nonce="{key}" type="importmap">{_inert({"imports": modules})}</script>
<script id="data" type="application/json">{_inert(data)}</script>
<script nonce="{key}" type="module">import {json.dumps(first)};</script>
</head>
<body><main id="view"></main></body>
</html>
"""


def framed(page: str, height: int, title: str) -> str:
    """A page as part of another one, from which it is shut off: it can neither read nor change what is around it."""
    return (
        f'<iframe title="{html.escape(title)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {height}px; border: 0" srcdoc="{html.escape(page)}"></iframe>'
    )


def _modules(entry: Path) -> dict[str, str]:
    """The text of a module and of all that it imports, by name; imports name the modules of the page."""
    found: dict[str, str] = {}
    wanted = [entry]
    while wanted:
        file = wanted.pop()
        text = file.read_text(encoding="utf-8")
        found[file.name] = _IMPORT.sub(r"\1\2page/\3\2", text)
        names = {match[3] for match in _IMPORT.finditer(text)}
        wanted += [STATIC / name for name in names if name not in found]
    return found


def _url(text: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _inert(data: Any) -> str:
    """JSON that cannot end the element that it is in, nor begin another."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
