"""The decoder against the same model written plainly, and its gradient against differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from phasescope.studies.state_tracking import data
from phasescope.studies.state_tracking.data import Chains
from phasescope.studies.state_tracking.decoder import attention, network

from .decoders import VARIANTS, chains, plain_forward, small

loss_of = jax.jit(network.loss)
slope_of = jax.jit(jax.grad(network.loss))
heat_of = jax.jit(attention.heat)
along_of = jax.jit(attention.along_chain)


@jax.jit
def forward(net, some):
    clauses = network.embed(net, some)
    weights, context = network.attention(net, clauses)
    return weights, network.logits(net, context, clauses.plain_answers)


def log_softmax(x):
    return (
        x
        - x.max(-1, keepdims=True)
        - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_answers_are_those_of_the_full_forward(variant):
    net = small(**variant)
    some = chains()
    weights, scores = forward(net, some)
    for i, sentence in enumerate(data.sentence(some, net.shape.tokens)):
        expected, attended = plain_forward(net, sentence, some.length)
        L = some.length
        np.testing.assert_allclose(scores[i], expected[L : 2 * L], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(weights[i], attended[:, L : 2 * L, : 2 * L], atol=1e-14)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loss_is_the_cross_entropy_of_the_clauses_that_follow(variant):
    net = small(**variant)
    some = chains()
    L = some.length
    total = []
    for sentence in np.asarray(data.sentence(some, net.shape.tokens)):
        said = log_softmax(plain_forward(net, sentence, L)[0])
        total.append(
            -sum(said[t, p, sentence[t + 1, p]] for t in range(L, 2 * L) for p in range(5))
        )
    assert float(loss_of(net, some)) == pytest.approx(np.mean(total), rel=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gradient_is_the_slope_of_the_loss(variant):
    net = small(**variant)
    some = chains(count=3)
    slope = slope_of(net, some)
    leaves, tree = jax.tree.flatten(net)
    rng = np.random.default_rng(0)
    way = jax.tree.unflatten(tree, [jnp.asarray(rng.normal(size=x.shape)) for x in leaves])
    moved = lambda e: float(loss_of(jax.tree.map(lambda x, w: x + e * w, net, way), some))
    e = 1e-5
    differences = (8 * (moved(e) - moved(-e)) - (moved(2 * e) - moved(-2 * e))) / (12 * e)
    along = sum(
        float((g * w).sum()) for g, w in zip(*map(jax.tree.leaves, (slope, way)), strict=True)
    )
    assert along == pytest.approx(differences, rel=1e-7)


def test_chains_may_be_padded():
    net = small()
    long = chains(length=6)
    short = Chains(long.names[:, :5], long.actions[:, :4], long.values[:, :5])
    padded = along_of(net, long, 4)
    plain = along_of(net, short, 4)
    for a, b in zip(padded[:2], plain[:2], strict=True):
        np.testing.assert_allclose(a[:4], b, atol=1e-14)
        assert np.isnan(a[4:]).all()
    assert float(padded[2]) == float(plain[2])


def test_the_bands_are_the_predicate_of_the_next_step_and_the_answer_itself():
    weights = np.zeros((3, 6))
    weights[[0, 1, 2], [0, 1, 2]] = [0.1, 0.2, 0.3]
    weights[[0, 1, 2], [3, 4, 5]] = [0.9, 0.8, 0.7]
    predicate, answer = attention.bands(jnp.asarray(weights))
    np.testing.assert_array_equal(predicate, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(answer, [0.9, 0.8, 0.7])


@pytest.mark.parametrize("variant", VARIANTS)
def test_permuted_predicates_permute_the_attention_and_change_nothing_else(variant):
    net = small(**variant)
    some = chains()
    order = np.array([2, 0, 3, 1])
    plain = heat_of(net, some)
    permuted = heat_of(net, some, order)
    np.testing.assert_allclose(permuted[..., np.argsort(order)], plain[..., :4], atol=1e-15)
    np.testing.assert_allclose(permuted[..., 4:], plain[..., 4:], atol=1e-15)
    by_hand = [
        plain_forward(net, data.permuted(s, order), 4)[1][:, 4:8, :8]
        for s in data.sentence(some, net.shape.tokens)
    ]
    np.testing.assert_allclose(permuted, np.mean(by_hand, axis=0), atol=1e-14)


def test_one_update_of_adam_is_the_one_in_the_book():
    net = small()
    some = chains()
    eta = 1e-2
    slope = slope_of(net, some)
    optimiser = optax.adam(eta)

    @jax.jit
    def update(net, state):
        updates, state = optimiser.update(jax.grad(network.loss)(net, some), state)
        return optax.apply_updates(net, updates), state

    once, state = update(net, optimiser.init(net))
    second = slope_of(once, some)
    after = update(once, state)[0]

    def book(x, g1, g2):
        m = 0.1 * g1
        v = 0.001 * g1**2
        x = x - eta * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)
        m, v = 0.9 * m + 0.1 * g2, 0.999 * v + 0.001 * g2**2
        return x - eta * (m / (1 - 0.9**2)) / (np.sqrt(v / (1 - 0.999**2)) + 1e-8)

    expected = jax.tree.map(book, *(jax.tree.map(np.asarray, x) for x in (net, slope, second)))
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_loss_and_gradient_are_those_of_torch():
    torch = pytest.importorskip("torch")
    net = small(layer_norm=True)
    some = chains()
    parts = {f: torch.tensor(np.asarray(getattr(net, f)), requires_grad=True) for f in FIELDS}
    norms = [
        [torch.tensor(np.asarray(x), requires_grad=True) for x in (n.scale, n.shift)]
        for n in net.norms
    ]
    clauses = torch.tensor(np.asarray(data.sentence(some, net.shape.tokens)))
    L = some.length
    D = net.shape.width
    normed = lambda i, x: torch.nn.functional.layer_norm(x, (D,), *norms[i])
    x = normed(0, sum(parts["embedding"][p][clauses[..., p]] for p in range(5)))
    q, k, v = (torch.einsum("btd,dhs->bhts", x, parts[name]) for name in ("query", "key", "value"))
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = torch.einsum("bhts,hsd->btd", found, parts["out"])
    y = (
        torch.relu(normed(1, y) @ parts["up"] + parts["up_bias"]) @ parts["down"]
        + parts["down_bias"]
    )
    scores = torch.einsum("btd,dpv->btpv", normed(2, y), parts["read"]) + parts["read_bias"]
    asked = scores[:, L : 2 * L].reshape(-1, net.shape.tokens.size)
    after = clauses[:, L + 1 :].reshape(-1)
    loss = torch.nn.functional.cross_entropy(asked, after, reduction="sum") / len(clauses)
    loss.backward()
    value = loss_of(net, some)
    slope = slope_of(net, some)
    assert float(value) == pytest.approx(loss.item(), rel=1e-12)
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(slope, name), parts[name].grad.numpy(), rtol=1e-9, atol=1e-12
        )


FIELDS = (
    "embedding",
    "query",
    "key",
    "value",
    "out",
    "up",
    "up_bias",
    "down",
    "down_bias",
    "read",
    "read_bias",
)


def test_the_size_at_the_start_is_that_of_the_embeddings_and_of_nothing_else():
    shape = small().shape
    full, less = (network.initial(jr.key(0), shape, jnp.float64, size) for size in (1.0, 0.25))
    np.testing.assert_array_equal(less.embedding, 0.25 * full.embedding)
    same = lambda net: jax.tree.leaves(eqx.tree_at(lambda n: n.embedding, net, None))
    for a, b in zip(same(less), same(full), strict=True):
        np.testing.assert_array_equal(a, b)
