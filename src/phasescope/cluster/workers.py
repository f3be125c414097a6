"""workers: processes of this machine, or of a Dask cluster, to carry the blocks of a sweep."""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..engine.memory import machine_bytes
from ..errors import MissingExtra, SpecError
from .addresses import check_address, check_is_scheduler, check_somebody_listens
from .tls import TlsFiles, tls_files

LOOPBACK = "127.0.0.1"
# Workers that may die of a block before it is tried alone; a scheduler that was started elsewhere has its own setting.
DEATHS = 0
FAREWELL = 2.0  # seconds
# No dashboard, and nothing else that answers HTTP; no fork, which would copy the locks of JAX's threads.
LOCAL_SETTINGS = {
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}


class ClusterExecutor(futures.Executor):
    """An executor of a Dask scheduler, with a time limit for each call (in seconds; None: no limit)."""

    def __init__(self, client: Any, where: str, time_limit: float | None) -> None:
        self._inner = client.get_executor(pure=False)
        self.where = where
        self.time_limit = time_limit

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        return self._inner.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._inner.shutdown(wait and not cancel_futures)


@contextlib.contextmanager
def workers(
    count: int | None = None,
    *,
    cluster: str | None = None,
    tls: str | Path | Mapping[str, str | Path] | None = None,
    time_limit: float | None = None,
) -> Iterator[futures.Executor]:
    """Processes to carry the blocks of a sweep: new ones on this machine, or those of a Dask cluster.

        >>> with ps.workers(2) as pool:
        ...     sw = ps.sweep("linear_modes", "logistic", modes=[1, 2], executor=pool)
        >>> sw.modes.values.tolist()
        [1, 2]

    Workers write into the store and send only names back, so all of them must see its folder under the
    same path, and have the same code; each makes sure of both before it computes. Kill a worker, the
    scheduler or this process at any time: the same call goes on with the blocks that are not stored. A
    block that kills its workers, needs too much memory or passes the time limit is set aside until all
    others are stored; then `ps.SweepIncomplete` names it. In a script, call it under
    `if __name__ == "__main__":`. It needs `pip install 'phasescope[cluster]'`.

    **Arguments:**

    - `count`: how many processes to start here, for the time of the `with`. They are started anew and not
      forked, listen on the loopback interface alone, with keys of their own, and have no dashboard.
    - `cluster`: the address of a scheduler in place of it, such as `tcp://10.0.0.1:8786`.
    - `tls`: for an address that begins with `tls://`, a folder with `ca.pem`, `cert.pem` and `key.pem`, or
      these files by the names `ca`, `cert`, `key`.
    - `time_limit`: seconds that a block may take on a worker.

    **Returns:** a context manager of an executor, for `ps.sweep(executor=...)`.

    **Raises:** `SpecError` for what cannot be asked, `ClusterUnreachable` if no scheduler answers,
    `MissingExtra` if Dask is not installed.
    """
    if (count is None) == (cluster is None):
        raise SpecError(
            "workers are a number of processes here, or the address of a cluster: give one of them."
        )
    if time_limit is not None and not (math.isfinite(time_limit) and time_limit > 0):
        raise SpecError(f"a time limit is a number of seconds above 0, got {time_limit}.")
    if cluster is None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise SpecError(f"there are one or more workers, got {count!r}.")
        if tls is not None:
            raise SpecError(
                "TLS files are for a cluster; workers of this machine have keys of their own."
            )
        _check_installed()
        with _local(count) as client:
            yield ClusterExecutor(client, "the local workers", time_limit)
        return
    files = tls_files(tls)
    address = check_address(cluster, files is not None)
    _check_installed()
    check_somebody_listens(address)
    with _remote(address, files) as client:
        yield ClusterExecutor(client, f"the scheduler at {address}", time_limit)


def _check_installed() -> None:
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "workers need the cluster extra: pip install 'phasescope[cluster]'"
        ) from error


@contextlib.contextmanager
def _local(count: int) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster, Security

    with _quiet(), config.set(LOCAL_SETTINGS):
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory_of_each(count),
            host=LOOPBACK,
            security=Security.temporary(),
            scheduler_kwargs={"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"},
            worker_dashboard_address=None,
            preload=["phasescope.cluster.worker_signals"],
            silence_logs=logging.CRITICAL,
        )
        with contextlib.closing(cluster):
            client = Client(cluster, set_as_default=False)
            try:
                yield client
            finally:
                _leave(client)


def memory_of_each(count: int) -> int | str:
    """The bytes that each of some local workers may take: its share of what this process may have.

    A worker beyond it is ended by its nanny, before the system ends whatever it finds. Where nobody says how much memory
    there is, Dask's own share.
    """
    whole = machine_bytes()
    return "auto" if whole is None else whole // count


@contextlib.contextmanager
def _remote(address: str, files: TlsFiles | None) -> Iterator[Any]:
    from distributed import Client, Security

    security = Security() if files is None else files.security()
    with _quiet():
        check_is_scheduler(address, security)
        client = Client(address, security=security, set_as_default=False)
        try:
            if not client.nthreads():
                warnings.warn(
                    f"the scheduler at {address} has no workers yet; blocks wait for them.",
                    stacklevel=4,
                )
            yield client
        finally:
            _leave(client)


def _leave(client: Any) -> None:
    """Close the connection, also one whose other end is gone."""
    with contextlib.suppress(Exception):
        client.close(timeout=FAREWELL)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of lost connections in tracebacks; what a user must know is in our own errors."""
    import distributed  # noqa: F401  (sets up its loggers)

    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in [*names, "tornado.application", "asyncio"]]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
