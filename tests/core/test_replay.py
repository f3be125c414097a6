"""replay: the batches of another program, fed to our gradient and update, end where that program ended."""

from __future__ import annotations

import importlib
import json
import zipfile

import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.errors import PlanError, SpecError
from phasescope.store import Store
from phasescope.studies.scan_and_snap.training import sampling

replaying = importlib.import_module("phasescope.verbs.replay")
COMMON, DISTINCT, CLASSES = 3, 4, 2
CONTEXT = COMMON + CLASSES * DISTINCT
OUTPUTS = CONTEXT + 2 * CLASSES  # context tokens, last tokens and labels
STEPS, BATCH, LENGTH = 40, 16, 12
MOMENTUM = 0.9
SIZES = {
    "num_last": CLASSES, "common": COMMON, "distinct": DISTINCT, "batch": BATCH,
    "seq_length": LENGTH + 1, "momentum": MOMENTUM,
}  # fmt: skip


def sequences():
    """Batches as a program of an author's makes them: token ids `[step, sample, position]`, and the class of every sample."""
    random = np.random.default_rng(3)
    label = random.integers(CLASSES, size=(STEPS, BATCH))
    own = (
        COMMON
        + DISTINCT * label[..., None]
        + random.integers(DISTINCT, size=(STEPS, BATCH, LENGTH))
    )
    is_common = random.random((STEPS, BATCH, LENGTH)) < 0.5
    return np.where(is_common, random.integers(COMMON, size=own.shape), own), label


def independent(tokens, label, start, eta_Y, eta_Z, dtype):
    """The model on sequences, position by position, with all outputs and gradients by the chain rule; torch's momentum.

    Attention weighs positions by exp(Z[last, token]); what is read is the weighted sum of one-hot tokens over its norm.
    """
    Y, Z = (np.array(x, dtype) for x in start)
    push = [np.zeros_like(Y), np.zeros_like(Z)]
    eye = np.eye(CONTEXT, dtype=dtype)
    one_hot = np.eye(OUTPUTS, dtype=dtype)
    for x, n in zip(tokens, label, strict=True):
        weight = np.exp(np.take_along_axis(Z[n], x, 1))  # the last token of class n is n
        read = np.einsum("bt,bts->bs", weight, eye[x])
        size = np.sqrt((read**2).sum(1, keepdims=True))
        f = read / size
        scores = f @ Y
        p = np.exp(scores - scores.max(1, keepdims=True))
        r = one_hot[n] - p / p.sum(1, keepdims=True)
        of_f = r @ Y.T
        of_read = (of_f - f * (f * of_f).sum(1, keepdims=True)) / size
        of_logit = weight * np.take_along_axis(of_read, x, 1)
        dZ = np.zeros_like(Z)
        np.add.at(dZ, (np.repeat(n, x.shape[1]), x.ravel()), of_logit.ravel())
        for v, g in zip(push, (f.T @ r / dtype(BATCH), dZ / dtype(BATCH)), strict=True):
            v *= dtype(MOMENTUM)
            v += g
        Y += dtype(eta_Y) * push[0]
        Z += dtype(eta_Z) * push[1]
    return Y, Z


def weights(ds):
    return ds["params.weights.Y"].values, ds["params.weights.Z"].values


def replayed(eta_Y, eta_Z, precision="float64", **asked):
    spec = ps.find("scan_and_snap").specify(None, **SIZES)
    batches = sampling.counted(*sequences(), spec)
    numbers = {"eta_Y": eta_Y, "eta_Z": eta_Z, "precision": precision, **SIZES}
    return ps.replay("scan_and_snap", "sampled", batches, **{"store": False} | numbers | asked)


# How far weights of 32 bits may be from those of 64: sums of 40 updates, each rounded to 6e-8 of weights up to 10.
IN_32_BITS = 2e-5


