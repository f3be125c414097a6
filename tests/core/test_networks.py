"""The decoder of text against a plain one, its training, and what is measured of it against the probes."""

import contextlib
import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import plain_decoder
import pytest

import phasescope as ps
from phasescope import networks, probes
from phasescope.engine import calls, loop
from phasescope.engine.calls import Pace
from phasescope.engine.job import Job
from phasescope.networks.decoder import Dropping, Shape, forward, loss, losses_and_attention
from phasescope.networks.observables import measure
from phasescope.networks.plans import text_plan
from phasescope.networks.sampling import anywhere, in_turn
from phasescope.networks.starts import Draws
from phasescope.networks.training import optimiser, rate_over_time, training
from phasescope.store import Store
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run

BASE = Shape(vocabulary=11, context=7, width=6, hidden=10, layers=2, heads=2)
SHAPES = {
    "figure 2": BASE,
    "figure 2, normalised": dataclasses.replace(BASE, normalisation="pre"),
    "encoder layer": dataclasses.replace(
        BASE,
        layers=1,
        heads=1,
        positions="sinusoidal",
        normalisation="post",
        activation="relu",
        attention_bias=True,
        scaled_embedding=True,
    ),
    "gpt": dataclasses.replace(
        BASE, heads=3, positions="learned", normalisation="pre", tied=True, bias=False
    ),
    "strict": dataclasses.replace(BASE, positions="none", sees_itself=False),
}
PARTS = (
    *("positions", "normalisation", "activation", "tied"),
    *("sees_itself", "attention_bias", "bias", "scaled_embedding"),
)
# With those above every kind of positions meets every normalisation, and every switch both.
MORE = (
    ("alibi", "post", "relu", True, False, True, False, True),
    ("learned", "none", "relu", True, True, True, True, False),
    ("learned", "post", "gelu", False, False, False, True, True),
    ("sinusoidal", "none", "gelu", False, True, True, False, False),
    ("sinusoidal", "pre", "relu", True, False, False, True, True),
    ("none", "pre", "relu", False, True, True, False, True),
    ("none", "post", "gelu", True, True, True, True, False),
)
# An odd width has a last sine without its cosine.
SHAPES |= {
    f"{one[0]}, {one[1]}": dataclasses.replace(
        BASE, width=5, heads=1, hidden=7, **dict(zip(PARTS, one, strict=True))
    )
    for one in MORE
}


@pytest.fixture(autouse=True)
def exact():
    with ps.exact_numbers():
        yield


def decoder(shape, seed=0):
    """A decoder of which every parameter matters: nothing is left at zero or one."""
    draws = Draws(jr.key(seed), "gaussian", 0.5, shape.layers, shape.drawn, jnp.float64)
    net = networks.initial(draws, shape, 0.3)
    assert draws.used == shape.drawn
    rng = np.random.default_rng(seed + 1)
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x) + 0.1 * rng.normal(size=x.shape)), net)


def by_name(net):
    leaves, _ = jax.tree_util.tree_flatten_with_path(net)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(x) for path, x in leaves
    }


def windows_of(shape, count=3):
    rng = np.random.default_rng(5)
    return rng.integers(shape.vocabulary, size=(count, shape.context + 1)).astype(np.int32)


@pytest.mark.parametrize("name", SHAPES)
def test_loss_and_attention_are_those_of_a_plain_decoder(name):
    shape = SHAPES[name]
    net = decoder(shape)
    windows = windows_of(shape)
    losses, patterns = jax.jit(losses_and_attention)(net, jnp.asarray(windows))
    wanted = plain_decoder.loss(by_name(net), shape, windows)
    np.testing.assert_allclose(float(losses.mean()), wanted, rtol=1e-13)
    seen = plain_decoder.attention(by_name(net), shape, windows[0, :-1])
    np.testing.assert_allclose(np.asarray(patterns[0]), seen, atol=1e-14)


