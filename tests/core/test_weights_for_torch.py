"""The weights of a run of ours, in a file that torch loads."""

from __future__ import annotations

import numpy as np
import pytest

import phasescope as ps


def test_torch_loads_the_state_that_a_run_ended_with(tmp_path, store):
    pytest.importorskip("torch")
    from safetensors.torch import load_file

    run = ps.run("linear_modes", "descent", steps=10, progress=False)
    arrays = ps.state(run, out=tmp_path / "weights.safetensors")
    tensors = load_file(tmp_path / "weights.safetensors")
    assert set(tensors) == set(arrays)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor.numpy(), arrays[name])


PARTS = {"residual": True, "layer_norm": True}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """The weights of a decoder of `state_tracking`, with all its parts, as a file."""
    folder = tmp_path_factory.mktemp("decoder")
    asked = {"preset": "tiny", "store": folder, "keep": ["loss"], "progress": False}
    run = ps.run("state_tracking", "decoder", **asked, **PARTS)
    ps.state(run, out=folder / "weights.safetensors")
    return folder / "weights.safetensors"


def in_torch(torch, w, predicates, answers):
    """The decoder in plain torch: clauses of five tokens in, scores of the five tokens of the next clause out."""

    def norm(x, place):
        scale, shift = (w[f"params.net.norms.{place}.{part}"] for part in ("scale", "shift"))
        return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift, 1e-5)

    def embedded(tokens):
        return sum(w["params.net.embedding"][slot][tokens[..., slot]] for slot in range(5))

    plain = embedded(answers)
    clauses = norm(torch.cat([embedded(predicates), plain], 1), 0)
    q, k, v = (
        torch.einsum("bcd,dhs->bhcs", clauses, w[f"params.net.{name}"])
        for name in ("query", "key", "value")
    )
    L = answers.shape[1]
    visible = torch.ones(2 * L, 2 * L, dtype=torch.bool).tril()[L:]  # predicates come first
    fetched = torch.nn.functional.scaled_dot_product_attention(q[:, :, L:], k, v, visible)
    x = torch.einsum("bhcs,hsd->bcd", fetched, w["params.net.out"]) + plain
    inner = torch.relu(norm(x, 1) @ w["params.net.up"] + w["params.net.up_bias"])
    x = x + inner @ w["params.net.down"] + w["params.net.down_bias"]
    read = torch.einsum("bcd,dst->bcst", norm(x, 2), w["params.net.read"])
    return read + w["params.net.read_bias"]


def test_torch_computes_with_the_weights_of_a_decoder_what_we_do(decoder):
    torch = pytest.importorskip("torch")
    import jax
    import jax.numpy as jnp
    from safetensors.torch import load_file

    from phasescope.studies.state_tracking import actions, data
    from phasescope.studies.state_tracking.decoder import network
    from phasescope.studies.state_tracking.decoder.training import shape_of

    weights = load_file(decoder)
    study = ps.find("state_tracking")
    spec = study.specify("tiny", study.arm("decoder"), **PARTS)
    tokens = spec.tokens
    chains = data.chains(jax.random.key(3), actions.named(spec.group), spec.variables, 4, 6)
    names, moves, values = (np.asarray(x) for x in (chains.names, chains.actions, chains.values))
    blank = np.full_like(moves, tokens.blank)
    predicates = [names[:, 1:], moves + tokens.first_action, names[:, :-1], blank, blank]
    answers = [blank, blank, blank, names[:, :-1], values[:, :-1] + tokens.first_value]
    told = (torch.from_numpy(np.stack(x, -1).astype(np.int64)) for x in (predicates, answers))
    found = in_torch(torch, weights, *told)

    with ps.exact_numbers():
        net = network.initial(jax.random.key(0), shape_of(spec), "float64")
        leaves, tree = jax.tree_util.tree_flatten_with_path(net)
        name_of = lambda path: jax.tree_util.keystr(path, simple=True, separator=".")
        net = jax.tree.unflatten(
            tree, [jnp.asarray(weights[f"params.net.{name_of(path)}"]) for path, _ in leaves]
        )
        clauses = network.embed(net, chains)
        _, context = network.attention(net, clauses)
        ours = np.asarray(network.logits(net, context, clauses.plain_answers))
    assert abs(ours).max() > 0.1
    np.testing.assert_allclose(found.numpy(), ours, rtol=0, atol=1e-12)


def test_the_weights_of_a_decoder_are_probed_without_its_moments(decoder):
    ds = ps.probe(decoder)
    from safetensors.numpy import load_file

    w = load_file(decoder)
    wanted = np.sqrt(sum((w[f"params.net.{name}"] ** 2).sum() for name in ("query", "key")))
    assert ds.norm.sel(group="key_query").item() == pytest.approx(wanted, rel=1e-14)