@pytest.mark.parametrize(
    ("precision", "far"), [("float64", 1e-12), ("float32", IN_32_BITS)], ids=["64", "32"]
)
@pytest.mark.parametrize("start", ["zero", "uniform"])
def test_weights_are_those_of_a_program_that_was_fed_the_same_batches(start, precision, far):
    begun = np.zeros((CONTEXT, OUTPUTS)), np.zeros((CLASSES, CONTEXT))
    asked = {}
    if start == "uniform":
        random = np.random.default_rng(4)
        begun = tuple(random.uniform(-0.2, 0.2, x.shape) for x in begun)
        named = {"weights.Y": _labels_first(begun[0]), "weights.Z": begun[1]}
        asked = {"init": "uniform", "params": named}
    ds = replayed(2.0, 1.0, precision, **asked)
    kind = getattr(np, precision)
    # That program has its outputs in the order of ids: labels are the last ones.
    tokens, label = sequences()
    Y, Z = independent(tokens, label, (_labels_first(begun[0]), begun[1]), 2.0, 1.0, kind)
    ours, attention = weights(ds)
    assert ours.dtype == attention.dtype == kind
    assert abs(Z).max() > 0.1 and abs(Y).max() > 1
    columns = Y if start == "uniform" else Y[:, : CLASSES + 1]  # equal columns are kept once
    np.testing.assert_allclose(ours, columns, rtol=0, atol=far * abs(Y).max())
    np.testing.assert_allclose(attention, Z, rtol=0, atol=far * abs(Z).max())


def _labels_first(Y):
    return np.roll(Y, CLASSES, axis=1)


def test_another_order_of_batches_ends_elsewhere():
    tokens, label = sequences()
    spec = ps.find("scan_and_snap").specify(None, **SIZES)
    backwards = sampling.counted(tokens[::-1], label[::-1], spec)
    other = ps.replay("scan_and_snap", "sampled", backwards, eta_Y=2.0, store=False, **SIZES)
    gap = other["params.weights.Z"] - replayed(2.0, 1.0)["params.weights.Z"]
    assert abs(gap).max() > 1e-3


def test_the_torch_of_an_author_ends_where_the_replay_does():
    """Autograd and torch.optim.SGD in 32 bits, as released code is; float32 rounding is the only difference."""
    torch = pytest.importorskip("torch")
    tokens, label = sequences()
    Y = torch.zeros(CONTEXT, OUTPUTS, requires_grad=True)
    Z = torch.zeros(CLASSES, CONTEXT, requires_grad=True)
    groups = [{"params": [Y], "lr": 2.0}, {"params": [Z], "lr": 1.0}]
    optimizer = torch.optim.SGD(groups, lr=1.0, momentum=MOMENTUM)
    for x, n in zip(torch.from_numpy(tokens), torch.from_numpy(label), strict=True):
        attention = torch.softmax(torch.gather(Z[n], 1, x), dim=1)
        read = torch.einsum("bt,bts->bs", attention, torch.eye(CONTEXT)[x])
        f = read / read.norm(dim=1, keepdim=True)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(f @ Y, n).backward()
        optimizer.step()
    ours, Z_ours = weights(replayed(2.0, 1.0, "float32"))
    theirs, Z_theirs = Y.detach().numpy()[:, : CLASSES + 1], Z.detach().numpy()
    assert abs(ours - theirs).max() < IN_32_BITS * abs(theirs).max()
    assert abs(Z_ours - Z_theirs).max() < IN_32_BITS * abs(Z_theirs).max()


def test_the_arms_own_batches_give_the_arms_own_run(tmp_path):
    """What the arm would have drawn, fed to it, gives its digits: the way from outside changes none."""
    import jax.random as jr

    asked = {"preset": "tiny", "seed": 7}
    study = ps.find("scan_and_snap")
    spec = study.specify("tiny")
    key = jr.split(jr.fold_in(jr.key(7), 1))[1]
    with ps.exact_numbers():
        drawn = [sampling.draw(jr.fold_in(key, t), spec) for t in range(spec.steps)]
    fed = ps.replay(study, "sampled", drawn, store=tmp_path, **asked)
    own = ps.run(study, "sampled", store=tmp_path, **asked)
    end = ps.state(own)
    for name in ("params.weights.Y", "params.weights.Z"):
        np.testing.assert_array_equal(fed[name], end[name])
        np.testing.assert_array_equal(ps.state(fed)[name], end[name])
    np.testing.assert_array_equal(fed.batch_loss, own.batch_loss)


