import jax
import jax.numpy as jnp
import pytest

from phasescope.studies.scan_and_snap.model import Weights


def log_likelihood(Y, Z, tokens, last, label):
    """The model on one explicit sequence of one-hot tokens, with M x M tables, as one would write it down."""
    X = jax.nn.one_hot(tokens, len(Y))
    b = jax.nn.softmax(X @ Z[last])
    v = X.T @ b
    w = Y.T @ (v / jnp.linalg.norm(v))
    return w[label] - jax.nn.logsumexp(w)


def endless(Y, Z, P, last, labels):
    """The mean log-likelihood of endless sequences of all classes, with M x M tables."""

    def one(p, m, label):
        c = p * jnp.exp(Z[m])
        w = Y.T @ (c / jnp.linalg.norm(c))
        return w[label] - jax.nn.logsumexp(w)

    return jax.vmap(one)(P, last, labels).mean()


@pytest.fixture
def explicit():
    return log_likelihood


@pytest.fixture
def full_objective():
    return endless


@pytest.fixture
def train_full():
    """Both M x M tables after some updates from zero, by automatic differentiation."""

    def run(P, last, labels, M, steps, eta_Y, eta_Z, optimiser):
        S = P.shape[1]
        P = jnp.pad(P, ((0, 0), (0, M - S)))
        slope = jax.grad(lambda w: endless(w.Y, w.Z, P, last, labels))

        def step(t, state):
            w, m, v = state
            g = slope(w)
            if optimiser == "adam":
                m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
                v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, g)
                push = jax.tree.map(
                    lambda m, v: (
                        (m / (1 - 0.9 ** (t + 1.0)))
                        / (jnp.sqrt(v / (1 - 0.999 ** (t + 1.0))) + 1e-8)
                    ),
                    m,
                    v,
                )
            else:
                push = m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
            return Weights(w.Y + eta_Y * push.Y, w.Z + eta_Z * push.Z), m, v

        rest = Weights(jnp.zeros((M, M)), jnp.zeros((M, M)))
        return jax.jit(lambda s: jax.lax.fori_loop(0, steps, step, s))((rest, rest, rest))[0]

    return run
