import jax
import jax.numpy as jnp
import numpy as np
import pytest

import phasescope as ps
from phasescope.studies.scan_and_snap import study, training
from phasescope.studies.scan_and_snap.model import Weights
from phasescope.studies.scan_and_snap.spec import Spec
from phasescope.studies.scan_and_snap.training import sampling, updates

QUIET = {"store": False, "progress": False}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_symmetric_follows_population(optimiser):
    sizes = {"num_last": 3, "per_last": 2, "common": 3, "distinct": 4, "steps": 60}
    numbers = sizes | {"optimiser": optimiser, "eta_Z": 0.3, "eta_Y": 0.5}
    full, small = (
        ps.run(study, arm, at=[1, 7, 60], **numbers, **QUIET) for arm in ("population", "symmetric")
    )
    for name in ("z_dt", "c_dt", "f_ct", "ct_mass", "dt_entropy", "residual", "xi_eff", "iota"):
        for row in range(full.sizes["class"]):
            np.testing.assert_allclose(
                full[name].isel({"class": row}), small[name][:, 0], rtol=1e-8, atol=1e-12
            )
    for name in ("loss", "rho", "lambda1", "lag"):
        np.testing.assert_allclose(full[name], small[name], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        full.beta.values[:, 0, 1], small.beta.values[:, 0, 0], rtol=1e-7, atol=1e-12
    )
    np.testing.assert_allclose(full.z_ct[:, 2], small.z_ct[:, 0], atol=1e-12)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_sampled_steps_are_those_of_torch(optimiser):
    torch = pytest.importorskip("torch")
    spec = study.presets["tiny"].replace(optimiser=optimiser, eta_Y=0.4, eta_Z=0.7, init="uniform")
    start = training.start(jax.random.key(0), spec)
    Y, Z = (torch.tensor(np.array(x), requires_grad=True) for x in start)
    groups = [{"params": [Y], "lr": 0.4}, {"params": [Z], "lr": 0.7}]
    theirs = (
        torch.optim.Adam(groups)
        if optimiser == "adam"
        else torch.optim.SGD(groups, lr=1.0, momentum=0.9)
    )
    key, steps = jax.random.key(5), 20
    assert steps > updates.AHEAD  # more than are drawn at once
    draw = jax.jit(lambda t: sampling.draw(jax.random.fold_in(key, t), spec))
    for t in range(steps):
        loss = _torch_loss(torch, Y, Z, draw(t), spec)
        theirs.zero_grad()
        loss.backward()
        theirs.step()
    span = jnp.array(0), jnp.array(steps)
    advance = jax.jit(
        lambda state: updates.minibatches(spec).advance(ps.State(state), *span, key).params
    )
    ours = advance(updates.begin(start, spec))
    np.testing.assert_allclose(ours.weights.Y, Y.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.weights.Z, Z.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.batch_loss, loss.item(), rtol=1e-12)


