"""Sizes that cannot fit are refused in one sentence before they are tried, and work that would not end is announced."""

from __future__ import annotations

import sys
import time
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.cli import app as cli
from phasescope.engine import memory
from phasescope.engine.job import Job
from phasescope.engine.memory import in_units
from phasescope.errors import PlanError, SpecError, StoreError
from phasescope.store import Store
from phasescope.verbs import execute as carrying_out
from phasescope.verbs import sizes
from phasescope.verbs.context import Context
from phasescope.verbs.expected import duration
from phasescope.verbs.outlook import Outlook
from phasescope.verbs.run import find_or_run
from phasescope.verbs.sizes import certain_records


@pytest.fixture
def nothing_runs(monkeypatch):
    """Whatever would be compiled is an error."""

    def refuse(*_, **__):
        raise AssertionError("it was tried")

    monkeypatch.setattr(carrying_out, "execute", refuse)


@pytest.fixture
def small_machine(monkeypatch, nothing_runs):
    """A machine of a hundred thousand bytes."""
    monkeypatch.setattr(sizes, "machine_bytes", lambda: 100_000)
    monkeypatch.setattr(sizes, "device_bytes", lambda: 100_000)


# --- what is refused by its shapes ---------------------------------------------------------------------------------


def test_a_state_that_does_not_fit_is_refused_before_anything_is_compiled(nothing_runs):
    with pytest.raises(PlanError, match=r"toys\.quadratic: the state takes at least 32 TB of mem"):
        ps.run(toys.study, "quadratic", width=2 * 10**12, store=False)


def test_records_that_do_not_fit_are_refused(small_machine):
    with pytest.raises(PlanError, match=r"what is recorded takes at least 240 kB.*fewer times"):
        ps.run(toys.study, "quadratic", steps=10_000, store=False)


def test_records_that_fit_are_let_be(small_machine):
    with pytest.raises(AssertionError, match="it was tried"):
        ps.run(toys.study, "quadratic", steps=1_000, store=False)


def test_records_that_the_store_would_not_keep_are_refused_before_they_are_made(
    store, nothing_runs
):
    job = Job(toys.quadratic, toys.study.spec)
    with pytest.raises(StoreError, match="cannot store a run of"):
        find_or_run(toys.study, job, Context(Store(store, limit=500)))


def test_a_stage_that_may_end_early_counts_no_records():
    spec = toys.study.spec
    counts = [certain_records(Job(arm, spec)) for arm in (toys.quadratic, toys.until_small)]
    asked = certain_records(Job(toys.quadratic, spec, at=(1.0, 2.0)))
    assert (*counts, asked) == (41, 1, 2)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"seeds": 10**12}, "seeds are one or more different numbers from 0 to 4294967295"),
        ({"seeds": 4 * 10**9}, "a sweep of 4000000000 runs takes at least 3.94 TB of memory"),
        ({"eta": [0.1, 0.2], "block": 10**10}, "a block of 10000000000 lanes takes at least"),
        ({"eta": np.linspace(0.1, 0.2, 10**6), "seeds": 10**5}, "a sweep of 100000000000 runs"),
        ({"at": np.broadcast_to(1.0, 10**9)}, "recorded at 10000000 times at most, got 1000000000"),
        ({"at": ps.linear_times(40, 10**9)}, "recorded at 10000000 times at most, got 1000000000"),
    ],
)
def test_a_sweep_that_does_not_fit_is_refused_before_it_is_laid_out(asked, words, nothing_runs):
    with pytest.raises((SpecError, PlanError), match=words):
        ps.sweep(toys.study, "quadratic", store=False, **asked)


@pytest.mark.parametrize("text", ["0:4:1000000000", "1:4:10000001:log"])
def test_a_long_range_on_a_command_line_is_refused_before_it_is_laid_out(text):
    from phasescope.cli.arguments import axis

    with pytest.raises(SpecError, match="values; a range has 10000000 at most"):
        axis(text, "--at")


# --- what a plan asks for while it is made -------------------------------------------------------------------------


def greedy(spec):
    """An arm whose plan asks for a table that no machine holds."""
    np.ones((2**20, 2**20, 2**10))
    return toys.quadratic(spec)


def greedy_start(spec):
    """An arm whose program asks for such a table while it is traced."""

    def begin(key):
        np.ones((2**20, 2**20, 2**10))
        return toys.begin(spec)(key)

    return ps.Plan(begin, toys.quadratic(spec).stages, toys.measure)


@pytest.mark.parametrize("arm", [greedy, greedy_start])
def test_a_plan_that_asks_for_too_much_is_one_sentence_with_the_line(arm, nothing_runs):
    with pytest.raises(
        PlanError,
        match=rf"{arm.__name__}: its plan takes more than half .*np.ones.*Ask for a smaller size\.",
    ):
        ps.run(toys.study, arm, store=False)


@pytest.mark.skipif(memory.resource is None or memory.free_bytes() is None, reason="no limits here")
def test_a_plan_is_made_under_a_limit_that_is_taken_away_again():
    data = memory.resource.RLIMIT_DATA
    before = memory.resource.getrlimit(data)
    with memory.within_memory("arm"), memory.within_memory("arm"):
        inside = memory.resource.getrlimit(data)
    assert (inside != before, memory.resource.getrlimit(data)) == (True, before)


def test_a_limit_of_the_session_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    with memory.within_memory("arm"):
        pass