@pytest.mark.parametrize("name", SHAPES)
def test_the_gradient_is_that_of_a_plain_decoder_in_pytorch(name):
    torch = pytest.importorskip("torch", reason="the gradient is compared with PyTorch's")
    shape = SHAPES[name]
    net = decoder(shape)
    windows = windows_of(shape)
    ours = by_name(jax.jit(jax.grad(loss))(net, jnp.asarray(windows)))
    theirs = {k: torch.tensor(v, requires_grad=True) for k, v in by_name(net).items()}
    plain_decoder.loss(theirs, shape, windows, torch).backward()
    for parameter, slope in ours.items():
        wanted = theirs[parameter].grad.numpy()
        np.testing.assert_allclose(slope, wanted, rtol=1e-11, atol=1e-14, err_msg=parameter)


@pytest.mark.parametrize("name", ["encoder layer", "alibi, post"])
def test_with_dropout_the_loss_is_that_of_a_plain_decoder_with_the_same_masks(name):
    shape = SHAPES[name]
    net = decoder(shape)
    windows = windows_of(shape)
    key = jr.key(9)
    B, T, H = len(windows), shape.context, shape.heads
    stream = (B, T, shape.width)
    sizes = [stream, *([(B, H, T, T), stream, (B, T, shape.hidden), stream] * shape.layers)]
    masks = [
        np.asarray(jr.bernoulli(jr.fold_in(key, number), 0.7, size)) / 0.7
        for number, size in enumerate(sizes, 1)
    ]
    ours = float(jax.jit(loss)(net, jnp.asarray(windows), Dropping(0.3, key)))
    theirs = plain_decoder.loss(by_name(net), shape, windows, masks=masks)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert abs(ours - plain_decoder.loss(by_name(net), shape, windows)) > 1e-3


def test_a_loop_in_pytorch_ends_where_the_replay_of_its_batches_does():
    torch = pytest.importorskip("torch", reason="the other program is PyTorch's")
    spec = ps.find("regular_language").specify("tiny", "text_gpt", arithmetic="float64", clip=None)
    shape = spec.shape(30)
    start = by_name(decoder(shape))
    rng = np.random.default_rng(3)
    windows = rng.integers(30, size=(4, spec.sequences, spec.context + 1))
    theirs = {k: torch.tensor(v, requires_grad=True) for k, v in start.items()}
    descent = torch.optim.SGD(theirs.values(), lr=0.1)
    for batch in windows:
        descent.zero_grad()
        plain_decoder.loss(theirs, shape, batch, torch).backward()
        descent.step()
    asked = {"preset": "tiny", "arithmetic": "float64", "clip": None, "method": "sgd", "rate": 0.1}
    still = {"dropout": None, "warm_up": 0, "cosine": 0, "updates": 4, "store": False}
    given = {f"net.{name}": x for name, x in start.items()}
    run = ps.replay(
        "regular_language", "text_gpt", {"windows": windows}, params=given, **asked, **still
    )
    for name, x in theirs.items():
        np.testing.assert_allclose(
            run[f"params.net.{name}"].values, x.detach().numpy(), rtol=1e-11, atol=1e-13
        )


def test_a_token_beyond_the_vocabulary_is_no_number_and_not_the_last_type():
    net = decoder(BASE)
    windows = jnp.asarray(windows_of(BASE)).at[0, 2].set(BASE.vocabulary)
    assert np.isnan(loss(net, windows))
    assert np.isfinite(loss(net, windows[1:]))


@pytest.mark.parametrize("name", ["figure 2", "strict"])
def test_the_gradient_is_the_slope_of_the_plain_loss(name):
    shape = SHAPES[name]
    net = decoder(shape)
    windows = windows_of(shape)
    slope = by_name(jax.jit(jax.grad(loss))(net, jnp.asarray(windows)))
    start = by_name(net)
    rng = np.random.default_rng(1)
    way = {k: rng.normal(size=x.shape) for k, x in start.items()}
    length = np.sqrt(sum((x**2).sum() for x in way.values()))
    way = {k: x / length for k, x in way.items()}
    h = 1e-5
    ends = [
        plain_decoder.loss({k: x + s * h * way[k] for k, x in start.items()}, shape, windows)
        for s in (1, -1)
    ]
    along = sum((slope[k] * way[k]).sum() for k in start)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), along, rtol=1e-6)


