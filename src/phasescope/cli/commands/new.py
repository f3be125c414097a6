"""`phasescope new`."""

from __future__ import annotations

from pathlib import Path

from .. import flags


def new(
    name: flags.PackageName,
    out: flags.PackageDir = Path(),
) -> None:
    """A study to start from: a small package that passes `check_study` as it stands.

    Example: phasescope new my_paper && pip install -e ./my_paper && phasescope check my_paper
    """
    from ..new import write_study

    print(f"{write_study(name, out)}\nNext: pip install -e {out / name} && phasescope check {name}")
