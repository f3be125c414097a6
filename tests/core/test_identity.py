"""A run is named by what was asked and by the code that answers it, as it was loaded."""

import importlib
import subprocess
import sys
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import toys

import phasescope as ps
from phasescope.errors import StoreError
from phasescope.identity import Unidentified, fingerprint
from phasescope.identity.provenance import differences, precision_of, provenance
from phasescope.store import Store
from phasescope.study import find
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run, run_identity

STUDY = '''
import jax.numpy as jnp
import phasescope as ps
from jaxtyping import Array, Float

RATE = 0.5

class Spec(ps.Spec):
    start: float = 1.0
    steps: int = ps.field(3, traced=True)

    @property
    def twice(self):
        return 2 * self.start

class Seen(ps.Observables):
    weight: Float[Array, ""]

def slower(w):
    """One step."""
    return RATE * w

def arm(spec):
    """A decay."""
    step = ps.iterate(lambda w, t, key: slower(w))
    return ps.Plan(lambda key: jnp.asarray(spec.twice), (ps.Stage("one", step, ps.linear_times(spec.steps)),), Seen)

@ps.claim("Theorem 1", ps.runs(arm))
def falls(run):
    """The weight falls."""
    return ps.decreasing(run.weight)

study = ps.Study("mine", Spec(), (arm,), (falls,))
'''


def digest(arm, spec=None):
    return fingerprint(arm, spec).digest


def study_in(folder, text=STUDY, name="mine.py"):
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(text)
    return find(str(folder / name))


def digest_of(study):
    return digest(study.arm("arm"), type(study.spec))


def made(rate, helper=None):
    """Arms of one factory."""

    def arm(spec):
        step = ps.iterate(lambda w, t, key: rate * w if helper is None else helper(w))
        return toys.plan(spec, step, ps.linear_times(spec.steps))

    return arm


def factory_study(*arms):
    return ps.Study("made", toys.Spec(), arms)