def test_positions_are_not_seen_ahead_and_the_diagonal_may_be_masked():
    for name in ("figure 2", "strict"):
        shape = SHAPES[name]
        _, patterns = jax.jit(forward)(decoder(shape), jnp.asarray(windows_of(shape))[:, :-1])
        seen = np.asarray(patterns[0]) > 0
        ahead = np.triu(np.ones(seen.shape[-2:], bool), 1 if shape.sees_itself else 0)
        assert not (seen & ahead).any()
        assert seen[..., ~ahead].all()


def test_dropout_keeps_the_mean_and_differs_from_key_to_key():
    shape = dataclasses.replace(BASE, layers=1)
    net = decoder(shape)
    tokens = jnp.asarray(windows_of(shape))[:, :-1]
    plain = jax.jit(forward)(net, tokens)[0]
    dropped = jax.jit(lambda rate, key: forward(net, tokens, Dropping(rate, key))[0])
    none = dropped(0.0, jr.key(0))
    np.testing.assert_allclose(none, plain, rtol=1e-14)
    one, two = (dropped(0.2, jr.key(k)) for k in (0, 1))
    assert float(abs(one - two).max()) > 0.01


def test_the_starts_have_the_spread_that_they_say():
    shape = Shape(vocabulary=400, context=8, width=64, hidden=256, layers=4)
    for way, key, out in (("gaussian", 0.02, 0.02), ("gpt", 0.02, 0.02 / np.sqrt(8))):
        net = networks.initial(Draws(jr.key(0), way, 0.02, 4, shape.drawn, jnp.float64), shape, 0.0)
        assert np.std(net.blocks[0].key) == pytest.approx(key, rel=0.05)
        assert np.std(net.blocks[0].out) == pytest.approx(out, rel=0.05)
    torch_like = Draws(jr.key(0), "pytorch", 0.1, 4, shape.drawn, jnp.float64)
    net = networks.initial(torch_like, shape, 0.0)
    assert abs(net.embedding).max() == pytest.approx(0.1, rel=0.01)
    assert abs(net.blocks[1].query).max() == pytest.approx(np.sqrt(6 / 256), rel=0.01)
    assert abs(net.blocks[1].down).max() == pytest.approx(1 / 16, rel=0.01)


def test_the_rate_rises_in_a_line_and_falls_like_a_cosine():
    spec = networks.TextSpec(rate=1e-3, warm_up=100, cosine=2000, last_rate=0.1)
    rate = rate_over_time(spec)
    assert float(rate(0)) == pytest.approx(1e-3 / 101)
    assert float(rate(100)) == pytest.approx(1e-3)
    assert float(rate(1050)) == pytest.approx(1e-3 * 0.55)
    assert float(rate(2000)) == float(rate(9999)) == pytest.approx(1e-4)
    assert float(rate_over_time(networks.TextSpec(rate=5.0))(12345)) == 5.0


def test_feed_forward_layers_may_have_a_rate_of_their_own_after_clipping():
    spec = networks.TextSpec(rate=5.0, network_rate=2.0, clip=0.5, arithmetic="float64")
    net = decoder(BASE)
    slope = jax.tree.map(jnp.ones_like, net)
    size = np.sqrt(sum(x.size for x in jax.tree.leaves(net)))
    method = optimiser(spec)
    moved, _ = jax.jit(method.update)(slope, method.init(net), net)
    np.testing.assert_allclose(moved.blocks[0].up, -10.0 * 0.5 / size)
    np.testing.assert_allclose(moved.blocks[0].query, -5.0 * 0.5 / size)


def test_adamw_decays_matrices_and_nothing_else():
    changes = {"method": "adamw", "rate": 0.1, "weight_decay": 0.5, "arithmetic": "float64"}
    spec = networks.TextSpec(**changes)
    net = decoder(SHAPES["encoder layer"])
    method = optimiser(spec)
    still_ones = jax.tree.map(jnp.zeros_like, net)
    moved, _ = jax.jit(method.update)(still_ones, method.init(net), net)
    np.testing.assert_allclose(moved.embedding, -0.05 * net.embedding)
    np.testing.assert_allclose(moved.blocks[0].query, -0.05 * net.blocks[0].query)
    for still in (moved.blocks[0].query_bias, moved.blocks[0].norms[0].scale, moved.read_bias):
        assert not still.any()