def _torch_loss(torch, Y, Z, batch, spec):
    """Explicit sequences with the counts of the batch."""
    C, D, losses = spec.common, spec.distinct, []
    for label, counts in zip(np.array(batch.label), np.array(batch.counts, int), strict=True):
        slots = np.repeat(np.arange(C + D), counts)
        tokens = torch.tensor(np.where(slots < C, slots, slots + D * label))
        b = torch.softmax(Z[label // spec.per_last, tokens], 0)
        v = torch.zeros(len(Y), dtype=Y.dtype).index_add(0, tokens, b)
        w = (v / v.norm()) @ Y
        losses.append(torch.logsumexp(w, 0) - w[label])
    return torch.stack(losses).mean()


def test_the_attention_table_is_laid_out_by_token():
    run = ps.run(study, "population", preset="tiny", **QUIET)
    assert run.attn.dims == ("time", "class", "token") and run.sizes["token"] == 2 + 2 * 3
    np.testing.assert_allclose(run.attn.sum("token"), 1, rtol=1e-13)
    np.testing.assert_array_equal(run.attn.values[-1, 1, 2:5], 0)
    np.testing.assert_array_equal(run.attn.values[-1, 1, 5:], run.c_dt.values[-1, 1])


def test_entropy_is_of_the_renormalised_distinct_part():
    run = ps.run(study, "symmetric", steps=1, **QUIET)
    p = np.arange(1, 11) / 55
    np.testing.assert_allclose(run.dt_entropy[0], -(p * np.log(p)).sum(), rtol=1e-14)
    np.testing.assert_allclose(run.dt_entropy[0], 2.151, atol=5e-4)
    np.testing.assert_allclose(run.loss[0], np.log(34), rtol=1e-14)


@pytest.mark.parametrize(
    "num_last", [2, sampling.FEW + 1]
)  # both ways to multiply with the decoder
def test_runs_of_one_seed_share_their_batches_whatever_their_rates(num_last):
    work = {"preset": "tiny", "num_last": num_last, "at": [1, 6], **QUIET}
    sweep = ps.sweep(study, "sampled", eta_Z=[0.0, 0.5], block=2, **work)
    alone = ps.run(study, "sampled", eta_Z=0.5, **work)
    np.testing.assert_allclose(sweep.loss.sel(eta_Z=0.5), alone.loss, rtol=1e-12)
    first = sweep.batch_loss.sel(time=1)
    assert float(first[0]) == float(first[1])


def test_in_flow_only_the_ratio_of_rates_and_their_product_with_time_matter():
    one = ps.run(
        study,
        "symmetric",
        optimiser="flow",
        eta_Y=1.0,
        eta_Z=0.3,
        horizon=400.0,
        at=[40.0, 400.0],
        **QUIET,
    )
    two = ps.run(
        study,
        "symmetric",
        optimiser="flow",
        eta_Y=4.0,
        eta_Z=1.2,
        horizon=400.0,
        at=[10.0, 100.0],
        **QUIET,
    )
    np.testing.assert_allclose(one.z_dt, two.z_dt.assign_coords(time=one.time), rtol=1e-7)


def test_small_steps_follow_the_flow():
    flow = ps.run(study, "symmetric", optimiser="flow", horizon=20.0, at=[20.0], **QUIET)
    steps = ps.run(
        study, "symmetric", momentum=0.0, eta_Y=0.01, eta_Z=0.01, steps=2000, at=[2000], **QUIET
    )
    np.testing.assert_allclose(steps.z_dt[-1], flow.z_dt[-1], rtol=5e-3)


def test_a_ratio_replaces_the_decoders_rate():
    assert Spec(eta_Z=0.5, ratio=4.0, eta_Y=7.0).rate_Y == 2.0


def test_momentum_of_each_table_is_its_own():
    spec = Spec(momentum=0.5, momentum_Z=0.25, eta_Y=2.0, eta_Z=3.0)
    state = updates.Training(
        Weights(np.ones((1, 1)), np.ones((1, 1))),
        Weights(np.array([[8.0]]), np.array([[4.0]])),
        0.0,
    )
    moved = updates.update(
        state, Weights(np.array([[1.0]]), np.array([[-1.0]])), *updates.settings(Weights, spec)
    )
    assert moved.moments == Weights(np.array([[5.0]]), np.array([[0.0]]))
    assert moved.weights == Weights(np.array([[11.0]]), np.array([[1.0]]))


@pytest.mark.parametrize(
    ("arm", "changes", "words"),
    [
        ("sampled", {"classes": 3.0}, "laid out by num_last and per_last"),
        ("sampled", {"optimiser": "flow"}, "taken in steps"),
        ("population", {"init": "uniform", "vocabulary": 50.0}, "leave `vocabulary` out"),
        ("population", {"vocabulary": 20.0}, "34 tokens are laid out"),
        ("symmetric", {"init": "uniform"}, 'only from init="zero"'),
    ],
)
def test_what_an_arm_cannot_do_is_an_error(arm, changes, words):
    with pytest.raises(ps.SpecError, match=words):
        ps.run(study, arm, **changes, **QUIET)


def test_averaged_updates_are_the_summed_ones_over_the_classes():
    assert [Spec(classes=8.0, class_weight=word).share for word in ("mean", "sum")] == [0.125, 1.0]


def test_single_precision_changes_mini_batches_by_rounding_only():
    exact = ps.run(study, "sampled", preset="tiny", **QUIET)
    single = ps.run(study, "sampled", preset="tiny", precision="float32", **QUIET)
    assert 0 < float(abs(single.z_dt / exact.z_dt - 1).max()) < 1e-4


def test_the_number_of_distinct_tokens_may_be_swept():
    ds = ps.sweep("scan_and_snap", "sampled", preset="tiny", distinct=[3, 4], store=False)
    one = ps.run("scan_and_snap", "sampled", preset="tiny", distinct=4, store=False)
    assert ds.distinct.values.tolist() == [3, 4]
    np.testing.assert_array_equal(ds.z_dt.sel(distinct=4), one.z_dt)
    assert np.isnan(ds.z_dt.sel(distinct=3, distinct_token=3)).all()
