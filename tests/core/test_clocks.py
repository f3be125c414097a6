"""What a clock or a calendar says is no part of a run: neither of its name nor of its numbers."""

from __future__ import annotations

import datetime
import os
import time

import pytest
import toys
from toys import same_bits

import phasescope as ps
from phasescope.store import Store


@pytest.fixture(params=["UTC", "Pacific/Kiritimati", "America/St_Johns"])
def zone(request, monkeypatch):
    """A time zone; others are up to a day apart from it."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system sets no time zone")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_a_run_has_one_name_and_one_date_in_every_time_zone(zone, store):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    ds = ps.run(toys.study, "walk", seed=5)
    [entry] = Store(store).entries()
    made = datetime.datetime.fromisoformat(entry.created)
    elsewhere = ps.run(toys.study, "walk", seed=5, store=False)
    assert (ds.attrs["id"], same_bits(ds, elsewhere)) == (elsewhere.attrs["id"], True)
    assert before <= made <= datetime.datetime.now(datetime.UTC)
    assert made.utcoffset() == datetime.timedelta(0)


def test_a_clock_that_is_set_back_while_a_run_is_at_work_changes_nothing(store, monkeypatch):
    unbroken = ps.run(toys.study, "walk", seed=6, store=False)
    now = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))
    ds = ps.run(toys.study, "walk", seed=6)
    found = ps.run(toys.study, "walk", seed=6)
    assert (same_bits(ds, unbroken), found.attrs["id"]) == (True, unbroken.attrs["id"])
    assert Store(store).repair().damaged == []


@pytest.mark.parametrize("seconds", [0, 2**31 + 10**6], ids=["1970", "after 2038"])
def test_files_with_a_date_of_another_age_are_found_and_sound(store, seconds):
    ds = ps.run(toys.study, "walk", seed=7)
    Store(store).entries()  # the index remembers the dates that the files have now
    for file in store.rglob("*"):
        os.utime(file, (seconds, seconds))
    ps.run(toys.study, "walk", seed=8)
    [first, second] = sorted(Store(store).entries(), key=lambda entry: entry.seed)
    assert (first.seed, second.seed) == (7, 8)
    assert same_bits(ps.run(toys.study, "walk", seed=7), ds)
    assert Store(store).repair().damaged == []