def test_32_bit_parameters_stay_32_bit_ones():
    spec = networks.TextSpec(method="adamw", clip=1.0, dropout=0.1, cosine=10, warm_up=2)
    traced = spec.traced()
    plan = text_plan(traced)
    tables = jax.tree.map(jnp.asarray, plan.tables())
    state = jax.eval_shape(plan.init, jr.key(0), tables)
    carry = jax.eval_shape(plan.stages[0].dynamics.init, state.params)
    assert isinstance(carry, tuple)
    step = plan.stages[0].dynamics.advance
    start = ps.State(state.params, state.memory, carry)
    after = jax.eval_shape(step, start, jnp.array(0), jnp.array(1), jr.key(1))
    for before, now in zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True):
        assert before.dtype == now.dtype


def test_a_step_of_sgd_is_that_of_the_plain_gradient():
    spec = networks.TextSpec(
        context=6, sequences=2, width=4, hidden=6, types=20, arithmetic="float64"
    )
    plan = text_plan(spec)
    tables = jax.tree.map(jnp.asarray, plan.tables())
    state = plan.init(jr.key(3), tables)
    kind = training(spec)
    begun = ps.State(state.params, state.memory, kind.init(state.params))
    after = jax.jit(kind.advance)(begun, jnp.array(0), jnp.array(1), jr.key(4))
    batch = kind.batch(jr.key(4), jnp.array(0), state.memory)
    slope = jax.jit(jax.grad(loss))(state.params.net, batch.windows)
    wanted = optax.apply_updates(state.params.net, jax.tree.map(lambda s: -0.1 * s, slope))
    for ours, theirs in zip(
        jax.tree.leaves(after.params.net), jax.tree.leaves(wanted), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_windows_are_pieces_of_the_text():
    tokens = jnp.arange(100)
    drawn = np.asarray(anywhere(jr.key(0), tokens, 50, 7))
    assert (np.diff(drawn, axis=1) == 1).all()
    assert drawn.min() >= 0 and drawn.max() <= 99 and len(set(drawn[:, 0])) > 20
    first, second, again = (np.asarray(in_turn(jnp.array(n), tokens, 4, 7)) for n in (0, 1, 3))
    assert first[:, 0].tolist() == [0, 25, 50, 75]
    assert second[:, 0].tolist() == [7, 32, 57, 82]
    np.testing.assert_array_equal(again, first)


def test_order_parameters_are_those_of_the_numpy_probes():
    spec = networks.TextSpec(
        context=9, probes=3, maps=2, width=4, hidden=8, arithmetic="float64", start_scale=0.4
    )
    plan = text_plan(spec)
    state = plan.init(jr.key(1), jax.tree.map(jnp.asarray, plan.tables())).params
    seen = jax.jit(lambda state: measure(state, spec.maps))(state)
    shape = state.net.shape
    plain = by_name(state.net)
    text = np.stack(
        [
            plain_decoder.attention(plain, shape, w[:-1])
            for w in np.asarray(state.windows.validation)
        ]
    )
    double = np.stack(
        [plain_decoder.attention(plain, shape, w[:8]) for w in np.asarray(state.windows.doubled)]
    )
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(seen.attention_entropy, probes.entropy(text).mean((0, -1)), **close)
    np.testing.assert_allclose(
        seen.previous_token, probes.previous_token_score(text).mean(0), **close
    )
    np.testing.assert_allclose(seen.induction, probes.induction_score(double).mean(0), **close)
    norms = probes.group_norms(
        plain,
        {"slope_norm": r"slopes$", "key_query_norm": r"\.(key|query)$", "readout_norm": r"^read$"},
    )
    for name, wanted in norms.items():
        np.testing.assert_allclose(getattr(seen, name), wanted, rtol=1e-12)
    form = plain["blocks.1.query"][:, 1] @ plain["blocks.1.key"][:, 1].T
    np.testing.assert_allclose(seen.head_score_norm[1, 1], np.linalg.norm(form), rtol=1e-12)
    written = plain["blocks.0.value"][:, 1] @ plain["blocks.0.out"][1]
    np.testing.assert_allclose(seen.value_norm[0, 1], np.linalg.norm(written), rtol=1e-12)


@ps.arm(spec=networks.TextSpec)
def on_text(spec):
    """A decoder on text."""
    return text_plan(spec)


SMALL = {
    "context": 8,
    "sequences": 2,
    "width": 4,
    "hidden": 8,
    "updates": 6,
    "records": 3,
    "probes": 2,
    "maps": 1,
    "rate": 1.0,
    "arithmetic": "float64",
}
STUDY = ps.Study("on_text", networks.TextSpec(), arms=(on_text,))


def test_drift_is_the_total_variation_between_records():
    ds = ps.run(STUDY, on_text, store=False, start_scale=0.5, **SMALL)
    maps = ds.attention_map.values
    wanted = probes.drift(maps[1:], maps[:-1]).mean((1, -1))
    np.testing.assert_allclose(ds.attention_drift.values[1:], wanted)
    assert np.isnan(ds.attention_drift.values[0]).all() and (wanted > 0).all()
    np.testing.assert_allclose(
        ds.attention_moved[-1], probes.drift(maps[-1], maps[0]).mean((0, -1))
    )


class Stopped:
    """A meter at whose n-th tick somebody presses Ctrl-C."""

    def __init__(self, ticks):
        self.left = ticks

    @contextlib.contextmanager
    def __call__(self, label, total):
        def tick(amount):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        yield tick


def test_a_run_that_is_stopped_goes_on_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "pace", Pace())
    monkeypatch.setattr(calls, "FIRST_BUDGET", 2)
    monkeypatch.setattr(calls, "TARGET_SECONDS", 0.0)
    asked = networks.TextSpec(dropout=0.1, windows="in_turn", **SMALL)
    job = Job(on_text, asked)
    whole = find_or_run(STUDY, job, Context()).dataset
    stopped = Context(Store(tmp_path), Stopped(2), save_every=0.0)
    with pytest.raises(KeyboardInterrupt):
        find_or_run(STUDY, job, stopped)
    rest = find_or_run(STUDY, job, Context(Store(tmp_path))).dataset
    for name in whole.data_vars:
        np.testing.assert_array_equal(rest[name], whole[name], err_msg=name)
    assert rest.attrs["precision"] == "float64"


