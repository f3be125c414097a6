"""A first answer comes soon: what was compiled once is found again, and a typo is answered before anything is imported."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import toys

import phasescope as ps
from phasescope.cli import catalogue
from phasescope.discovery import installed
from phasescope.engine import cache
from phasescope.engine.programs import advance_stage_jit, begin_run_jit, enter_stage_jit
from phasescope.errors import PhasescopeError
from phasescope.verbs import evidence as gathering

# A step arm and three flows, one of them with a table made on the host; each with a float that
# is asked for with another value in every process.
ASKED = (
    ("regular_language", "symmetric", {"preset": "tiny"}, "eta"),
    ("scan_and_snap", "symmetric", {"preset": "tiny", "optimiser": "flow"}, "eta_Y"),
    ("linear_modes", "flow", {}, "epsilon"),
    ("lazy_to_rich", "exact_flow", {"preset": "tiny"}, "w_star"),
)

COUNTING = """
import json, sys
import equinox, jax
compiled, found = [], []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **more: compiled.append(name) if name.endswith("backend_compile_duration") else None
)
jax.monitoring.register_event_listener(lambda name, **more: found.append(name) if name.endswith("cache_hits") else None)
"""

LIBRARY = """
import phasescope as ps
for study, arm, fixed, field in json.loads(sys.argv[1]):
    ps.run(study, arm, store=False, **fixed, **{field: float(sys.argv[2])})
