"""Kill a worker, the scheduler or the client at any time: the same command goes on. A poisoned block stands alone."""

from __future__ import annotations

import collections
import concurrent.futures as futures
import contextlib
import datetime
import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import toys
from dask_processes import PATIENCE, Processes, kill, wait_until
from dask_processes import STUDY as FILE

import phasescope as ps
from phasescope.cluster import addresses, watch
from phasescope.cluster.failures import TimeLimit
from phasescope.store import Store
from phasescope.store.mark import make_mark
from phasescope.verbs.context import Context
from phasescope.verbs.received_block import Parcel, run_parcel
from phasescope.verbs.run import run_identity
from phasescope.verbs.sweep_layout import lay_out

STUDY = str(FILE)
WIDTHS = list(range(1, 9))
VICTIMS = ("worker", "client", "scheduler")


def stored(store: Path) -> dict[int, Path]:
    """The finished blocks by their width."""
    return {entry.spec["width"]: entry.folder / "run.json" for entry in Store(store).entries()}


def at_least(store: Path, count: int, client) -> None:
    enough = lambda: len(stored(store)) >= count or client.poll() is not None
    wait_until(enough, f"{count} blocks")


# --- killed at seeded moments ---------------------------------------------------------------------------------------


def killed_again_and_again(folder: Path, seed: int) -> tuple[Path, Path, list[tuple[int, str]]]:
    """A sweep whose worker, client and scheduler are killed, in an order and at moments that the seed chooses.

    Returns the store, what workers began, and how every client but the killed one ended.
    """
    chance = random.Random(seed)
    victims = chance.sample(VICTIMS, 3)
    store = folder / "store"
    words = [f"width={','.join(map(str, WIDTHS))}", "eta=0.1,0.2,0.3", "pause=0.3", "--block", "4"]
    ends: list[tuple[int, str]] = []
    enough = itertools.count(1)
    with Processes(folder) as cluster:
        while len(ends) < 2:  # one end with the scheduler lost, and one that is left alone
            scheduler = cluster.start_scheduler()
            for _ in range(3):
                cluster.start_worker()
            client = cluster.start_client(store, *words)
            for part in iter(lambda: victims.pop(0) if victims else "none", "none"):
                at_least(store, next(enough), client)
                time.sleep(chance.uniform(0, 0.5))
                if part == "worker":
                    victim = cluster.workers.pop(chance.randrange(3))
                    kill(victim, chance.choice([signal.SIGKILL, signal.SIGTERM]))
                    cluster.start_worker()
                    continue
                kill(client if part == "client" else scheduler)
                break
            if was_left(client):
                _, said = client.communicate(timeout=PATIENCE)
                ends.append((client.returncode, said))
            kill(scheduler)
            cluster.kill_workers()
    return store, cluster.log, ends


def was_left(client: subprocess.Popen[str]) -> bool:
    """Whether the client was not the one that was killed."""
    return client.stderr is not None and not client.stderr.closed


SEEDS = (2026, 2028, 2029)  # the orders of the kills: all three differ


@pytest.fixture(scope="module", params=SEEDS)
def survivor(request, tmp_path_factory):
    return killed_again_and_again(tmp_path_factory.mktemp("killed"), seed=request.param)


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return in_one_process(tmp_path_factory.mktemp("serial"))


def in_one_process(store: Path):
    """The same sweep by threads; what the store has is read from it. A width that is given asks no arm for its size."""
    return ps.sweep(
        STUDY, "wander", width=WIDTHS, eta=[0.1, 0.2, 0.3], pause="0.3", block=4, store=store
    )


def begun_after_stored(store: Path, log: Path) -> list[int]:
    """Blocks that somebody began when they had been stored already."""
    done = {width: file.stat().st_mtime for width, file in stored(store).items()}
    begun = [line.split() for line in log.read_text().splitlines()]
    return [int(width) for width, moment in begun if float(moment) > done[int(width)]]


def test_a_sweep_whose_parts_were_killed_one_after_the_other_gives_the_serial_digits(
    survivor, serial
):
    assert sorted(stored(survivor[0])) == WIDTHS
    assert toys.same_bits(in_one_process(survivor[0]), serial)


def test_the_seeds_kill_in_three_orders():
    orders = {tuple(random.Random(seed).sample(VICTIMS, 3)) for seed in SEEDS}
    assert len(orders) == len(SEEDS)


GRACE = 30.0  # seconds that a batch system leaves between SIGTERM and SIGKILL