SONNETS = Path(__file__).parent / "data" / "sonnets.txt"  # five of Shakespeare's


def test_on_real_text_a_gpt_learns_more_than_how_frequent_characters_are():
    """The losses begin at that of 51 equal characters; what frequencies alone could reach is counted here."""
    sizes = {"context": 16, "sequences": 8, "width": 16, "hidden": 32, "layers": 1, "probes": 8}
    model = {"positions": "learned", "normalisation": "pre", "level": "character"}
    method = {"method": "adamw", "rate": 1e-2, "clip": 1.0, "updates": 150, "records": 2}
    run = ps.run(
        "regular_language",
        "text_gpt",
        corpus=str(SONNETS),
        store=False,
        progress=False,
        **sizes,
        **model,
        **method,
    )
    text = SONNETS.read_text()
    counts = np.array([text.count(letter) for letter in sorted(set(text))])
    assert len(counts) == 51
    frequencies = counts / counts.sum()
    of_frequencies = -(frequencies * np.log(frequencies)).sum()
    assert of_frequencies == pytest.approx(3.07, abs=0.01)
    np.testing.assert_allclose(run.training_loss[0], np.log(51), atol=0.02)
    assert run.training_loss[-1] < of_frequencies - 0.5
    assert run.validation_loss[-1] < of_frequencies - 0.3
    corpus = networks.read_corpus(str(SONNETS), "character")
    assert "".join(corpus.types[i] for i in corpus.training[:13]) == "Shall I compa"