def test_batches_are_part_of_the_identity_and_are_named(tmp_path):
    batches = np.arange(8.0).reshape(4, 2)
    asked = {"store": tmp_path, "eta": 0.5}
    first = ps.replay(toys.study, targets, {"x": batches}, **asked)
    again = ps.replay(toys.study, targets, [{"x": x} for x in batches], **asked)
    other = ps.replay(toys.study, targets, {"x": batches + 1}, **asked)
    assert first.attrs["id"] == again.attrs["id"] != other.attrs["id"]
    assert len(list(Store(tmp_path).entries())) == 2
    said = json.loads(first.attrs["replayed"])
    assert (said["source"], said["batches"]) == ("arrays in memory", 4)
    assert said["sha256"] == json.loads(again.attrs["replayed"])["sha256"]
    assert said["sha256"] != json.loads(other.attrs["replayed"])["sha256"]


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_batches_may_lie_in_a_file(ending, tmp_path):
    from safetensors.numpy import save_file

    batches = np.arange(8.0).reshape(4, 2)
    file = tmp_path / f"batches{ending}"
    if ending == ".npz":
        np.savez(file, x=batches)
    else:
        save_file({"batches.x": batches}, file)
    ds = ps.replay(toys.study, targets, file, eta=0.5, store=False)
    wanted = ps.replay(toys.study, targets, {"x": batches}, eta=0.5, store=False)
    np.testing.assert_array_equal(ds["params.w"], wanted["params.w"])
    assert json.loads(ds.attrs["replayed"])["source"] == str(file)
    assert "folder" not in ds.attrs


def targets(spec):
    """Descent towards samples."""
    import jax.random as jr
    import optax

    def draw(key, memory):
        return {"x": jr.normal(key, (spec.width,))}

    stage = ps.Stage(
        "training",
        ps.descent(lambda net, batch: toys.loss(net["w"], batch["x"]), optax.sgd(spec.eta), draw),
        ps.linear_times(spec.steps),
    )
    start = {"w": jnp.zeros(spec.width)}
    return ps.Plan(lambda key: start, (stage,), lambda net: toys.measure(net["w"]))


def test_agreement_with_released_code_is_a_claim_with_a_tolerance():
    batches = np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 2.0], [7.0, 2.0]])
    theirs = np.zeros(2)
    for batch in batches:
        theirs += 0.5 * (batch - theirs)

    def fed():
        return ps.replay(toys.study, targets, {"x": batches}, eta=0.5, store=False)

    @ps.claim("their repository", ps.on("training", ps.tables(fed)), kind="released")
    def weights_are_those_of_their_code(run):
        """After four updates the weights are those of the released code."""
        return ps.agree(run["params.w"], theirs, ps.chosen(1e-12, "rounding of 64 bits"))

    study = ps.Study("mine", toys.Spec(), (), (weights_are_those_of_their_code,))
    assert [row.outcome for row in ps.check(study, store=False)] == ["holds"]
    theirs[0] += 1e-6
    assert [row.outcome for row in ps.check(study, store=False)] != ["holds"]


class own_batch(ps.Dynamics):
    """A dynamics that says how it draws, and then does not take its batches where others could be put."""

    def sampler(self):
        return lambda key, memory: jnp.zeros(2)

    def batch(self, key, t, memory):
        return jnp.ones(2)

    def advance(self, state, t0, t1, key):
        return ps.State(state.params + self.batch(key, t0, state.memory), state.memory, None)


def deaf(spec):
    stage = ps.Stage("training", own_batch(), ps.linear_times(spec.steps))
    return ps.Plan(lambda key: jnp.zeros(spec.width), (stage,), toys.measure)