def test_a_worker_that_is_told_to_end_goes_within_its_grace_and_loses_one_block_at_most(tmp_path):
    store = tmp_path / "store"
    words = ["width=1,2,3,4", "pause=0.5", "steps=20000"]
    with Processes(tmp_path) as cluster:
        cluster.start_scheduler()
        victim = cluster.start_worker()
        client = cluster.start_client(store, *words)
        wait_until(lambda: cluster.log.exists() and bool(cluster.log.read_text()), "a block")
        cluster.start_worker()
        victim.send_signal(signal.SIGTERM)
        victim.wait(GRACE)
        _, said = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, said
    assert sorted(stored(store)) == [1, 2, 3, 4]
    assert begun_after_stored(store, cluster.log) == []
    begun = collections.Counter(line.split()[0] for line in cluster.log.read_text().splitlines())
    once = min(begun.values())  # lines that a block writes when it is begun once
    assert sum(begun.values()) <= 5 * once
    numbers = {"width": [1, 2, 3, 4], "pause": "0.5", "steps": 20000}
    swept = ps.sweep(STUDY, "wander", store=store, **numbers)
    assert toys.same_bits(swept, ps.sweep(STUDY, "wander", store=tmp_path / "serial", **numbers))


def test_no_finished_block_is_computed_again(survivor):
    store, log, _ = survivor
    assert begun_after_stored(store, log) == []
    assert len(log.read_text().splitlines()) >= len(WIDTHS)


def test_a_lost_scheduler_says_in_one_line_what_to_do_and_the_next_command_ends_well(survivor):
    (lost, said), (last, _) = survivor[2]
    if lost == 0:  # the kill came when all was done
        pytest.skip("the sweep was faster than its killer")
    assert (last, said.count("\n")) == (0, 1), said
    if "no scheduler answers" in said:  # the kill came before the client had reached it
        assert lost == 2
    else:
        assert lost == 7, said
        assert "of 8 blocks are stored; run the same command again." in said


@pytest.mark.full  # the same story with other moments
@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_moment_of_the_kills_the_digits_are_the_serial_ones(seed, serial, tmp_path):
    store, log, ends = killed_again_and_again(tmp_path, seed)
    assert (ends[-1][0], begun_after_stored(store, log)) == (0, [])
    assert toys.same_bits(in_one_process(store), serial)


# --- poison ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory):
    """A sweep on three local workers with a block that crashes, one that never ends, and one without memory."""
    import psutil

    store = tmp_path_factory.mktemp("poisoned") / "store"
    me = psutil.Process()
    with ps.workers(3, time_limit=20) as pool:
        family = [me, *me.children(recursive=True)]
        heard = {
            place.laddr.ip
            for process in family
            for place in process.net_connections()
            if place.status == psutil.CONN_LISTEN
        }
        started = [" ".join(process.cmdline()) for process in family[1:]]
        poisons = ["none", "crash", "endless", "memory"]
        with pytest.raises(ps.SweepIncomplete) as caught:
            ps.sweep(STUDY, "wander", poison=poisons, store=store, executor=pool)
    return caught.value, store, heard, started


def test_poisoned_blocks_are_named_with_their_reasons_and_no_others(poisoned):
    found = {block.split()[0]: why for block, why in poisoned[0].failed.items()}
    assert {poison: why.split(":")[0] for poison, why in found.items()} == {
        "poison=crash": "the worker died",
        "poison=endless": "past its time limit of 20 s",
        "poison=memory": "too little memory",
    }
    assert len(poisoned[0].failed) == 3


def test_the_rest_of_a_poisoned_sweep_is_done_and_the_error_carries_it(poisoned, tmp_path):
    error = poisoned[0]
    alone = ps.run(STUDY, "wander", store=tmp_path)
    assert error.dataset is not None
    np.testing.assert_array_equal(error.dataset.weight.sel(poison="none"), alone.weight)
    assert np.isnan(error.dataset.weight.sel(poison=["crash", "endless", "memory"])).all()
    assert "1 of 4 blocks are stored" in str(error) and "\n" not in str(error)


def test_local_workers_listen_on_the_loopback_interface_alone(poisoned):
    assert poisoned[2] == {"127.0.0.1"}


def test_local_workers_are_not_forked(poisoned):
    assert sum("spawn_main" in words for words in poisoned[3]) == 3