def test_a_program_that_finds_no_memory_is_one_sentence():
    import jax

    with (
        pytest.raises(
            PlanError, match=r"arm: its program found no more memory: RESOURCE_EXHAUSTED"
        ),
        memory.out_of_memory_named("arm"),
    ):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")


def test_another_fault_of_a_program_is_left_as_it_is():
    import jax

    with (
        pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"),
        memory.out_of_memory_named("arm"),
    ):
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")


def test_memory_that_runs_out_anywhere_is_one_line_and_exit_code_2(monkeypatch, capsys):
    def ask():
        raise MemoryError

    monkeypatch.setattr(cli, "app", ask)
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n"), "more memory than there is" in said) == (2, 1, True)


def test_what_a_batch_system_allows_is_what_there_is(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("1000000\n")
    monkeypatch.setattr(memory, "GROUP_LIMITS", (limit, tmp_path / "none"))
    allowed = memory.machine_bytes()
    limit.write_text("max\n")
    assert (allowed, memory.machine_bytes() != 1_000_000) == (1_000_000, True)


@pytest.mark.parametrize(
    ("size", "words"), [(17, "17 bytes"), (2.5e10, "25 GB"), (8e12, "8 TB"), (5e18, "5 EB")]
)
def test_bytes_are_said_as_people_say_them(size, words):
    assert in_units(size) == words


# --- what would not end --------------------------------------------------------------------------------------------


def test_a_run_that_would_take_years_says_so_once_while_it_goes_on(monkeypatch):
    now = iter(range(0, 60, 3))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    outlook = Outlook(Context(), "toys.walk", toys.walk(toys.study.spec), 1e12)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(12):
            outlook.after(90.0)
    [only] = [str(warning.message) for warning in said]
    assert only.startswith("toys.walk: at its present pace it has 1.06e+03 years to go.")


@pytest.mark.filterwarnings("error")
def test_a_run_that_ends_soon_says_nothing(monkeypatch):
    now = iter(range(0, 60, 3))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    outlook = Outlook(Context(), "toys.walk", toys.walk(toys.study.spec), 1e4)
    for _ in range(12):
        outlook.after(90.0)


@pytest.mark.filterwarnings("error")
def test_the_first_small_steps_of_a_flow_foretell_nothing(monkeypatch):
    now = iter(range(0, 60, 3))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    outlook = Outlook(Context(), "toys.cubic_flow", toys.cubic_flow(toys.study.spec), 1e12)
    for _ in range(12):
        outlook.after(90.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "3 s"), (600, "10 min"), (36000, "10.0 h"), (864000, "10 days"), (3.2e9, "101 years")],
)
def test_a_duration_is_said_as_people_say_it(seconds, words):
    assert duration(seconds) == words


# --- what would never end -------------------------------------------------------------------------------------------


def many_steps(spec):
    """Recorded at few of its steps."""
    step = lambda w, t, key: w
    return toys.plan(spec, ps.iterate(step), ps.log_times(spec.steps, 10))


def test_more_steps_than_any_machine_takes_are_refused_at_once(nothing_runs):
    with pytest.raises(
        PlanError, match=r"many_steps: 4e\+18 steps would never end: ask for 1e\+15"
    ):
        ps.run(toys.study, many_steps, steps=4 * 10**18, store=False)


def long_flow(spec):
    """As far as the step size says."""
    return toys.plan(spec, ps.flow(lambda w: -w), ps.linear_times(spec.eta, 2))


def test_a_flow_that_no_solver_follows_is_refused_at_once(nothing_runs):
    with pytest.raises(PlanError, match=r"long_flow: a flow to 1e\+300 would never end"):
        ps.run(toys.study, long_flow, eta=1e300, at=[0.0, 1.0], store=False)


def far_formula(spec):
    """As far as the step size says, by a closed form."""
    return toys.plan(
        spec, ps.formula(lambda t: jnp.ones(spec.width) / t), ps.linear_times(spec.eta, 2)
    )


def test_a_closed_form_is_asked_for_at_any_time():
    found = ps.run(toys.study, far_formula, eta=1e120, at=[1e120], store=False)
    np.testing.assert_allclose(found.weight.isel(time=-1), 1e-120)


def whole_flow(spec):
    """A flow whose last time is a whole number."""
    return toys.plan(spec, ps.flow(lambda w: -w), ps.linear_times(3, 9))


def test_a_flow_up_to_a_whole_number_does_not_lose_record_times_in_silence(nothing_runs):
    with pytest.raises(
        PlanError, match=r"linear_times\(3, 9\), which has 3 times.*linear_times\(3\.0, 9\)"
    ):
        ps.run(toys.study, whole_flow, store=False)


# --- on the command line -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "run lazy_to_rich high_dimensional --preset tiny dim=1000000",
            "the state takes at least 16 TB of memory",
        ),
        ("run regular_language symmetric --preset tiny steps=1e30", "too large for a number of 64"),
        ("sweep regular_language symmetric --preset tiny lam=2:3:1000000000000", "values; a range"),
        (
            "sweep regular_language symmetric --preset tiny --seeds 1000000000000",
            "seeds are one or",
        ),
        ("sweep regular_language symmetric --preset tiny --block 100000000 lam=2,3", "a block of"),
        ("run regular_language symmetric --preset tiny --at 0:4:1000000000", "values; a range"),
    ],
)
def test_a_size_that_cannot_fit_is_one_line_and_exit_code_2(
    words, sentence, store, nothing_runs, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["phasescope", *words.split()])
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr().err.strip()
    assert (end.value.code, sentence in said, said.count("\n")) == (2, True, 0)