GOOD = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("arm", "batches", "said"),
    [
        (
            targets,
            {"x": np.zeros((4, 3))},
            r'"batches.x" has the shape \(3,\) a batch, and this arm needs',
        ),
        (targets, {"y": GOOD}, "a batch of this arm also has batches.x|have no"),
        (targets, GOOD, r"a batch of this arm also has batches\.x, .* Given: batches\."),
        (targets, iter([{"x": GOOD[0]}]), r"got list_iterator: draw as many as there are steps"),
        (targets, {"x": GOOD, "y": GOOD[:3]}, "every array has as many: x has 4, y has 3"),
        (targets, [], "there is no batch in an empty list"),
        (targets, {}, "there are none"),
        (targets, [{"x": GOOD[0]}, {"x": np.zeros(1)}], 'batch 1 differs from batch 0 in "x"'),
        (targets, {"x": GOOD * np.nan}, "not finite"),
        (targets, {"x": np.array([["a", "b"]])}, "not numbers"),
        (toys.walk, GOOD, "walk cannot take batches"),
        (toys.quadratic, GOOD, "quadratic cannot take batches"),
        (deaf, GOOD, "deaf cannot take batches"),
    ],
)
def test_batches_that_do_not_fit_are_named(arm, batches, said):
    with pytest.raises(PlanError, match=said) as error:
        ps.replay(toys.study, arm, batches, store=False)
    assert "\n" not in str(error.value)


def test_too_few_batches_for_the_steps_that_were_asked_for_are_an_error():
    with pytest.raises(PlanError, match=r'"batches.x" has 4 batches, and the run takes 9 steps'):
        ps.replay(toys.study, targets, {"x": GOOD}, steps=9, store=False)


def test_a_file_that_is_none_is_one_line(tmp_path):
    with pytest.raises(SpecError, match=r"batches .*nowhere\.npz: there is no such file"):
        ps.replay(toys.study, targets, tmp_path / "nowhere.npz", store=False)
    (tmp_path / "a.npz").write_text("nothing")
    with pytest.raises(SpecError, match="it cannot be read: it is no archive of NumPy arrays"):
        ps.replay(toys.study, targets, tmp_path / "a.npz", store=False)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("x", b"no array")
    with pytest.raises(SpecError, match="it cannot be read: x in it is no array of NumPy"):
        ps.replay(toys.study, targets, tmp_path / "b.npz", store=False)


def test_a_token_of_another_class_is_not_counted():
    tokens, label = sequences()
    spec = ps.find("scan_and_snap").specify(None, **SIZES)
    tokens[2, 3, 4] = CONTEXT - 1 if label[2, 3] == 0 else COMMON
    with pytest.raises(SpecError, match=r"at \[2, 3, 4\] does not occur in the class"):
        sampling.counted(tokens, label, spec)


TEXT = {"preset": "tiny", "layers": 1, "dropout": None, "store": False, "progress": False}


def windows_of_text():
    """Six batches of two sequences of eight tokens and one more, of 30 types."""
    return np.random.default_rng(0).integers(30, size=(6, 2, 9))


@pytest.mark.parametrize("place", [3, 8], ids=["read", "only predicted"])
@pytest.mark.parametrize("token", [30, -1, 2.5, np.inf])
def test_a_token_that_the_vocabulary_has_not_is_refused_before_anything_runs(
    token, place, monkeypatch
):
    monkeypatch.setattr(replaying, "run", None)
    windows = windows_of_text().astype(float)
    windows[4, 1, place] = token
    if token in (30, -1):
        windows = windows.astype(int)
    said = rf"at \[4, 1, {place}\] of batches\.windows is no token of generated@\w+, whose 30 types"
    with pytest.raises(PlanError, match="not finite" if np.isinf(token) else said) as error:
        ps.replay("regular_language", "text_gpt", {"windows": windows}, **TEXT)
    assert "\n" not in str(error.value)


def test_a_replay_that_diverges_says_where_its_records_are(tmp_path):
    batches = {"x": np.ones((40, 2))}
    asked = {"eta": 1e30, "progress": False}
    with pytest.raises(ps.RunDiverged, match="what it recorded is the error's `dataset`") as error:
        ps.replay(toys.study, targets, batches, store=False, **asked)
    assert "folder" not in error.value.dataset.attrs
    assert error.value.dataset.time.size >= 1
    with pytest.raises(ps.RunDiverged, match="what it recorded is stored") as error:
        ps.replay(toys.study, targets, batches, store=tmp_path, **asked)
    assert error.value.dataset.attrs["folder"].startswith(str(tmp_path))