def test_the_command_ends_with_7_and_one_line_that_names_what_is_not_done(tmp_path):
    words = [STUDY, "wander", "poison=none,crash", "--workers", "2"]
    command = "from phasescope.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "sweep", *words, "--store", str(tmp_path), "--json"],
        capture_output=True,
        text=True,
    )
    said = [line for line in done.stderr.splitlines() if " on workers " not in line]  # of progress
    assert (done.returncode, done.stdout, said) == (
        7,
        "",
        [
            "SweepIncomplete: poisonous.wander: 1 of 2 blocks are stored. Not done: poison=crash seed=0 (the worker "
            "died: a crash of the code, too little memory, or killed from outside). The same command tries only what is "
            "not stored."
        ],
    )
    assert [entry.spec["poison"] for entry in Store(tmp_path).entries()] == ["none"]


class Starving(futures.Executor):
    """Processes none of which ever has enough memory."""

    def submit(self, *_, **__) -> futures.Future[str]:
        failed: futures.Future[str] = futures.Future()
        failed.set_exception(MemoryError())
        return failed


def test_blocks_that_failed_alike_share_their_reason_and_none_more_is_tried_after_ten(tmp_path):
    with pytest.raises(ps.SweepIncomplete) as caught:
        ps.sweep(STUDY, "wander", width=[*range(1, 13)], store=tmp_path, executor=Starving())
    assert caught.value.dataset is None
    found = re.fullmatch(
        r"poisonous\.wander: 10 blocks failed before any was done, and the others were not tried; 0 of 12 blocks are "
        r"stored\. Not done: ((?:width=\d+ seed=0, ){4}width=\d+ seed=0) and 5 more \(too little memory\)\. "
        r"The same command tries only what is not stored\.",
        str(caught.value),
    )
    assert found is not None, str(caught.value)
    widths = [int(width) for width in re.findall(r"width=(\d+)", found[1])]
    assert widths == sorted(widths)


class Idle(futures.Executor):
    """Processes to which nothing may be sent."""

    def submit(self, *_, **__) -> futures.Future[str]:
        raise AssertionError("a block was sent that the store has")


def test_blocks_that_are_stored_with_all_observables_are_not_sent_for_some_of_them(tmp_path):
    """A worker would find them too, and store nothing, for which the sweep would wait."""
    numbers = {"modes": [1, 2], "store": tmp_path}
    whole = ps.sweep("linear_modes", "logistic", **numbers)
    some = ps.sweep("linear_modes", "logistic", keep=["loss"], executor=Idle(), **numbers)
    assert list(some.data_vars) == ["loss"]
    np.testing.assert_array_equal(some.loss, whole.loss)


def test_an_error_of_the_study_fails_at_once(tmp_path):
    with (
        ps.workers(1) as pool,
        pytest.raises(ZeroDivisionError, match="the study is wrong"),
    ):
        ps.sweep(STUDY, "wander", poison=["broken"], width=WIDTHS, store=tmp_path, executor=pool)


@pytest.mark.full  # takes most of a gigabyte
@pytest.mark.filterwarnings("ignore:the scheduler at .* has no workers yet")
def test_a_block_that_eats_its_workers_memory_is_set_aside(tmp_path):
    with Processes(tmp_path) as cluster:
        cluster.start_scheduler()
        cluster.start_worker("--nanny", "--memory-limit", "900MB")
        with (
            ps.workers(cluster=cluster.address) as pool,
            pytest.raises(ps.SweepIncomplete, match=r"1 of 2 blocks are stored.*poison=hunger"),
        ):
            ps.sweep(STUDY, "wander", poison=["none", "hunger"], store=tmp_path, executor=pool)


def test_a_local_worker_has_its_share_of_the_memory_and_no_more():
    from phasescope.cluster.workers import memory_of_each
    from phasescope.engine.memory import machine_bytes

    assert memory_of_each(3) == machine_bytes() // 3


def test_a_block_that_eats_the_memory_of_a_local_worker_is_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr("phasescope.cluster.workers.memory_of_each", lambda count: 700_000_000)
    with (
        ps.workers(1) as pool,
        pytest.raises(ps.SweepIncomplete, match=r"1 of 2 blocks are stored.*poison=hunger"),
    ):
        ps.sweep(STUDY, "wander", poison=["none", "hunger"], store=tmp_path, executor=pool)


