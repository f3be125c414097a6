"""Without a network: no command opens a connection, and no secret of the environment is written down or printed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "canary-aws-7f3a",
    "GITHUB_TOKEN": "canary-github-91bc",
    "WANDB_API_KEY": "canary-wandb-55de",
    "PASSWORD": "canary-password-02aa",
}

# Every command but `serve`, which is there to listen, in one process, in which Python says what it opens. Sockets of the
# same machine are no network.
EVERYTHING = """
import socket, sys
opened = []
def hear(event, words):
    if event in ("socket.connect", "socket.bind", "socket.sendto"):
        if not isinstance(words[1], (str, bytes)):
            opened.append((event, words[1:]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        opened.append((event, words))
sys.addaudithook(hear)
import numpy as np
from safetensors.numpy import save_file
from phasescope.cli.app import COMMANDS, main
from phasescope.store import Store
carried_out = set()
def command(*words):
    carried_out.add(words[0])
    sys.argv = ["phasescope", *words]
    try:
        main()
    except SystemExit as end:
        assert end.code in (0, None), (words, end.code)
command("run", "linear_modes", "descent", "steps=50")
command("run", "linear_modes", "logistic", "--json")
command("sweep", "linear_modes", "logistic", "epsilon=1e-3,1e-4")
command("check", "linear_modes")
command("draw", "linear_modes", "--out", "drawn")
command("report", "linear_modes", "--out", "report")
command("map", "linear_modes", "stronger_modes_are_learnt_first", "epsilon=1e-4:1e-3:2:log")
command("errata", "linear_modes")
command("runs")
[run] = [e.id for e in Store(Store.default_root(None)).entries() if e.spec.get("steps") == 50]
command("export", run, "exported.nc")
command("fork", run, "--at", "10", "--clamp", "a")
save_file({"q_proj": np.ones((4, 4))}, "step0.safetensors")
command("probe", "step0.safetensors", "--norms-only")
command("new", "my_paper")
command("repair")
command("list")
assert carried_out == COMMANDS.keys() - {"serve"}, carried_out
print("opened", opened)
"""


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory):
    """The folder in which every command was carried out, and what they printed."""
    folder = tmp_path_factory.mktemp("offline")
    places = {
        "PHASESCOPE_STORE": str(folder / "store"),
        "PHASESCOPE_CACHE": str(folder / "programs"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | SECRETS | places,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout + done.stderr


def test_no_command_opens_a_connection(carried_out):
    assert carried_out[1].splitlines().count("opened []") == 1


def test_no_secret_is_written_into_any_file(carried_out):
    files = [file for file in carried_out[0].rglob("*") if file.is_file()]
    assert {"run.json", "index.html", "ledger.json"} <= {file.name for file in files}
    found = {
        (file.name, name)
        for file in files
        for name, secret in SECRETS.items()
        if secret.encode() in file.read_bytes()
    }
    assert found == set()


def test_no_secret_is_printed(carried_out):
    assert [secret for secret in SECRETS.values() if secret in carried_out[1]] == []
