"""Sweeps that are killed, that fill a real file system, or that two machines share: nothing is lost or half-visible."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import slow
from toys import same_bits

import phasescope as ps
from phasescope.errors import StoreError
from phasescope.store import Store

BLOCKS = 40
KILLS = 10  # in a trial; `make full` has twenty trials
TRIALS = [pytest.param(trial, marks=pytest.mark.full if trial else ()) for trial in range(20)]


def swept(store: Path | bool, seeds: int = BLOCKS):
    return ps.sweep(
        slow.study, "wander", steps=4000, seeds=seeds, block=1, store=store, progress=False
    )


def when_written(store: Path) -> dict[str, int]:
    """The runs that can be seen, each with the moment at which it was written."""
    written = {}
    for entry in Store(store).entries():
        written[entry.id] = (store / entry.folder / "run.json").stat().st_mtime_ns
    return written


def check_survivors(store: Path, before: dict[str, int]) -> dict[str, int]:
    """Every run that can be seen is whole, and none that was there was lost or computed again."""
    entries, problems = Store(store).survey()
    assert problems == []
    now = when_written(store)
    assert {id: now.get(id) for id in before} == before
    for entry in entries:
        if entry.id not in before:
            Store(store).load(entry)  # verifies every hash
    return now


# --- killed ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", TRIALS)
def test_a_sweep_that_is_killed_at_any_moment_loses_no_finished_block(trial, tmp_path):
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["phasescope.verbs.sweep", "zarr"])
    chance = random.Random(trial)
    done = inside_a_write = sweeps = 0
    while done < KILLS:
        store = tmp_path / f"store-{sweeps}"
        seen: dict[str, int] = {}
        exitcode = None
        while exitcode != 0:
            process = processes.Process(target=slow.sweep_on, args=(str(store), BLOCKS))
            process.start()
            before = len(seen)
            deadline = chance.uniform(0, 0.5)
            while process.is_alive() and len(list(store.glob("slow/wander/*/run.json"))) <= before:
                process.join(0.002)
            process.join(deadline if done < KILLS else None)
            process.kill()
            process.join()
            exitcode = process.exitcode
            assert exitcode in (0, -signal.SIGKILL)
            done += exitcode != 0
            inside_a_write += bool(list(store.glob("slow/wander/.*.part")))
            seen = check_survivors(store, seen)
        assert len(seen) == BLOCKS
        assert same_bits(swept(store), swept(False))
        found = Store(store).repair()
        assert (found.checked, found.damaged, Store(store).unfinished()) == (BLOCKS, [], [])
        assert list(store.glob("slow/wander/.*.part")) == []
        shutil.rmtree(store)
        sweeps += 1
    print(f"{done} kills in {sweeps} sweeps, {inside_a_write} of them inside a write")


# --- a file system that is full, or may only be read -----------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 300 kB, and a function that mounts it anew with other options."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system needs the rights of root")
    try:
        yield (
            place,
            lambda options: subprocess.run(
                ["mount", "-o", f"remount,{options}", str(place)], check=True
            ),
        )
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_sweep_that_fills_its_file_system_goes_on_when_there_is_room(small_disk):
    place, mount_with = small_disk
    store = place / "store"
    with pytest.raises(StoreError, match=r"No space left on device.*--store"):
        swept(store)
    seen = check_survivors(store, {})
    assert 0 < len(seen) < BLOCKS
    mount_with("size=64m")
    assert same_bits(swept(store), swept(False))
    assert len(check_survivors(store, seen)) == BLOCKS
    assert Store(store).repair().damaged == []


def test_a_store_on_a_file_system_that_may_only_be_read_is_read_and_nothing_more(small_disk):
    place, mount_with = small_disk
    store = place / "store"
    first = swept(store, seeds=2)
    mount_with("ro")
    assert same_bits(swept(store, seeds=2), first)
    with pytest.raises(StoreError, match="Read-only file system"):
        swept(store, seeds=3)
    mount_with("rw")
    assert same_bits(swept(store, seeds=3), swept(False, seeds=3))


# --- two machines ---------------------------------------------------------------------------------------------------

MACHINE = """
import socket, sys
sys.path.insert(0, sys.argv[1])
socket.sethostname(sys.argv[2])
import slow
from phasescope.store.drafts import Draft
finish = Draft.finish
def told(draft, *args, **kwargs):  # whoever has computed a block finishes it
    with open(sys.argv[5], "a") as log:
        log.write(sys.argv[2] + " " + draft.folder.name + "\\n")
    return finish(draft, *args, **kwargs)
Draft.finish = told
slow.sweep_on(sys.argv[3], int(sys.argv[4]))
"""


def machine(name: str, store: Path) -> subprocess.Popen:
    """The sweep in a process with a host name and numbers of processes of its own, as on another machine.

    What it computes it writes down in the file `computed` beside the store.
    """
    alone = ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
    log = store.with_name("computed")
    words = [str(Path(slow.__file__).parent), name, str(store), str(BLOCKS), str(log)]
    return subprocess.Popen(
        [*alone, sys.executable, "-c", MACHINE, *words], stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def machines():
    """Whether processes can have names and numbers of their own here."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        trial = ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "true"]
        subprocess.run(trial, check=True, capture_output=True)
        if os.geteuid() == 0:
            return
    pytest.skip("a host name of its own needs the rights of root")


def test_two_machines_that_share_a_folder_compute_each_block_once(machines, tmp_path):
    store = tmp_path / "store"
    both = [machine(name, store) for name in ("one", "two")]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    computed = [line.split()[1] for line in (tmp_path / "computed").read_text().splitlines()]
    assert sorted(computed) == sorted(Path(id).name for id in when_written(store))
    assert len(computed) == BLOCKS
    assert same_bits(swept(store), swept(False))
    assert Store(store).repair().damaged == []


def test_a_machine_that_dies_leaves_its_sweep_to_the_other(machines, tmp_path):
    store = tmp_path / "store"
    first, second = machine("one", store), machine("two", store)
    while first.poll() is None and not list(store.glob("slow/wander/*/run.json")):
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(0.01)
    first.kill()
    first.communicate()
    said = second.communicate(timeout=300)[1]
    assert second.returncode == 0, said
    assert same_bits(swept(store), swept(False))
    assert Store(store).repair().damaged == []
