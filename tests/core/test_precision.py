"""What a run pins: whatever a session has set, the numbers are the same, and the session keeps what it has set."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
import warnings

import equinox as eqx
import equinox._errors as equinox_errors
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import toys
import xarray as xr

import phasescope as ps
from phasescope.engine import calls as schedule
from phasescope.engine import loop as engine
from phasescope.engine.calls import Call, Pace
from phasescope.engine.job import Job, observed
from phasescope.engine.precision import exact_numbers
from phasescope.engine.programs import advance_stage_jit, begin_run_jit, enter_stage_jit
from phasescope.errors import RunDiverged
from phasescope.store import Store
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run
from phasescope.verbs.sweep_layout import default_width

# What a user may have set, as the environment and as JAX spell it.
STRICT = {
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_RANDOM_SEED_OFFSET": "7",
}
SETTINGS = {
    "another generator": lambda: jax.threefry_partitionable(False),
    "another family of generators": lambda: jax.default_prng_impl("rbg"),
    "strict types": lambda: jax.numpy_dtype_promotion("strict"),
    "strict ranks": lambda: jax.numpy_rank_promotion("raise"),
    "64 bits": lambda: jax.enable_x64(True),
}


@contextlib.contextmanager
def all_of(settings):
    with contextlib.ExitStack() as stack:
        for setting in settings:
            stack.enter_context(setting())
        yield


def numbers(study, arm, **changes) -> dict[str, str]:
    """The digits of a run, by the name of the variable."""
    ds = ps.run(study, arm, store=False, **changes)
    return {
        str(name): np.ascontiguousarray(v.values).tobytes().hex()
        for name, v in ds.variables.items()
    }


def promoting(spec):
    """Descent whose plan on the host mixes types and ranks, and whose `init` uses the default generator."""

    mixed = jnp.ones((2, 2)) * jnp.arange(2, dtype=jnp.int32)
    start = lambda key: mixed[0] + jr.normal(jr.key(3), (2,)) + jr.normal(key, (2,))
    plan = toys.quadratic(spec)
    twice = lambda ds: ds.assign(
        twice=("time", np.asarray(jnp.asarray(ds.time.values) * jnp.ones(1, jnp.int32)))
    )
    return dataclasses.replace(plan, init=start, derive=twice)


# --- the session does not change the numbers ------------------------------------------------------------------------


def test_the_environment_does_not_change_the_numbers():
    script = """
import json, sys
import test_precision as here, toys
print(json.dumps([here.numbers(toys.study, "sampled"), here.numbers("scan_and_snap", "sampled", preset="tiny")]))
"""
    place = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | STRICT | {"PYTHONPATH": place},
    )
    assert done.returncode == 0, done.stderr
    here = [numbers(toys.study, "sampled"), numbers("scan_and_snap", "sampled", preset="tiny")]
    assert json.loads(done.stdout) == here


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_the_session_does_not_change_the_numbers(name):
    plain = numbers(toys.study, promoting)
    with SETTINGS[name]():
        assert numbers(toys.study, promoting) == plain


def test_lanes_and_the_width_of_blocks_are_those_of_a_plain_session():
    plain = ps.sweep(toys.study, "sampled", eta=[0.1, 0.2], seeds=3, store=False)
    width = default_width(Job(promoting, toys.study.spec), 6)
    with all_of(SETTINGS.values()):
        assert default_width(Job(promoting, toys.study.spec), 6) == width
        assert toys.same_bits(
            ps.sweep(toys.study, "sampled", eta=[0.1, 0.2], seeds=3, store=False), plain
        )


def test_what_is_observed_is_asked_with_the_numbers_of_a_run():
    with all_of(SETTINGS.values()):
        assert observed(Job(promoting, toys.study.spec)) == (toys.Seen, None)


def test_tables_and_checks_are_computed_with_the_numbers_of_a_run():
    def table():
        return jnp.ones((2, 2)) * jnp.arange(2, dtype=jnp.int32)

    def mixed():
        return xr.Dataset({"x": (("a", "b"), np.asarray(table()))})

    @ps.claim("Lemma 2", ps.tables(mixed))
    def is_right(ds):
        """The numbers have 64 bits, in the table and in the check."""
        return ps.at_least(float(ds.x.dtype.itemsize + table().dtype.itemsize), 16.0)

    study = ps.Study("mixed", toys.Spec(), (toys.quadratic,), (is_right,))
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        [row] = ps.check(study, store=False)
    assert (row.outcome, row.error) == ("holds", False)


class StopsAt:
    """A meter at whose n-th tick somebody presses Ctrl-C; 0: never."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    @contextlib.contextmanager
    def __call__(self, label, total):
        def tick(amount):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        yield tick


