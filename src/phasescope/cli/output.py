"""What the commands print: tables for people, or JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..ledger.markup import visible
from .terminal import emit as emit
from .terminal import plain_table, show_line

if TYPE_CHECKING:
    import xarray as xr

    from ..ledger.ledger import Ledger
    from ..report import Report


def show_catalogues(found: dict[str, Any], in_full: bool) -> None:
    """Studies, one line each; or one study with all that it offers."""
    if not in_full:
        _show_overview(found)
        return
    for name, entry in found.items():
        _show_study(name, entry)


def _show_overview(found: dict[str, Any]) -> None:
    table = plain_table("study", "paper", "arms", "claims", "figures")
    for name, entry in found.items():
        counts = [str(len(entry["claims"])), str(len(entry["figures"]))]
        table.add_row(name, entry["paper"], ", ".join(entry["arms"]), *counts)
    show_line(table)
    show_line("`phasescope list STUDY` shows its fields, presets and claims.", style="dim")


def _show_study(name: str, entry: dict[str, Any]) -> None:
    title = Text(visible(name), style="bold")
    title.append(f"  {visible(entry['paper'])}\n", style="not bold")
    show_line(title)
    fields = [
        (k, f["type"], str(f["default"]), _field_words(f)) for k, f in entry["fields"].items()
    ]
    presets = [(k, _preset_words(changes)) for k, changes in entry["presets"].items()]
    claims = [
        (_claim_names(c), _kind_words(c), c["cites"], c["statement"], _expected_words(c))
        for c in entry["claims"]
    ]
    figures = [(k, f["cites"], f["caption"]) for k, f in entry["figures"].items()]
    _section(("field", "type", "default", ""), fields)
    _section(("arm", ""), list(entry["arms"].items()))
    _section(("preset", "numbers"), presets)
    _section(("claim", "kind, whose", "cites", "statement", "expected"), claims)
    _section(("figure", "cites", ""), figures)


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


def show_run(summary: dict[str, Any], ds: xr.Dataset) -> None:
    """A run's identity and its final scalars."""
    table = plain_table("observable", f"at time {summary['time']:g}", "")
    for name, value in summary["final"].items():
        table.add_row(name, f"{value:.6g}", ds[name].attrs.get("long_name", ""))
    show_line(table)
    show_line(f"{summary['status']}: {summary['id']}\n{summary['folder']}", style="dim")


def show_sweep_cost(costs: dict[str, Any]) -> None:
    """What a sweep would run."""
    axes = " x ".join(f"{k} ({n})" for k, n in costs["axes"].items()) or "one run"
    show_line(
        f"{axes}: {costs['runs']} runs in {costs['blocks']} blocks of width {costs['width']}, "
        f"{costs['programs']} programs; {costs['stored']} blocks are stored, {costs['missing']} would run."
    )


def show_sweep(summary: dict[str, Any]) -> None:
    """A sweep's shape, and what became of its lanes."""
    show_sweep_cost(summary | {"stored": summary["blocks"], "missing": 0})
    show_line("dims: " + ", ".join(f"{k}={n}" for k, n in summary["dims"].items()))
    if summary["diverged"]:
        show_line(
            f"{summary['diverged']} runs left the finite numbers (coordinate `diverged_at`); the others are intact."
        )


def show_check_cost(rows: list[dict[str, Any]]) -> None:
    """What a check would run."""
    table = plain_table("study", "runs needed", "missing", "seconds expected")
    for row in rows:
        seconds = (
            "unknown: nothing was run yet" if row["seconds"] is None else f"{row['seconds']:g}"
        )
        for device, taken in row["recorded"].items():
            seconds += f"; recorded evidence took {taken:g} on {device}, and such a device is meant"
        table.add_row(row["study"], str(row["needed"]), str(row["missing"]), seconds)
    show_line(table)


