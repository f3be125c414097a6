"""Registration: whether a check was there, as it is now, before its recorded evidence was made."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..claims.assumptions import Assumptions
from ..claims.claim import Claim
from ..claims.requests import Recorded, Request, Runs, Sweeps
from ..identity import Unidentified
from ..identity.digest import sha256
from ..identity.objects import plain_function
from ..identity.texts import text_digest
from ..records.evidence_file import manifest_of, read
from ..study import Study


def check_digest(claim: Claim) -> str | None:
    """The digest of a check as it was loaded; None if it has none.

    The texts of the function and of what it calls count, and what decides the word: the kind of the
    statement, its assumptions, the evidence. What is written down once the evidence is there (the
    established word, its reason, the page) does not. Texts are the same on every machine and in
    every version of Python.
    """
    function = plain_function(claim.check)
    if function is None:
        return None
    try:
        return sha256([text_digest(function), _text(_decides(claim))])
    except Unidentified:
        return None


def _decides(claim: Claim) -> tuple[Any, ...]:
    """What decides the word, beside the function."""
    typed = claim.typed
    kind = None if typed is None else (str(typed.kind), str(typed.whose), typed.as_)
    reads = None if typed is None else (typed.hides, typed.up_to_logs, typed.whp)
    rows = [(str(row.name), str(row.on), row.breaks, row.evidence) for row in claim.regimes]
    return kind, reads, claim.assumes, rows


def _text(x: Any) -> str:
    """What decides a word as text: arms and tables by their names, rules of assumptions by their texts."""
    if isinstance(x, Recorded):
        return _text(x.request)
    if isinstance(x, Assumptions):
        rules = {**x.lane, **x.record}
        texts = {name: text_digest(rule) for name, rule in rules.items()}
        return _text((dict(x.model), texts, tuple(x.record), x.free))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        counted = [field for field in dataclasses.fields(x) if _counts(x, field)]
        parts = [_text(getattr(x, field.name)) for field in counted]
        return f"{type(x).__name__}({','.join(parts)})"
    if isinstance(x, Mapping):
        return f"{{{','.join(f'{_text(k)}:{_text(v)}' for k, v in x.items())}}}"
    if isinstance(x, tuple | list):
        return f"[{','.join(map(_text, x))}]"
    if isinstance(x, float):
        return repr(float(x))
    return getattr(x, "__name__", None) or repr(x)


def _counts(x: Any, field: dataclasses.Field[Any]) -> bool:
    """A field that came later counts where it is used: digests that were written down before stay as they are."""
    return not field.metadata.get("later") or getattr(x, field.name) != field.default


def digests_of_checks(study: Study, request: Runs | Sweeps) -> dict[str, str]:
    """The digests of the checks that ask for this evidence, by the id of their claim."""
    found = {}
    for claim in study.claims:
        asked = [plain for regime in claim.regimes for plain in regime.evidence]
        if any(isinstance(one, Recorded) and one.request == request for one in asked):
            digest = check_digest(claim)
            if digest is not None:
                found[claim.id] = digest
    return found


def commit_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The commit of the code of a function, and whether files were changed since; none without git."""
    file = inspect.getsourcefile(inspect.unwrap(function))
    folder = None if file is None else Path(file).absolute().parent
    commit = None if folder is None else _git(folder, "rev-parse", "HEAD")
    if folder is None or commit is None:
        return {"commit": None, "dirty": None}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit.strip(), "dirty": None if changed is None else bool(changed.strip())}


def _git(folder: Path, *words: str) -> str | None:
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def is_registered(claim: Claim, evidence: Iterable[Request]) -> bool:
    """Whether all evidence is recorded, and was recorded with this check in place and committed."""
    asked = list(evidence)
    if not asked or not all(isinstance(one, Recorded) for one in asked):
        return False
    digest = check_digest(claim)
    return digest is not None and all(
        _was_there(claim.id, digest, one) for one in asked if isinstance(one, Recorded)
    )


def _was_there(id: str, digest: str, evidence: Recorded) -> bool:
    if not evidence.file.exists():
        return False
    manifest = manifest_of(read(evidence.file))
    clean = manifest.get("dirty") is False
    return clean and manifest.get("checks", {}).get(id) == digest