@pytest.mark.parametrize("first", [True, False])
def test_a_run_resumed_under_another_setting_ends_as_an_unbroken_one(first, store, monkeypatch):
    monkeypatch.setattr(engine, "pace", Pace())
    monkeypatch.setattr(schedule, "FIRST_BUDGET", 3)
    monkeypatch.setattr(schedule, "TARGET_SECONDS", 0.0)
    job = Job(toys.sampled, toys.Spec())
    with jax.threefry_partitionable(first), pytest.raises(KeyboardInterrupt):
        find_or_run(toys.study, job, Context(Store(store), StopsAt(4)))
    with jax.threefry_partitionable(not first):
        ds = find_or_run(toys.study, job, Context(Store(store))).dataset
    assert toys.same_bits(ds, find_or_run(toys.study, job, Context()).dataset)


# --- and the run does not change the session ------------------------------------------------------------------------


def session() -> tuple:
    settings = (
        "jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl", "jax_threefry_partitionable",
        "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion", "jax_random_seed_offset", "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes",
    )  # fmt: skip
    return (equinox_errors.EQX_ON_ERROR, *(getattr(jax.config, name) for name in settings))


def test_a_session_keeps_its_settings_during_and_after_a_run():
    seen = []

    @contextlib.contextmanager
    def meter(label, total):
        yield lambda amount: seen.append(session())

    with all_of(SETTINGS.values()):
        before = session()
        find_or_run(toys.study, Job(toys.sampled, toys.Spec()), Context(meter=meter))
        assert {before, *seen} == {before}
        assert session() == before


def test_another_thread_keeps_its_settings_of_jax_while_a_run_is_inside():
    plain, found = session(), []
    with exact_numbers():
        thread = threading.Thread(target=lambda: found.append(session()))
        thread.start()
        thread.join()
    assert found[0][1:] == plain[1:]


def test_a_run_that_fails_leaves_the_session_as_it_was():
    def broken(spec):
        """An arm that cannot be built."""
        raise ValueError("broken")

    before = session()
    with pytest.raises(ValueError, match="broken"):
        ps.run(toys.study, broken, store=False)
    assert session() == before


# --- a solver's complaint -------------------------------------------------------------------------------------------


def complaining(spec):
    """A step that equinox is told to refuse from 1 on."""
    step = lambda w, t, key: eqx.error_if(w + 0.5, w > 1, "too large")
    return toys.plan(spec, ps.iterate(step), ps.linear_times(4))


@pytest.mark.parametrize("setting", ["raise", "off", "nan"])
def test_a_complaint_ends_a_run_as_a_divergence_whatever_equinox_is_set_to(setting, monkeypatch):
    monkeypatch.setattr(equinox_errors, "EQX_ON_ERROR", setting)
    with pytest.raises(RunDiverged):
        ps.run(toys.study, complaining, store=False, start=1.0)
    assert setting == equinox_errors.EQX_ON_ERROR


def test_threads_that_overlap_do_not_undo_each_other(monkeypatch):
    monkeypatch.setattr(equinox_errors, "EQX_ON_ERROR", "raise")
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with exact_numbers():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait(60)
    with exact_numbers():
        pass
    still = equinox_errors.EQX_ON_ERROR
    leave.set()
    thread.join()
    assert (still, equinox_errors.EQX_ON_ERROR) == ("nan", "raise")


@pytest.mark.parametrize("arm", [toys.cubic_flow, complaining])
def test_the_program_of_a_run_calls_nothing_on_the_host(arm, monkeypatch):
    monkeypatch.setattr(equinox_errors, "EQX_ON_ERROR", "raise")
    job = Job(arm, toys.Spec())
    with exact_numbers(), warnings.catch_warnings():
        inputs = job.inputs()
        state = enter_stage_jit(job.program, inputs, begin_run_jit(job.program, inputs)[0])
        times = job.plan().stages[0].lay_out()[:2]
        marks = np.ones(1, bool)
        call = Call(starts=times[:1], stops=times[1:], is_record=marks, asks_until=marks)
        program = advance_stage_jit.lower(job.program, inputs, state, job.nobody_done(), call)
    assert "callback" not in program.as_text()