def test_a_broken_pool_says_in_one_line_what_to_do(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    with (
        futures.ProcessPoolExecutor(1, mp_context=spawn) as pool,
        pytest.raises(ps.SweepIncomplete) as caught,
    ):
        ps.sweep(STUDY, "wander", poison=["none", "crash"], store=tmp_path, executor=pool)
    assert "a process of the pool died" in str(caught.value)
    assert "1 of 2 blocks are stored; run the same command again." in str(caught.value)


def test_processes_are_never_forked(tmp_path):
    fork = multiprocessing.get_context("fork")
    with (
        futures.ProcessPoolExecutor(1, mp_context=fork) as pool,
        pytest.raises(ps.PlanError, match="would be forked"),
    ):
        ps.sweep(STUDY, "wander", width=[1, 2], store=tmp_path, executor=pool)


def test_without_a_store_nothing_can_come_back():
    with (
        futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(ps.PlanError, match="bring their results back through the store"),
    ):
        ps.sweep(STUDY, "wander", width=[1, 2], store=False, executor=pool)


# --- what a worker makes sure of ------------------------------------------------------------------------------------


def parcel(store: Path, **changes) -> Parcel:
    study = ps.find(STUDY)
    [task] = lay_out(study, "wander", {"width": 2}).tasks
    digest = run_identity(study, task.job(study, study.arm("wander")), Context()).digest
    known = {"digest": digest, "root": str(store), "mark": make_mark(store)}
    return Parcel(task, STUDY, **known | changes)


def test_a_worker_stores_the_block_and_returns_its_name(tmp_path):
    assert run_parcel(parcel(tmp_path)) == Store(tmp_path).entries()[0].identity.digest


@pytest.mark.parametrize("has_mark", [True, False])
def test_a_worker_with_another_folder_of_that_name_refuses_to_compute(
    tmp_path, monkeypatch, has_mark
):
    monkeypatch.setattr("phasescope.verbs.received_block.SIGHT", 0.0)
    asked = parcel(tmp_path / "asked")
    here = tmp_path / "here"
    here.mkdir()
    if has_mark:
        make_mark(here)
    with pytest.raises(
        ps.StoreError, match=r"does not see the store .* a folder that all workers share"
    ):
        run_parcel(Parcel(asked.task, asked.study, asked.digest, str(here), asked.mark))
    assert Store(here).entries() == []


def test_a_worker_with_other_code_refuses_to_compute(tmp_path):
    with pytest.raises(ps.PlanError, match="has other code of poisonous"):
        run_parcel(parcel(tmp_path, digest="0" * 16))
    assert Store(tmp_path).entries() == []


def test_the_mark_of_a_store_stays(tmp_path):
    assert make_mark(tmp_path) == make_mark(tmp_path)


def test_a_call_past_its_limit_is_told_to_stop():
    told = threading.Event()

    def patient(stop: threading.Event) -> None:
        stop.wait(60)
        told.set()
        raise KeyboardInterrupt

    with pytest.raises(TimeLimit, match="longer than"):
        watch.watched(patient, 0.1)
    assert told.is_set()


def test_a_call_past_its_limit_that_does_not_listen_is_left_behind(monkeypatch):
    monkeypatch.setattr(watch, "GRACE", 0.1)
    with pytest.raises(TimeLimit):
        watch.watched(lambda stop: time.sleep(1.0), 0.1)


def test_a_call_within_its_limit_gives_what_it_gives():
    assert watch.watched(lambda stop: 7, 60.0) == 7


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        ("garbage", ps.SpecError, '"garbage" is no address of a scheduler'),
        ("", ps.SpecError, "is no address of a scheduler"),
        ("tcp://", ps.SpecError, "is no address of a scheduler"),
        ("http://127.0.0.1:80", ps.SpecError, "is no address of a scheduler"),
        ("tcp://127.0.0.1:99999", ps.SpecError, "is no address of a scheduler"),
        ("tcp://me@127.0.0.1:8786", ps.SpecError, "is no address of a scheduler"),
        ("tls://127.0.0.1:8786", ps.SpecError, "give its TLS files"),
        ("127.0.0.1:1", ps.ClusterUnreachable, "no scheduler answers at tcp://127.0.0.1:1"),
        ("tcp://[::1]:1", ps.ClusterUnreachable, "no scheduler answers at"),
        ("tcp://no-such-host.invalid:8786", ps.ClusterUnreachable, "no scheduler answers"),
    ],
)
def test_a_bad_address_is_an_error_at_once(address, error, words):
    began = time.monotonic()
    with pytest.raises(error, match=words), ps.workers(cluster=address):
        pass
    assert time.monotonic() - began < 10


def test_something_else_that_listens_is_no_scheduler(monkeypatch):
    monkeypatch.setattr(addresses, "HANDSHAKE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with (
            pytest.raises(ps.ClusterUnreachable, match="is no scheduler that can be used"),
            ps.workers(cluster=address),
        ):
            pass


