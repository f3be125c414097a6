"""What the commands print: tables for people. (JSON for programs is printed by the commands themselves.)"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..discovery import installed
from ..errors import StudyNotFound, nearest
from . import catalogue

console = Console(highlight=False)


def catalogues(study: str | None) -> dict[str, Any]:
    """The catalogue of one study or of all installed ones; a broken one is named and left out."""
    if study is not None and (study.endswith(".py") or "/" in study):
        from ..study import find

        loaded = find(study)
        return {loaded.name: catalogue.describe(loaded)}
    points = installed()
    if study is not None and study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    read = {name: catalogue.read(point) for name, point in points.items() if study in (None, name)}
    return {name: entry for name, entry in read.items() if entry is not None}


def show(found: dict[str, Any], in_full: bool) -> None:
    """Studies, one line each; or one study with all that it offers."""
    if not in_full:
        table = _table("study", "paper", "arms", "claims", "figures")
        for name, entry in found.items():
            table.add_row(
                name, entry["paper"], ", ".join(entry["arms"]), str(len(entry["claims"])), str(len(entry["figures"]))
            )
        console.print(table)
        console.print("`phasescope list STUDY` shows its fields, presets and claims.", style="dim")
        return
    for name, entry in found.items():
        console.print(f"[bold]{escape(name)}[/bold]  {escape(entry['paper'])}\n")
        _section("fields", ("field", "type", "default", ""), [
            (k, f["type"], str(f["default"]), " ".join(filter(None, (f.get("doc"), _range(f)))))
            for k, f in entry["fields"].items()
        ])  # fmt: skip
        _section("arms", ("arm", ""), list(entry["arms"].items()))
        presets = [(k, " ".join(f"{a}={b}" for a, b in v.items()) or "(defaults)") for k, v in entry["presets"].items()]
        _section("presets", ("preset", "numbers"), presets)
        _section("claims", ("claim", "cites", "statement", "expected"), [
            (c["id"], c["cites"], c["statement"], ", ".join(f"{r}: {o}" for r, o in c["expected"].items()))
            for c in entry["claims"]
        ])  # fmt: skip
        _section(
            "figures", ("figure", "cites", ""), [(k, f["cites"], f["caption"]) for k, f in entry["figures"].items()]
        )


def show_run(summary: dict[str, Any], ds: Any) -> None:
    """A run's identity and its final scalars."""
    table = _table("observable", f"at time {summary['time']:g}", "")
    for name, value in summary["final"].items():
        table.add_row(name, f"{value:.6g}", ds[name].attrs.get("long_name", ""))
    console.print(table)
    console.print(f"{summary['status']}: {escape(summary['id'])}\n{escape(summary['folder'])}", style="dim")


def show_bill(costs: dict[str, Any]) -> None:
    """What a sweep would run."""
    axes = " x ".join(f"{k} ({n})" for k, n in costs["axes"].items()) or "one run"
    console.print(f"{axes}: {costs['runs']} runs in {costs['blocks']} blocks of width {costs['width']}, "
                  f"{costs['programs']} programs; {costs['stored']} blocks are stored, "
                  f"{costs['missing']} would run.")  # fmt: skip


def show_sweep(summary: dict[str, Any], ds: Any) -> None:
    """A sweep's shape, and what became of its lanes."""
    show_bill(summary | {"stored": summary["blocks"], "missing": 0})
    console.print("dims: " + ", ".join(f"{k}={n}" for k, n in summary["dims"].items()))
    if summary["diverged"]:
        console.print(
            f"{summary['diverged']} runs left the finite numbers (coordinate `diverged_at`); the others are intact."
        )


def check_bill(
    studies: Any, lab: Any, claim: str | None, regime: str | None, full: bool, recompute: bool
) -> list[dict[str, Any]]:
    """For each study: runs that its claims need, runs that the store lacks, seconds that the missing ones may take."""
    from ..claims.requests import Recorded
    from ..records.recorded import manifest_of, read
    from ..verbs.check import chosen_claims, knowing
    from ..verbs.evidence import Evidence

    rows = []
    for study in knowing(studies, claim):
        evidence = Evidence(study, lab, full, recompute)
        wanted = {evidence.plain(e): e for _, r in chosen_claims(study, claim, regime) for e in r.evidence}
        need, lack = (
            (sum(x) for x in zip(*(evidence.missing(e) for e in wanted.values()), strict=True)) if wanted else (0, 0)
        )
        again = [e for e in wanted.values() if recompute and isinstance(e, Recorded)]
        past = (
            [e.manifest.get("seconds", 0.0) for e in lab.store.entries() if e.study == study.name] if lab.store else []
        )
        own = lack - sum(evidence.missing(e)[1] for e in again)
        rows.append(
            {
                "study": study.name,
                "needed": need,
                "missing": lack,
                "seconds": round(own * sum(past) / len(past), 1) if past else None,
                "recorded": _recorded_price([manifest_of(read(e.file)) for e in again]),
            }
        )
    return rows