# What counts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.5", "RATE = 0.25"),
        ("return RATE * w", "return w * RATE"),
        ("2 * self.start", "3 * self.start"),
        ('"one"', '"two"'),
        ('weight: Float[Array, ""]', 'weight: Float[Array, ""] = ps.field(doc="w")'),
    ],
)
def test_an_edit_that_can_change_a_run_is_another_arm(tmp_path, old, new):
    assert old in STUDY
    changed = study_in(tmp_path / "b", STUDY.replace(old, new))
    assert digest_of(changed) != digest_of(study_in(tmp_path / "a"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""One step."""', '"""One step of the decay."""'),
        ("def slower(w):", "# a comment\n\n\ndef slower(w):"),
        ("def slower(w):", "def slower(w: float) -> float:"),
        ("return ps.decreasing(run.weight)", "return ps.increasing(run.weight)"),
        ("Theorem 1", "Theorem 2"),
        ("start: float = 1.0", "start: float = 7.0"),
    ],
)
def test_comments_docstrings_annotations_claims_and_defaults_of_the_spec_do_not_count(
    tmp_path, old, new
):
    assert old in STUDY
    changed = study_in(tmp_path / "b", STUDY.replace(old, new))
    assert digest_of(changed) == digest_of(study_in(tmp_path / "a"))


def test_the_name_that_a_library_gives_its_types_does_not_count(tmp_path, monkeypatch):
    """jax 0.10 calls its arrays jaxlib._jax.Array, jax 0.11 Array; recorded evidence must fit both."""
    one = study_in(tmp_path / "a")
    other = study_in(tmp_path / "b")
    elsewhere = type("Array", (jax.Array,), {"__module__": "jaxlib.elsewhere"})
    monkeypatch.setitem(other.arm("arm").__globals__, "Array", elsewhere)
    assert digest_of(one) == digest_of(other)


def test_a_class_of_ones_own_counts_in_an_annotation_too(tmp_path):
    text = STUDY.replace("class Seen", "class Own:\n    scale = 1\n\nclass Seen")
    text = text.replace(
        "def slower(w):", "class Pair:\n    first: Own\n\ndef slower(w, pair=Pair):"
    )
    one = study_in(tmp_path / "a", text)
    other = study_in(tmp_path / "b", text.replace("scale = 1", "scale = 2"))
    assert digest_of(one) != digest_of(other)


def test_the_name_and_the_folder_of_a_file_do_not_count(tmp_path):
    one = study_in(tmp_path / "a")
    other = study_in(tmp_path / "b" / "deep", name="other.py")
    assert digest_of(one) == digest_of(other)


def test_two_arms_of_one_factory_are_two_runs(store):
    half, tenth = made(0.5), made(0.1)
    ends = []
    for arm in (half, tenth):
        study = factory_study(arm)
        ends.append(float(ps.run(study, arm, steps=1, start=1.0).weight[-1, 0]))
    assert ends == [0.5, 0.1]
    assert len(Store(store).entries()) == 2
    assert digest(made(0.5)) == digest(half)


def test_what_a_closure_holds_counts_also_behind_functions_arrays_and_optimisers():
    holding = [
        made(1.0, helper=lambda w: w * 2),
        made(1.0, helper=lambda w: w * 3),
        made(np.arange(3.0)),
        made(np.arange(4.0)),
        made(np.arange(3.0, dtype=np.float32)),
        made(optax.sgd(0.1)),
        made(optax.sgd(0.2)),
        made({"a": (1, 2)}),
        made({"a": (1, 3)}),
        made(1),
        made(True),
        made(-0.0),
        made(0.0),
    ]
    digests = [digest(arm) for arm in holding]
    assert len(set(digests)) == len(digests)
    assert digest(made(np.arange(3.0, dtype=np.float32))) == digest(
        made(jnp.arange(3.0, dtype=jnp.float32))
    )


def test_default_arguments_count():
    def with_default(value):
        def arm(spec, rate=value):
            return rate

        return arm

    def with_keyword(value):
        def arm(spec, *, rate=value):
            return rate

        return arm

    assert digest(with_default(1.0)) != digest(with_default(2.0))
    assert digest(with_keyword(1.0)) != digest(with_keyword(2.0))


def test_two_lambdas_on_one_line_are_two():
    pair = (lambda spec: spec.eta + 1, lambda spec: spec.eta + 2)
    assert digest(pair[0]) != digest(pair[1])


def test_the_helper_module_of_a_plain_file_counts(tmp_path):
    text = STUDY.replace("RATE = 0.5", "import rates_beside").replace(
        "RATE * w", "rates_beside.rate() * w"
    )
    digests = []
    for folder, rate in (("a", 0.5), ("b", 0.25)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rates_beside.py").write_text(
            f"def rate():\n    return {rate}\n\ndef unused():\n    return {rate}"
        )
        digests.append(digest_of(study_in(tmp_path / folder, text)))
        del sys.modules["rates_beside"]
    assert digests[0] != digests[1]


def test_a_study_that_an_outside_arm_calls_counts(monkeypatch):
    from phasescope.studies.regular_language import training
    from phasescope.studies.regular_language.reductions import packed

    def outside(spec):
        return training.symmetric(spec)

    before = digest(outside)
    names = "".join(fingerprint(outside).parts)
    assert "regular_language.reductions.packed:step" in names
    assert "claims" not in names and "figures" not in names
    monkeypatch.setattr(packed, "step", made(1.0))
    assert digest(outside) != before


def test_a_library_is_known_by_its_name_wherever_it_was_installed(tmp_path, monkeypatch):
    (tmp_path / "somebody_elses.py").write_text("def rate():\n    return 1.0\n")
    (tmp_path / "somebody_elses-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    somebody_elses = importlib.import_module("somebody_elses")

    def arm(spec):
        return somebody_elses.rate()

    assert not [part for part in fingerprint(arm).parts if "somebody_elses" in part]


def test_a_value_that_changes_while_the_process_lives_is_another_run_and_is_compiled_anew(store):
    scope = {"__name__": "__main__", "ps": ps, "toys": toys, "RATE": 0.5}
    exec(
        "def arm(spec): return toys.plan(spec, ps.iterate(lambda w, t, key: RATE * w), ps.linear_times(1))",
        scope,
    )
    study = factory_study(scope["arm"])
    ends = []
    for scope["RATE"] in (0.5, 0.1):
        ends.append(float(ps.run(study, scope["arm"], start=1.0).weight[-1, 0]))
    assert ends == [0.5, 0.1]


def typed_in(text: str):
    """An arm as a notebook has it: typed in, without a file."""
    scope = {"__name__": "__main__", "ps": ps, "toys": toys}
    exec(text, scope)
    return scope["arm"]


TYPED = "RATE = 0.1\ndef helper(w): return w * 2.0\ndef arm(spec): return helper(spec.eta) + RATE + (lambda: 3.0)()"


def test_an_arm_that_was_typed_in_again_is_the_same_arm():
    assert digest(typed_in(TYPED)) == digest(typed_in(TYPED))


@pytest.mark.parametrize(
    "edit", [("2.0", "2.5"), ("RATE = 0.1", "RATE = 0.2"), ("3.0", "3.5"), ("+ RATE", "- RATE")]
)
def test_an_edit_of_what_an_arm_that_was_typed_in_uses_is_another_arm(edit):
    assert digest(typed_in(TYPED.replace(*edit))) != digest(typed_in(TYPED))


@pytest.mark.parametrize(
    "name", ["regular_language", "lazy_to_rich", "scan_and_snap", "co_occurrence", "state_tracking"]
)
def test_the_arms_of_a_built_in_study_differ_and_know_nothing_of_claims_and_figures(name):
    study = find(name)
    found = {arm.__name__: fingerprint(arm, type(study.default_for(arm))) for arm in study.arms}
    assert len({code.digest for code in found.values()}) == len(found)
    parts = [part for code in found.values() for part in code.parts]
    assert not [part for part in parts if ".claims" in part or ".figures" in part]


def test_another_process_finds_the_same_code():
    """Of arms without a dataclass of their own: the decorators that check types here leave those no text."""
    script = (
        "import phasescope as ps; from phasescope.identity import fingerprint; s = ps.find('regular_language');"
        "print(*(fingerprint(a, type(s.default_for(a))).digest for a in s.arms[:5]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    study = find("regular_language")
    assert len(said) == 5
    assert said == [digest(arm, type(study.default_for(arm))) for arm in study.arms[:5]]


# As it was loaded


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A study as a package, whose arm uses a module beside it."""
    files = {
        "__init__.py": "",
        "model.py": "RATE = 1.0\ndef rate():\n    return RATE\n",
        "claims.py": "def claim():\n    return 1\n",
        "arms/__init__.py": "",
        "arms/descent.py": "from ..model import rate\ndef descent(spec):\n    return rate()\n",
    }
    for name, text in files.items():
        (tmp_path / "package_of_arms" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package_of_arms" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path / "package_of_arms"
    for name in [name for name in sys.modules if name.startswith("package_of_arms")]:
        del sys.modules[name]


def test_a_file_edited_under_a_live_process_is_noticed_and_the_loaded_code_is_named(package):
    arm = importlib.import_module("package_of_arms.arms.descent").descent
    before = fingerprint(arm)
    assert before.edited() == []
    (package / "model.py").write_text("RATE = 1.0\ndef rate():\n    return 2 * RATE\n")
    after = fingerprint(arm)
    assert after.digest == before.digest
    assert after.edited() == [str(package / "model.py")]


def test_an_edit_of_a_comment_or_of_a_claim_under_a_live_process_is_no_edit(package):
    arm = importlib.import_module("package_of_arms.arms.descent").descent
    fingerprint(arm)
    (package / "model.py").write_text(
        '"""Rates."""\nRATE = 1.0\ndef rate():\n    # one\n    return RATE\n'
    )
    (package / "claims.py").write_text("def claim():\n    return 2\n")
    assert fingerprint(arm).edited() == []


def test_code_that_was_edited_before_anybody_read_it_has_no_identity(package):
    arm = importlib.import_module("package_of_arms.arms.descent").descent
    (package / "model.py").write_text("RATE = 1.0\ndef rate():\n    return 2 * RATE\n")
    with pytest.raises(Unidentified, match=r"rate in .*model.py was edited after it was loaded"):
        fingerprint(arm)


def test_a_run_says_that_its_files_were_edited(tmp_path, store):
    study = study_in(tmp_path / "a")
    ps.run(study, "arm")
    (tmp_path / "a" / "mine.py").write_text(STUDY.replace("RATE = 0.5", "RATE = 0.1"))
    with pytest.warns(UserWarning, match=r"mine.py was edited after it was loaded"):
        ps.run(study, "arm", start=3.0)


def test_a_plain_file_that_was_edited_is_loaded_again(tmp_path, store):
    path = tmp_path / "mine.py"
    ends = []
    for rate in ("0.5", "0.1"):
        path.write_text(STUDY.replace("RATE = 0.5", f"RATE = {rate}"))
        ends.append(float(ps.run(str(path), "arm", steps=1).weight[-1]))
    assert ends == [1.0, 0.2]


def test_a_plain_file_may_be_called_like_a_module_of_somebody_else(tmp_path):
    before = sys.modules["json"]
    assert study_in(tmp_path, name="json.py").name == "mine"
    assert sys.modules["json"] is before


def test_editing_a_claim_reruns_nothing_in_a_study_of_one_file(tmp_path, store):
    path = tmp_path / "mine.py"
    path.write_text(STUDY)
    ps.check(str(path), progress=False)
    path.write_text(STUDY.replace("ps.decreasing(run.weight)", "ps.positive(run.weight)"))
    ps.check(str(path), progress=False)
    assert len(Store(store).entries()) == 1


# What has no identity


def test_an_arm_without_identity_runs_but_is_not_stored_and_says_so(store):
    secret = threading.Lock()

    def arm(spec):
        return toys.quadratic(spec) if secret else None

    with pytest.warns(
        UserWarning, match=r"arm runs but is not stored: it refers to a _thread.lock"
    ):
        ds = ps.run(factory_study(arm), arm)
    assert float(ds.loss[-1]) > 0
    assert "id" not in ds.attrs
    assert not store.exists() or Store(store).entries() == []


# Where and how


def test_digits_are_promised_within_equal_provenance_only():
    made_here = provenance(precision="float64")
    assert differences(made_here, made_here) == []
    elsewhere = made_here | {
        "device": "gpu: H200",
        "versions": made_here["versions"] | {"jax": "0.1"},
    }
    said = differences(elsewhere, made_here)
    assert said == [
        f"jax 0.1 (here {jax.__version__})",
        f"device gpu: H200 (here {made_here['device']})",
    ]


def test_a_run_found_under_another_provenance_is_returned_and_says_so(store, monkeypatch):
    study = factory_study(toys.quadratic)
    before = ps.run(study, toys.quadratic)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.run(study, toys.quadratic)
    monkeypatch.setenv("XLA_FLAGS", "--xla_something=true")
    with pytest.warns(
        UserWarning, match=r"made elsewhere, with XLA_FLAGS .* \(here --xla_something=true\)"
    ):
        again = ps.run(study, toys.quadratic)
    assert again.identical(before)
    assert len(Store(store).entries()) == 1


def test_settings_of_jax_that_move_digits_are_part_of_the_provenance():
    here = provenance()
    with jax.disable_jit():
        assert differences(here, provenance()) == [
            "engine compiled loop (here compiled loop, without jit)"
        ]
    was = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        assert provenance()["engine"] == "compiled loop, hardly optimised"
    finally:
        jax.config.update("jax_disable_most_optimizations", was)
    assert provenance() == here


def test_a_run_that_goes_on_elsewhere_says_so_and_its_manifest_keeps_both(store, monkeypatch):
    study = factory_study(toys.quadratic)
    context = Context(Store(store), save_every=0.0)
    context.stop.set()  # as after Ctrl-C: it saves and stops
    with pytest.raises(KeyboardInterrupt):
        find_or_run(study, ps_job(toys.quadratic), context)
    monkeypatch.setenv("XLA_FLAGS", "--xla_something=true")
    with pytest.warns(
        UserWarning, match=r"goes on from a state that was computed elsewhere, with XLA_FLAGS"
    ):
        find_or_run(study, ps_job(toys.quadratic), Context(Store(store)))
    [entry] = Store(store).entries()
    assert entry.manifest["XLA_FLAGS"] == "--xla_something=true"
    assert entry.manifest["resumed_from"]["XLA_FLAGS"] != "--xla_something=true"


def test_a_draft_that_stands_nowhere_is_an_error_that_says_what_to_do(store):
    study = factory_study(toys.quadratic)
    context = Context(Store(store))
    with Store(store).draft(run_identity(study, ps_job(toys.quadratic), context)) as draft:
        draft.resume()
        draft.save({"stage": "first", "elsewhere": 1}, [np.zeros(2)], {})
    with pytest.raises(StoreError, match="Remove the folder to begin anew"):
        find_or_run(study, ps_job(toys.quadratic), context)


def test_the_manifest_names_the_numbers_that_were_computed_with(store):
    def single(spec):
        step = ps.iterate(lambda w, t, key: w / 2)
        stage = ps.Stage("one", step, ps.linear_times(2))
        return ps.Plan(
            lambda key: jnp.ones(2, jnp.float32), (stage,), lambda w: toys.Seen(w.sum(), w)
        )

    for arm, kind in ((single, "float32"), (toys.quadratic, "float64")):
        _, id = find_or_run(factory_study(arm), ps_job(arm), Context(Store(store)))
        entry = next(e for e in Store(store).entries() if e.id == id)
        assert entry.manifest["precision"] == kind
        assert entry.manifest["engine"] == "compiled loop"
    assert (
        precision_of([np.zeros(1, np.float32), np.zeros(1), np.zeros(1, int)]) == "float32, float64"
    )


def ps_job(arm):
    from phasescope.engine.job import Job

    return Job(arm, toys.Spec())


def test_threads_may_name_their_runs_at_once():
    script = """
import concurrent.futures as futures
from phasescope.discovery import installed
from phasescope.identity import fingerprint
from phasescope.study import find
arms = [arm for name in installed() for arm in find(name).arms]
with futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(fingerprint, arms))
"""
    subprocess.run([sys.executable, "-c", script], check=True)