def test_a_server_of_something_else_does_not_speak_the_protocol():
    """Dask takes the first bytes of an answer for a size: "Unable to allocate 3.07 EiB" was all that was said."""
    held = []

    def answer(server: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is closed at the end
            while True:
                held.append(server.accept()[0])
                held[-1].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=answer, args=(other,), daemon=True).start()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        words = "is no scheduler that can be used: it does not speak Dask's protocol"
        with pytest.raises(ps.ClusterUnreachable, match=words), ps.workers(cluster=address):
            pass
        other.shutdown(socket.SHUT_RDWR)
    for connection in held:
        connection.close()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "give one of them"),
        ({"count": 2, "cluster": "tcp://127.0.0.1:8786"}, "give one of them"),
        ({"count": 0}, "one or more workers"),
        ({"count": 2, "time_limit": 0.0}, "seconds above 0"),
        ({"count": 2, "time_limit": float("nan")}, "seconds above 0"),
        ({"count": 2, "tls": "keys"}, "TLS files are for a cluster"),
        ({"cluster": "tls://127.0.0.1:8786", "tls": "no/such/folder"}, "is not there"),
        ({"cluster": "tls://127.0.0.1:8786", "tls": {"ca": "x"}}, "three files"),
    ],
)
def test_workers_that_make_no_sense_are_refused(asked, words):
    with pytest.raises(ps.SpecError, match=words), ps.workers(**asked):
        pass


# --- TLS ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    """A folder with a key and a certificate that vouches for itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("secret-keys")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "phasescope tests")])
    today = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    certificate = (
        built.not_valid_before(today - day).not_valid_after(today + day).sign(key, hashes.SHA256())
    ).public_bytes(serialization.Encoding.PEM)
    (folder / "ca.pem").write_bytes(certificate)
    (folder / "cert.pem").write_bytes(certificate)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    return folder


@pytest.mark.filterwarnings("ignore:the scheduler at .* has no workers yet")
def test_an_encrypted_cluster_takes_blocks_and_the_keys_appear_nowhere(keys, tmp_path):
    files = {
        f"--tls-{n}-file" if n == "ca" else f"--tls-{n}": keys / f"{n}.pem"
        for n in ("ca", "cert", "key")
    }
    store = tmp_path / "store"
    with Processes(tmp_path, [str(word) for pair in files.items() for word in pair]) as cluster:
        cluster.start_scheduler()
        cluster.start_worker()
        with ps.workers(cluster=cluster.address, tls=keys) as pool:
            swept = ps.sweep(STUDY, "wander", width=[1, 2], store=store, executor=pool)
    written = b"".join(file.read_bytes() for file in store.rglob("*") if file.is_file())
    assert swept.sizes["width"] == 2
    assert len(stored(store)) == 2
    assert keys.name.encode() not in written + json.dumps(swept.attrs).encode()


def test_a_key_that_does_not_belong_is_said_at_once(keys, tmp_path):
    for name in ("ca.pem", "cert.pem"):
        (tmp_path / name).write_bytes((keys / name).read_bytes())
    (tmp_path / "key.pem").write_text("no key")
    with (
        pytest.raises(
            ps.SpecError, match="cert and key cannot be read, or do not belong"
        ) as caught,
        ps.workers(cluster="tls://127.0.0.1:8786", tls=tmp_path),
    ):
        pass
    assert str(tmp_path) not in str(caught.value)


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--cluster", "garbage"], "is no address of a scheduler"),
        (["--cluster", "tcp://127.0.0.1:1"], "no scheduler answers at tcp://127.0.0.1:1"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "give one of them"),
        (["--tls", "keys"], "are for --cluster"),
        (["--time-limit", "3"], "add --workers N or --cluster"),
        (["--cluster", "tls://127.0.0.1:1", "--tls", "a", "--tls-ca", "b"], "all three files"),
    ],
)
def test_a_bad_flag_is_one_line(flags, words, tmp_path, monkeypatch, capsys):
    from phasescope.cli import app

    asked = ["sweep", STUDY, "wander", "width=1,2", "--store", str(tmp_path), *flags]
    monkeypatch.setattr("sys.argv", ["phasescope", *asked])
    with pytest.raises(SystemExit) as end:
        app.main()
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (2, 1), said
    assert words in said


def test_secrets_of_the_environment_are_in_no_manifest(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY", "/home/me/secret-key.pem")
    run_parcel(parcel(tmp_path))
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"secret-key" not in written
    assert os.environ["DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"]