"""

COMMAND = """
import contextlib, io
from phasescope.cli.app import main
asked, value = json.loads(sys.argv[1]), sys.argv[2]
for study, arm, fixed, field in asked:
    preset = fixed.pop("preset", None)
    words = [f"{k}={v}" for k, v in fixed.items()] + [f"{field}={value}"] + (["--preset", preset] if preset else [])
    sys.argv = ["phasescope", "run", study, arm, *words, "--json"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main()
"""

END = """
print(json.dumps({"asked": len(compiled), "found": len(found)}))
"""


def child(script: str, *words: str, **environment: str) -> dict:
    """What a fresh process says, as JSON on its last line."""
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in ("EQX_ON_ERROR", "JAX_COMPILATION_CACHE_DIR")
    }
    env |= {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# --- compiled once --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> tuple[Path, dict]:
    """The folder in which a first process, a Python session, left its programs; and how many it asked for."""
    folder = tmp_path_factory.mktemp("programs") / "new"
    said = child(COUNTING + LIBRARY + END, json.dumps(ASKED), "0.02", PHASESCOPE_CACHE=str(folder))
    return folder, said


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_first_process_keeps_every_program_that_it_compiled(first):
    folder, said = first
    assert len(names(folder)) == said["asked"] - said["found"] > 0


def test_a_second_process_compiles_nothing(first):
    folder, _ = first
    said = child(COUNTING + LIBRARY + END, json.dumps(ASKED), "0.03", PHASESCOPE_CACHE=str(folder))
    assert said["found"] == said["asked"] > 0


def test_the_command_line_runs_the_programs_of_the_library_and_compiles_nothing(first, tmp_path):
    folder, _ = first
    before = names(folder)
    elsewhere = {
        "PHASESCOPE_CACHE": str(folder),
        "PHASESCOPE_STORE": str(tmp_path),
        "EQX_ON_ERROR": "raise",
    }
    said = child(COUNTING + COMMAND + END, json.dumps(ASKED), "0.04", **elsewhere)
    assert said["found"] == said["asked"] > 0
    assert names(folder) == before


def test_a_user_without_a_cache_of_his_own_gets_one_in_his_cache_folder(monkeypatch):
    monkeypatch.delenv("PHASESCOPE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    if sys.platform == "linux":
        assert cache.folder() == Path("/somewhere/phasescope/xla")
    monkeypatch.setenv("PHASESCOPE_CACHE", "0")
    assert cache.folder() is None
    monkeypatch.setenv("PHASESCOPE_CACHE", "~/mine")
    assert cache.folder() == Path.home() / "mine"


# --- and nobody is hurt ---------------------------------------------------------------------------------------------

LIFE = """
import hashlib, json, os, sys, warnings
from pathlib import Path
import jax, jax.numpy as jnp
import phasescope as ps, toys
from jax._src import compilation_cache
from phasescope.engine.guard import check_arithmetic

base, said = Path(sys.argv[1]), {}
os.environ["XDG_CACHE_HOME"] = str(base / "home")
ours, theirs = base / "ours", base / "theirs"
count = lambda folder: len(list(folder.rglob("*"))) if folder.exists() else 0

def ask(arm, cached):
    os.environ["PHASESCOPE_CACHE"] = str(cached)
    jax.clear_caches()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = ps.run(toys.study, arm, store=False).loss.values.tobytes().hex()
    return loss, [str(w.message) for w in caught]

os.environ["PHASESCOPE_CACHE"] = "0"
check_arithmetic()  # once in a process: its program would be in the folder, and never be asked for again
fresh, _ = ask("quadratic", ours)
said["kept"] = count(ours)
said["private"] = ours.stat().st_mode & 0o077
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.jit(lambda x: jnp.sin(x) + 3)(jnp.ones(7))
said["kept after a function of the user"] = count(ours)
said["cache of the session"] = repr(compilation_cache._cache)

for path in ours.iterdir():
    path.write_bytes(path.read_bytes()[:-9])
again, complaints = ask("quadratic", ours)
said["damaged"] = [again == fresh, complaints]
whole = lambda kept: hashlib.sha256(kept[32:]).digest() == kept[:32]
said["repaired"] = [whole(p.read_bytes()) for p in ours.iterdir()] == [True] * said["kept"]

(base / "file").write_text("in the way")
again, complaints = ask("quadratic", base / "file" / "folder")
_, more = ask("walk", base / "file" / "folder")
said["in the way"] = [again == fresh, complaints + more]

before = count(ours)
again, complaints = ask("quadratic", 0)
said["switched off"] = [again == fresh, complaints, count(base / "home")]

jax.config.update("jax_compilation_cache_dir", str(theirs))
again, complaints = ask("quadratic", ours)
jax.jit(lambda x: jnp.cos(x) + 3)(jnp.ones(7))
said["the user's own"] = [again == fresh, complaints, count(theirs) > 3, count(ours) == before]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def life(tmp_path_factory) -> dict:
    """What befell the folder of one process."""
    return child(LIFE, str(tmp_path_factory.mktemp("life")))


def test_what_a_user_compiles_himself_is_not_kept_by_us(life):
    assert life["kept"] == life["kept after a function of the user"] > 0


def test_after_a_run_the_session_has_no_cache_that_it_did_not_have_before(life):
    assert life["cache of the session"] == "None"


def test_the_folder_is_the_users_alone(life):
    assert life["private"] == 0


def test_a_damaged_program_is_compiled_anew_and_written_again(life):
    assert (life["damaged"], life["repaired"]) == ([True, []], True)


def test_a_folder_that_cannot_be_made_is_said_once_and_stops_no_run(life):
    same, [complaint] = life["in the way"]
    assert same
    assert "PHASESCOPE_CACHE" in complaint


def test_the_cache_can_be_switched_off(life):
    assert life["switched off"] == [True, [], 0]


def test_a_cache_that_the_user_set_up_is_used_instead_of_ours(life):
    assert life["the user's own"] == [True, [], True, True]


def test_a_full_disk_leaves_no_half_of_a_program(tmp_path, monkeypatch):
    def full(path, data):
        with path.open("wb") as file:
            file.write(data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache._thread, "place", tmp_path, raising=False)
    monkeypatch.setattr(Path, "write_bytes", full)
    programs = cache.Programs()
    with pytest.warns(UserWarning, match="No space left"):
        programs.put("key", b"program")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        programs.put("key", b"program")
    assert (programs.get("key"), list(tmp_path.iterdir())) == (None, [])


def test_what_was_not_used_for_longest_is_forgotten_first(tmp_path):
    for age, name in enumerate(("newest", "newer", "old", "older")):
        path = tmp_path / f"{name}.xla"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    cache.forget_oldest(tmp_path, 250)
    assert {path.stem for path in tmp_path.iterdir()} == {"newest", "newer"}


def test_a_program_that_is_used_counts_as_new(tmp_path, monkeypatch):
    monkeypatch.setattr(cache._thread, "place", tmp_path, raising=False)
    programs = cache.Programs()
    programs.put("key", b"program")
    [entry] = tmp_path.iterdir()
    os.utime(entry, (1, 1))
    assert programs.get("key") == b"program"
    assert entry.stat().st_mtime > 1


def test_a_machine_with_another_processor_does_not_find_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(cache._thread, "place", tmp_path, raising=False)
    cache.Programs().put("key", b"program")
    monkeypatch.setattr(cache, "processor", lambda: "another")
    assert cache.Programs().get("key") is None


def test_no_study_imports_all_of_scipy_before_it_needs_it():
    script = """
import json, sys
from phasescope import find
from phasescope.discovery import installed
loaded = [find(name).name for name in installed()]
print(json.dumps({"studies": len(loaded), "heavy": [m for m in ("scipy.stats", "matplotlib") if m in sys.modules]}))
"""
    said = child(script)
    assert (said["studies"] > 4, said["heavy"]) == (True, [])


# --- a user's own functions -----------------------------------------------------------------------------------------


def test_a_function_of_the_user_is_not_traced_again_after_a_check():
    traced = []

    @jax.jit
    def mine(x):
        traced.append(x)
        return 2 * x

    mine(jnp.ones(3))
    ps.check(toys.study, store=False)
    mine(jnp.ones(3))
    assert len(traced) == 1


def test_what_runs_were_compiled_to_is_let_go():
    ps.run(toys.study, "cubic_flow", store=False)
    gathering.forget_programs()
    programs = (begin_run_jit, enter_stage_jit, advance_stage_jit)
    assert [program._cached._cache_size() for program in programs] == [0, 0, 0]


# --- typos ----------------------------------------------------------------------------------------------------------

TYPOS = {
    "run regular_langage symmetric": lambda: ps.run("regular_langage", "symmetric"),
    "run regular_language symetric": lambda: ps.run("regular_language", "symetric"),
    "run regular_language symmetric --preset tyny": lambda: ps.run(
        "regular_language", "symmetric", preset="tyny"
    ),
    "run regular_language symmetric lamm=3": lambda: ps.run(
        "regular_language", "symmetric", lamm=3
    ),
    "sweep regular_language symmetric lamm=3,4": lambda: ps.sweep(
        "regular_language", "symmetric", lamm=[3, 4]
    ),
    "check regular_language --claim 4.4-windov": lambda: ps.check(
        "regular_language", claim="4.4-windov"
    ),
    "check regular_langage": lambda: ps.check("regular_langage"),
    "draw regular_language --figure figure_22": lambda: ps.draw(
        "regular_language", figure="figure_22"
    ),
    "report regular_langage": lambda: ps.check("regular_langage"),
}

LIGHT = """
import contextlib, io, json, sys
HEAVY = ("jax", "jaxlib", "equinox", "xarray", "matplotlib", "scipy", "diffrax", "optax", "numpy")

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise RuntimeError(f"{name} was imported")

sys.meta_path.insert(0, Refuses())
from phasescope.cli.app import main
said = {}
for line in json.loads(sys.argv[1]):
    sys.argv, errors = ["phasescope", *line.split()], io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(errors):
        main()
    said[line] = errors.getvalue().strip()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """What the command line says to each typo in a process that cannot import anything heavy."""
    catalogue.read(
        installed()["regular_language"]
    )  # a catalogue of the present sources, wherever it is kept
    return child(LIGHT, json.dumps(list(TYPOS)))


@pytest.mark.parametrize("line", TYPOS)
def test_a_typo_is_answered_as_python_does_and_without_importing_anything_heavy(
    line, answers, store
):
    with pytest.raises(PhasescopeError) as error:
        TYPOS[line]()
    assert answers[line] == f"{type(error.value).__name__}: {error.value}"
