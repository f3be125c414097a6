"""Before any run: other arithmetic or other random numbers than were promised are found, and nothing is run with them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import toys
from test_engine import threefry

import phasescope as ps
from phasescope.engine import guard
from phasescope.engine.guard import Answers, check_arithmetic, faults
from phasescope.errors import PlanError

EXACT = guard.SIZE * (1 + 2.0**-12) ** 2
RIGHT = Answers(
    np.float64(0.0),
    np.float64("nan"),
    np.float32(EXACT),
    np.float64(EXACT),
    np.array(guard.WORDS, np.uint64),
)


@pytest.fixture
def looked_at_anew():
    """The guard looks once in a process; here it looks again, and afterwards too."""
    check_arithmetic.cache_clear()
    yield
    check_arithmetic.cache_clear()


def test_the_words_that_are_expected_are_those_of_threefry_in_plain_integers():
    words = [threefry((0, 0), (0, count)) for count in range(4)]
    assert [(upper << 32) | lower for upper, lower in words] == list(guard.WORDS)


def test_this_session_computes_as_promised():
    assert list(faults(guard.answers())) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sum_in_order": np.float64(1.0)}, "order in which they are written"),
        ({"nan_times_zero": np.float64(0.0)}, "order in which they are written"),
        ({"product_32": np.float32(64.0)}, "32-bit matrices are taken with fewer digits"),
        ({"product_64": np.float64(np.float32(EXACT))}, "64-bit matrices are taken with fewer"),
        ({"words": np.array(guard.WORDS, np.uint64)[::-1]}, "gives other random numbers"),
        ({"words": np.array(guard.WORDS, np.uint64) + 1}, "gives other random numbers"),
    ],
)
def test_other_arithmetic_stops_a_run_before_it_begins(
    changed, said, looked_at_anew, monkeypatch, store
):
    monkeypatch.setattr(guard, "answers", lambda: RIGHT._replace(**changed))
    with pytest.raises(PlanError, match=f"nothing is run in this session.*{said}"):
        ps.run(toys.study, "quadratic")


def test_the_variable_that_is_to_blame_is_named(looked_at_anew, monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    monkeypatch.setattr(guard, "answers", lambda: RIGHT._replace(product_32=np.float32(64.0)))
    with pytest.raises(PlanError, match=r"The environment has .*NVIDIA_TF32_OVERRIDE=1: unset it"):
        check_arithmetic()


def test_fast_math_of_the_compiler_is_found_by_what_it_does(tmp_path):
    command = "from phasescope.cli.app import main; main()"
    words = ["run", "linear_modes", "logistic", "--store", str(tmp_path)]
    flags = {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}
    done = subprocess.run(
        [sys.executable, "-c", command, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | flags,
    )
    assert (done.returncode, "(fast math)" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
