"""Annotations are enforced while tests run, and nothing is written outside temporary folders."""

import gc
import os
import sys
from importlib import metadata
from pathlib import Path

if metadata.version("jaxlib").startswith("0.10."):
    # Two thirds of these tests is compilation, and the older code generator takes a third less. Later versions lack it, and
    # end at once on a switch that they do not know.
    os.environ["XLA_FLAGS"] = (
        f"--xla_cpu_use_fusion_emitters=false {os.environ.get('XLA_FLAGS', '')}"
    )

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import runtime_types

assert "phasescope.spec" not in sys.modules, (
    "annotations can only be enforced before phasescope is imported"
)
runtime_types.install()

# What takes long on a busy machine is not wrong.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")


# Files of tests that take longest, in that order: with two workers, whoever begins last must not begin with these.
LONGEST = (
    "studies/lazy_to_rich/test_verdicts",
    "studies/scan_and_snap/test_verdicts",
    "studies/co_occurrence/test_verdicts",
    "studies/state_tracking/test_verdicts",
    "studies/regular_language/test_verdicts",
    "studies/test_every_study",
    "studies/lazy_to_rich/test_claims",
    "studies/co_occurrence/test_claims",
    "studies/regular_language/test_numerics_symmetry",
    "studies/state_tracking/test_numerics_decoder_training",
    "studies/regular_language/test_claims",
    "studies/scan_and_snap/test_claims",
    "studies/",
)
# Left out by `make quick`, which answers in two minutes: whatever takes long to compile or to start, is killed, or is made whole.
SLOW = (
    "core/test_arm_specs",
    "core/test_benchmarks",
    "core/test_checkpoints",
    "core/test_citations",
    "core/test_cli.py::test_help_and_list_import",
    "core/test_cli.py::test_list_gives_every_study",
    "core/test_cluster",
    "core/test_contract",
    "core/test_crash",
    "core/test_deriving",
    "core/test_docstrings",
    "core/test_engine.py::test_a_resumed_block",
    "core/test_engine.py::test_cutting_the_work",
    "core/test_errata",
    "core/test_fields_read",
    "core/test_first_answers",
    "core/test_forking",
    "core/test_fused",
    "core/test_given",
    "core/test_guard",
    "core/test_identity.py::test_another_process",
    "core/test_identity.py::test_the_arms_of_a_built_in",
    "core/test_identity.py::test_threads",
    "core/test_input_faults",
    "core/test_interrupts",
    "core/test_keeping",
    "core/test_logs",
    "core/test_maps",
    "core/test_networks",
    "core/test_no_code",
    "core/test_offline",
    "core/test_page",
    "core/test_phases.py::test_white_noise",
    "core/test_plain_numbers",
    "core/test_precision",
    "core/test_progress",
    "core/test_read_out",
    "core/test_reductions",
    "core/test_remarks",
    "core/test_replay",
    "core/test_report",
    "core/test_results",
    "core/test_run_index.py::test_several_processes",
    "core/test_running.py::test_an_interrupted_run",
    "core/test_store_bombs",
    "core/test_store_faults",
    "core/test_sweep_faults",
    "core/test_sweeping",
    "core/test_template",
    "core/test_terminal",
    "core/test_tied",
    "core/test_times",
    "core/test_typed_claims",
    "core/test_weights",
    "studies/",
    "test_docs",
    "test_packaging.py::test_the_libraries",
    "test_site",
)


# Files whose programs run for a moment and are compiled for longer: without optimisation that takes half as long. Verdicts,
# and all that shares runs with them, are judged on what a user's machine computes.
COMPILED_PLAINLY = (
    "core/test_fused",
    "studies/co_occurrence/test_numerics_arms",
    "studies/co_occurrence/test_numerics_invariants",
    "studies/co_occurrence/test_numerics_model",
    "studies/co_occurrence/test_numerics_weight_recovery",
    "studies/lazy_to_rich/test_numerics_four_gram",
    "studies/lazy_to_rich/test_numerics_kernels",
    "studies/lazy_to_rich/test_numerics_model",
    "studies/lazy_to_rich/test_numerics_quadrature",
    "studies/state_tracking/test_numerics",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; slow ones marked."""
    folder = Path(__file__).parent
    names = {item: item.path.relative_to(folder).as_posix() for item in items}

    def rank(item: pytest.Item) -> int:
        return next(
            (i for i, start in enumerate(LONGEST) if names[item].startswith(start)), len(LONGEST)
        )

    items.sort(key=rank)
    for item in items:
        if f"{names[item]}::{item.name}".startswith(SLOW):
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    """One cache folder (compiled programs, catalogues) for the whole session: all workers, all child processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        keep_programs(folder)
        yield folder


def keep_programs(folder: Path) -> None:
    """Programs that two files of tests need are compiled once."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder / "tests"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@pytest.fixture(scope="module", autouse=True)
def programs(request: pytest.FixtureRequest):
    """How a file's programs are compiled. They are let go at its end: a process may map only so many pieces of memory."""
    import jax

    name = request.path.relative_to(Path(__file__).parent).as_posix()
    jax.config.update("jax_disable_most_optimizations", name.startswith(COMPILED_PLAINLY))
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()
    gc.collect()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh store, which is also the default one."""
    folder = tmp_path / "store"
    monkeypatch.setenv("PHASESCOPE_STORE", str(folder))
    return folder
