"""Flows in log time: how long they last, and when they are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import phasescope as ps

from ..spec import Spec

RECORDS = 160
KAPPA = 1.0  # flows are solved in log(1 + kappa t)


def follow(velocity: Callable[[Any], Any], spec: Spec, name: str = "flow") -> ps.Stage:
    """A flow in log time up to the horizon."""
    return ps.Stage(name, ps.flow(velocity, kappa=KAPPA), flow_times(spec))


def flow_times(spec: Spec) -> ps.Schedule:
    """Record times of flows: evenly spaced in log time."""
    return ps.log_times(spec.end, RECORDS, first=0.1)