def _recorded_price(manifests: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds that recorded evidence took, by the device it was made on."""
    seconds: dict[str, float] = {}
    for manifest in manifests:
        device = str(manifest.get("device", "unknown"))
        seconds[device] = round(seconds.get(device, 0.0) + float(manifest.get("seconds", 0.0)), 1)
    return seconds


def show_check_bill(rows: list[dict[str, Any]]) -> None:
    """The bill before it is paid."""
    table = _table("study", "runs needed", "missing", "seconds expected")
    for row in rows:
        seconds = "unknown: nothing was run yet" if row["seconds"] is None else f"{row['seconds']:g}"
        for device, taken in row["recorded"].items():
            seconds += f"; recorded evidence took {taken:g} on {escape(device)}, and such a device is meant"
        table.add_row(row["study"], str(row["needed"]), str(row["missing"]), seconds)
    console.print(table)


def show_ledger(ledger: Any) -> None:
    """The ledger and its sum."""
    from ..report import ledger_table

    console.print(ledger_table(ledger))
    surprises = ledger.surprises
    console.print(f"{len(ledger)} rows, {len(surprises)} outcomes differ from the expected ones." if surprises
                  else f"{len(ledger)} rows, every outcome as expected.")  # fmt: skip


def show_report(made: Any) -> None:
    """Where the report lies."""
    show_ledger(made.ledger)
    console.print(f"report: {escape(str(made.html))}\nfigures: {escape(str(made.figures))}", soft_wrap=True)


def run_rows(store: Any) -> list[dict[str, Any]]:
    """Finished and unfinished runs as plain rows."""
    finished = [
        {"id": e.id, "status": e.status, "created": e.created, "seconds": e.manifest.get("seconds"), "spec": dict(e.spec),
         "lanes": len(next(iter((e.lanes or {}).values()), (0,))), "folder": str(e.folder)}
        for e in store.entries()
    ]  # fmt: skip
    started = [
        {"id": u.id, "status": "unfinished", "position": _shown(u.position), "folder": str(u.folder)}
        for u in store.unfinished()
    ]
    return finished + started


def _shown(position: dict[str, Any] | None) -> dict[str, Any] | None:
    """How far a run came, without where it was made."""
    if position is None:
        return None
    return {k: v for k, v in position.items() if k != "provenance"}


def show_runs(rows: list[dict[str, Any]]) -> None:
    """The store's table of contents."""
    table = _table("run", "status", "made", "seconds", "numbers")
    for row in rows:
        numbers = " ".join(f"{k}={v}" for k, v in row.get("spec", {}).items()) or f"stopped at {row.get('position')}"
        lanes = f" ({row['lanes']} lanes)" if row.get("lanes", 0) > 1 else ""
        table.add_row(row["id"] + lanes, row["status"], row.get("created", ""), f"{row.get('seconds') or 0:g}", numbers)
    console.print(table if rows else "The store is empty: `phasescope run STUDY ARM` fills it.")


def repair_summary(store: Any) -> dict[str, Any]:
    """What repair found."""
    found = store.repair()
    problem = lambda p: {"id": p.id, "message": p.message, "moved": None if p.moved is None else str(p.moved)}
    return {"intact": found.checked - len(found.damaged) - len(found.newer), "damaged": [problem(p) for p in found.damaged],
            "newer": [problem(p) for p in found.newer], "cleared": [str(path) for path in found.cleared],
            "identical": [list(group) for group in found.alike]}  # fmt: skip


def show_repair(summary: dict[str, Any]) -> None:
    """Damage by name."""
    console.print(f"{summary['intact']} runs are intact; the index is rebuilt.")
    for kind in ("damaged", "newer"):
        for problem in summary[kind]:
            console.print(f"{kind}: {escape(problem['message'])}", soft_wrap=True)
    for leftover in summary["cleared"]:
        console.print(f"cleared: {escape(str(leftover))}")
    for pair in summary["identical"]:
        console.print(f"identical records under different identities: {escape(', '.join(map(str, pair)))}")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _section(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = _table(*columns)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
    console.print()


def _range(f: dict[str, Any]) -> str:
    words = {"at_least": ">=", "above": ">", "at_most": "<="}
    parts = [f"{words[k]} {f[k]:g}" for k in words if k in f]
    return "[" + ", ".join(parts or f["choices"]) + "]" if parts or f.get("choices") else ""
