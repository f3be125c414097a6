"""What `list` prints: studies, one line each; one study on a page; or some of its parts in full."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from rich.padding import Padding
from rich.text import Text

from ..ledger.markup import visible
from .terminal import plain_table, show_line

# The parts of a study that fill more than a page, each with a flag of its name.
PARTS = ("claims", "fields", "figures")


def show_catalogues(
    found: dict[str, Any], parts: Collection[str] | None = None, called: str | None = None
) -> None:
    """All studies, if `parts` is None; else each study on a page, or those of its parts in full.

    `called` is what the user called the one study: the path of a plain file is no name.
    """
    if parts is None:
        _show_overview(found)
        return
    for name, entry in found.items():
        _show_title(name, entry)
        if not parts:
            _show_page(called or name, entry)
        if "fields" in parts:
            _show_fields(entry)
        if "claims" in parts:
            _show_claims(entry)
        if "figures" in parts:
            _show_figures(entry)


def _show_overview(found: dict[str, Any]) -> None:
    table = plain_table("study", "paper", "arms", "claims", "figures")
    for name, entry in found.items():
        counts = [str(len(entry["claims"])), str(len(entry["figures"]))]
        table.add_row(name, entry["paper"], ", ".join(entry["arms"]), *counts)
    show_line(table)
    show_line("`phasescope list STUDY` shows its arms, fields, presets and figures.", style="dim")


def _show_title(name: str, entry: dict[str, Any]) -> None:
    title = Text(visible(name), style="bold")
    title.append(f"  {visible(entry['paper'])}\n", style="not bold")
    show_line(title)


def _show_page(name: str, entry: dict[str, Any]) -> None:
    """All arms; the names of the rest, with the flags that show more; where the paper is."""
    _section(("arm", ""), list(entry["arms"].items()))
    fields = [f"{field}={known['default']}" for field, known in entry["fields"].items()]
    _paragraph("fields", fields, "--fields says what they mean, and the numbers of the presets")
    _paragraph("presets", entry["presets"], "--preset NAME of `run` and `sweep` takes one")
    claims = entry["claims"]
    _paragraph("claims", _counted(claims) if claims else (), "--claims lists them", len(claims))
    _paragraph("figures", entry["figures"], "--figures shows their captions")
    _show_citation(name, entry)
    arm = next(iter(entry["arms"]), None)
    study = shlex.quote(name)
    advice = (
        f"Run one: phasescope run {study} {arm}" if arm else f"Check it: phasescope check {study}"
    )
    show_line(advice, style="dim", soft_wrap=True)


def _show_citation(name: str, entry: dict[str, Any]) -> None:
    """Where the paper is to be found, and what gives its entry for a list of references."""
    link = entry.get("link", "")  # a catalogue that was kept by an earlier version has none
    if link:
        show_line(Text(f"paper: {visible(link)}; BibTeX: ps.find({visible(name)!r}).bibtex"))


def _paragraph(title: str, words: Iterable[str], hint: str, count: int | None = None) -> None:
    words = list(words)
    if not words:
        return
    head = Text(f"{title} ", style="bold")
    head.append(f"({len(words) if count is None else count}; {hint})", style="dim not bold")
    show_line(head)
    show_line(Padding(Text("  ".join(map(visible, words))), (0, 2, 1, 2), expand=False))


def _counted(claims: list[dict[str, Any]]) -> list[str]:
    """How many claims are the paper's, corrected, or ours; and how many rows have each established word."""
    whose = Counter(claim.get("whose", "untyped") for claim in claims)
    words = Counter(str(word) for claim in claims for word in claim["expected"].values())
    counts = [
        ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in c.items()) for c in (whose, words)
    ]
    return [f"{counts[0]}; rows: {counts[1]}"]


def _show_fields(entry: dict[str, Any]) -> None:
    fields = [
        (k, f["type"], str(f["default"]), _field_words(f)) for k, f in entry["fields"].items()
    ]
    _section(("field", "type", "default", ""), fields)
    presets = [(k, _preset_words(changes)) for k, changes in entry["presets"].items()]
    _section(("preset", "numbers"), presets)


def _show_claims(entry: dict[str, Any]) -> None:
    """Each claim in a few lines: its names and kind, the statement, and the established words."""
    for claim in entry["claims"]:
        head = Text(visible(_claim_names(claim)), style="bold")
        head.append(f"  {visible(claim['cites'])}; {visible(_kind_words(claim))}", style="not bold")
        show_line(head)
        if claim["statement"]:
            show_line(Padding(Text(visible(claim["statement"])), (0, 0, 0, 4), expand=False))
        words = Text(visible(_expected_words(claim)), style="dim")
        varied = claim.get("maps_over")  # a catalogue that was kept by an earlier version has none
        if varied:
            words.append(f"; a map may vary {', '.join(map(visible, varied))}")
        show_line(Padding(words, (0, 0, 0, 4), expand=False))


def _show_figures(entry: dict[str, Any]) -> None:
    figures = [(k, f["cites"], f["caption"]) for k, f in entry["figures"].items()]
    _section(("figure", "cites", ""), figures)
    if any("..." in caption for _, _, caption in figures):
        show_line(
            "... stands for a number of the data, which `phasescope draw` fills in.", style="dim"
        )


def _field_words(field: dict[str, Any]) -> str:
    return " ".join(filter(None, (field.get("doc"), _range(field), _readers(field))))


def _readers(field: dict[str, Any]) -> str:
    """The arms that read a field, where not all do."""
    if "arms" not in field:
        return ""
    return f"({', '.join(field['arms']) or 'no arm'})"


def _preset_words(changes: dict[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in changes.items()) or "(defaults)"


def _claim_names(claim: dict[str, Any]) -> str:
    """The id, and other names under which it can be asked for."""
    aliases = claim.get("aliases", ())
    return f"{claim['id']} (also {', '.join(aliases)})" if aliases else claim["id"]


def _kind_words(claim: dict[str, Any]) -> str:
    return f"{claim['kind']}, {claim['whose']}" if "kind" in claim else "untyped"


def _expected_words(claim: dict[str, Any]) -> str:
    words = {row: word.replace("_", " ") for row, word in claim["expected"].items()}
    return "; ".join(f"{row}: {word}" for row, word in words.items())


def _section(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = plain_table(*columns)
    for row in rows:
        table.add_row(*row)
    show_line(table)
    show_line()


def _range(f: dict[str, Any]) -> str:
    words = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}
    parts = [f"{words[k]} {f[k]:g}" for k in words if k in f]
    return "[" + ", ".join(parts or f["choices"]) + "]" if parts or f.get("choices") else ""