def show_ledger(ledger: Ledger, why: bool = False, traceback: bool = False) -> None:
    """The ledger, its counts by word, and what differs. `why` adds the reasons, `traceback` what
    went wrong in checks that could not be carried out.
    """
    from ..ledger.text import ledger_table, sums

    show_line(ledger_table(ledger, why))
    for line in sums(ledger):
        show_line(line)
    show_line(_in_sum(ledger))
    if traceback:
        show_tracebacks(ledger)


def _in_sum(ledger: Ledger) -> str:
    """How many rows there are, and how many are not as established."""
    rows = "1 row" if len(ledger) == 1 else f"{len(ledger)} rows"
    errors = len(ledger.errors)
    changed = len(ledger.surprises) - errors
    if not changed and not errors:
        return f"{rows}, every word as established."
    parts = []
    if changed:
        parts.append("1 word differs" if changed == 1 else f"{changed} words differ")
        parts[-1] += " from the established one" + ("" if changed == 1 else "s")
    if errors:
        checks = "1 check" if errors == 1 else f"{errors} checks"
        parts.append(f"{checks} could not be carried out (--traceback says where)")
    return f"{rows}; {'; '.join(parts)}."


def show_claim(ledger: Ledger, cards: Iterable[str], traceback: bool = False) -> None:
    """One claim in full, of every study that has it."""
    for text in cards:
        print(text, end="\n\n")
    show_line(_in_sum(ledger))
    if traceback:
        show_tracebacks(ledger)


def show_tracebacks(ledger: Ledger) -> None:
    """Where the checks that could not be carried out went wrong."""
    from ..ledger.appearance import place

    for row in ledger.errors:
        show_line(f"\n{visible(row.claim)}, {place(row)}:")
        for line in row.traceback.splitlines():
            print(visible(line))


def show_report(made: Report) -> None:
    """Where the report lies."""
    show_ledger(made.ledger)
    show_line(f"report: {made.html}\nfigures: {made.figures}", soft_wrap=True)


def show_runs(rows: list[dict[str, Any]]) -> None:
    """The store's table of contents."""
    table = plain_table("run", "status", "made", "seconds", "numbers")
    for row in rows:
        lanes = f" ({row['lanes']} lanes)" if row.get("lanes", 0) > 1 else ""
        table.add_row(
            row["id"] + lanes,
            row["status"],
            row.get("created", ""),
            f"{row.get('seconds') or 0:g}",
            _run_words(row),
        )
    show_line(table if rows else "The store is empty: `phasescope run STUDY ARM` fills it.")


def _run_words(row: dict[str, Any]) -> str:
    """The numbers of a run; of one that is unfinished, how far it came; else why it cannot be read."""
    if "problem" in row:
        return row["problem"]
    numbers = " ".join(f"{k}={v}" for k, v in row.get("spec", {}).items())
    return numbers or f"stopped at {row.get('position')}"


def show_repair(summary: dict[str, Any]) -> None:
    """Damage by name, and where it is now."""
    index = "the index is rebuilt" if summary["indexed"] else "the index could not be written"
    show_line(f"{summary['intact']} runs are intact; {index}.")
    for kind in ("damaged", "newer"):
        for problem in summary[kind]:
            moved = f" It was moved to {problem['moved']}." if problem["moved"] else ""
            show_line(f"{kind}: {problem['message']}{moved}", soft_wrap=True)
    for leftover in summary["cleared"]:
        show_line(f"cleared: {leftover}")
    for pair in summary["identical"]:
        show_line(f"identical records under different identities: {', '.join(map(str, pair))}")


def _section(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = plain_table(*columns)
    for row in rows:
        table.add_row(*row)
    show_line(table)
    show_line()


def _range(f: dict[str, Any]) -> str:
    words = {"at_least": ">=", "above": ">", "at_most": "<="}
    parts = [f"{words[k]} {f[k]:g}" for k in words if k in f]
    return "[" + ", ".join(parts or f["choices"]) + "]" if parts or f.get("choices") else ""
