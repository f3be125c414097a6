"""The parameters of a run by themselves, and as a HookedTransformer of TransformerLens."""

from __future__ import annotations

import dataclasses
import functools
import json
from importlib import metadata

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file
from scipy.special import erf, softmax

import phasescope as ps
from phasescope import networks
from phasescope.networks import corpora
from phasescope.networks.decoder import Shape, forward, logits
from phasescope.networks.hooked import hooked, hooked_config, named_parameters, parameter_shapes
from phasescope.networks.starts import Draws

BASE = Shape(vocabulary=11, context=7, width=6, hidden=10, layers=2, heads=3, positions="learned")
SHAPES = {
    "plain": BASE,
    "normalised": dataclasses.replace(BASE, normalisation="pre"),
    "gpt": dataclasses.replace(BASE, normalisation="pre", tied=True, bias=False),
    "all biases": dataclasses.replace(
        BASE, normalisation="pre", attention_bias=True, activation="relu"
    ),
    "scaled, on waves": dataclasses.replace(
        BASE, positions="sinusoidal", scaled_embedding=True, tied=True, activation="relu"
    ),
    "without positions": dataclasses.replace(BASE, positions="none", layers=1, heads=1),
}
TOKENS = np.random.default_rng(0).integers(BASE.vocabulary, size=(3, BASE.context))


def made(shape):
    """A decoder without numbers."""
    draws = lambda: Draws(jr.key(0), "gaussian", 0.5, shape.layers, shape.drawn, jnp.float32)
    return jax.eval_shape(lambda: networks.initial(draws(), shape, 0.3))


def decoder(shape, dtype):
    """A decoder of which every parameter matters: nothing is left at zero or one."""
    random = np.random.default_rng(1)
    draw = lambda x: jnp.asarray(random.normal(size=x.shape) / 2, dtype)
    return jax.tree.map(draw, made(shape))


@functools.cache
def converted(shape, dtype=jnp.float64):
    """A decoder as a HookedTransformer, and the logits that it has here."""
    with ps.exact_numbers():
        net = decoder(shape, dtype)
        found = np.asarray(
            jax.jit(lambda net: logits(net, forward(net, jnp.asarray(TOKENS))[0]))(net)
        )
        leaves = [np.asarray(x) for x in jax.tree.leaves(net)]
    assert abs(found).max() > 1
    named = named_parameters(leaves, shape)
    assert named is not None
    return hooked(named, shape), found


def in_numpy(w, config, tokens):
    """The logits of a HookedTransformer, by its documentation and no library."""

    def norm(x, name):
        if config["normalization_type"] is None:
            return x
        centred = x - x.mean(-1, keepdims=True)
        size = np.sqrt((centred**2).mean(-1, keepdims=True) + config["eps"])
        return centred / size * w[f"{name}.w"] + w[f"{name}.b"]

    def part(x, layer, letter):
        here = f"blocks.{layer}.attn"
        by_head = np.einsum("btd,hds->bhts", x, w[f"{here}.W_{letter}"])
        return by_head + w[f"{here}.b_{letter}"][:, None]

    n = tokens.shape[1]
    x = w["embed.W_E"][tokens] + w["pos_embed.W_pos"][:n]
    for layer in range(config["n_layers"]):
        block = f"blocks.{layer}"
        before = norm(x, f"{block}.ln1")
        q, k, v = (part(before, layer, letter) for letter in "QKV")
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(config["d_head"])
        pattern = softmax(np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf), -1)
        x = x + np.einsum("bhts,hsd->btd", pattern @ v, w[f"{block}.attn.W_O"])
        x = x + w[f"{block}.attn.b_O"]
        inner = norm(x, f"{block}.ln2") @ w[f"{block}.mlp.W_in"] + w[f"{block}.mlp.b_in"]
        relu = config["act_fn"] == "relu"
        inner = np.maximum(inner, 0) if relu else inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = x + inner @ w[f"{block}.mlp.W_out"] + w[f"{block}.mlp.b_out"]
    return norm(x, "ln_final") @ w["unembed.W_U"] + w["unembed.b_U"]


@pytest.mark.parametrize("name", SHAPES)
def test_hooked_arrays_have_the_logits_of_the_decoder(name):
    shape = SHAPES[name]
    arrays, ours = converted(shape)
    assert {x.dtype for k, x in arrays.items() if not k.endswith((".mask", ".IGNORE"))} == {
        np.dtype("float64")
    }
    found = in_numpy(arrays, hooked_config(shape), TOKENS)
    np.testing.assert_allclose(found, ours, rtol=0, atol=1e-10)


def in_hooked_transformer(arrays, config, tokens):
    """The logits that TransformerLens computes from arrays that it takes without a word: no name is missing or left over."""
    torch = pytest.importorskip("torch")
    lens = pytest.importorskip("transformer_lens", reason="transformer_lens is not installed")
    if int(metadata.version("transformer-lens").partition(".")[0]) >= 4:
        pytest.skip("transformer_lens 4 has no model of its own")
    tensors = {name: torch.from_numpy(np.array(x)) for name, x in arrays.items()}
    dtype = tensors["embed.W_E"].dtype
    model = lens.HookedTransformer(
        lens.HookedTransformerConfig(**config, dtype=dtype, device="cpu")
    )
    model.load_state_dict(tensors)
    with torch.no_grad():
        return model(torch.from_numpy(tokens)).numpy()


LENS_WARNS = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@LENS_WARNS
@pytest.mark.parametrize(("kind", "far"), [("float64", 1e-10), ("float32", 1e-5)])
@pytest.mark.parametrize("name", SHAPES)
def test_transformer_lens_computes_the_logits_of_the_decoder(name, kind, far):
    """With TransformerLens 2.18.0; logits are 3 to 30."""
    shape = SHAPES[name]
    arrays, ours = converted(shape, getattr(jnp, kind))
    found = in_hooked_transformer(arrays, hooked_config(shape), TOKENS)
    assert found.dtype == kind
    np.testing.assert_allclose(found, ours, rtol=0, atol=far * abs(ours).max())


GPT = {
    "preset": "tiny",
    "layers": 1,
    "types": 0,
    "positions": "learned",
    "normalisation": "pre",
    "tied": True,
    "bias": False,
}


@pytest.fixture(scope="module")
def gpt(tmp_path_factory):
    """A run of the small GPT on characters, which is stored."""
    folder = tmp_path_factory.mktemp("gpt")
    book = folder / "book.txt"
    book.write_text("a rose is a rose is a rose\n" * 30)
    asked = {"seed": 2, "corpus": str(book), "store": folder / "store", "progress": False}
    return ps.run("regular_language", "text_gpt", **asked, **GPT)


def test_own_weights_are_the_network_alone_under_the_names_that_given_takes(gpt):
    found = ps.weights(gpt)
    whole = ps.state(gpt)
    assert any(name.startswith("memory") for name in whole)
    assert any(name.startswith("params.windows") for name in whole)
    wanted = {n.removeprefix("params."): x for n, x in whole.items() if n.startswith("params.net.")}
    assert list(found) == list(wanted)
    for name, x in found.items():
        np.testing.assert_array_equal(x, wanted[name])
    assert found.config == {}
    study = ps.find("regular_language")
    begun = ps.given(study.arm("text_gpt"), params=found)
    asked = GPT | {"corpus": json.loads(gpt.attrs["spec"])["corpus"]}
    more = ps.run(study, begun, store=False, progress=False, **asked)
    assert float(more.training_loss[0]) == pytest.approx(float(gpt.training_loss[-1]), rel=1e-12)


def test_a_file_of_hooked_weights_says_how_the_model_is_built(gpt, tmp_path):
    found = ps.weights(gpt, layout="hooked", out=tmp_path / "hooked.safetensors")
    read = load_file(tmp_path / "hooked.safetensors")
    assert read.keys() == found.keys()
    for name, x in read.items():
        np.testing.assert_array_equal(x, found[name])
    with safe_open(tmp_path / "hooked.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["config"]) == found.config
    assert found.config == {
        "n_layers": 1, "d_model": 4, "n_ctx": 8, "d_head": 2, "n_heads": 2, "d_mlp": 8, "d_vocab": 4,
        "act_fn": "gelu", "normalization_type": "LN", "eps": 1e-5, "positional_embedding_type": "standard",
    }  # fmt: skip


def loss_of_training_windows(gpt, scores_of):
    """The loss of a run on its fixed training sequences, by somebody else's logits."""
    windows = ps.state(gpt)["params.windows.training"]
    scores = scores_of(windows[:, :-1].astype(np.int64))
    right = np.take_along_axis(scores, windows[:, 1:, None], -1)[..., 0]
    return (np.log(np.exp(scores).sum(-1)) - right).mean()


def test_hooked_weights_of_a_run_have_the_loss_that_it_recorded(gpt):
    found = ps.weights(gpt, layout="hooked")
    loss = loss_of_training_windows(gpt, lambda tokens: in_numpy(found, found.config, tokens))
    assert loss == pytest.approx(float(gpt.training_loss[-1]), rel=1e-10)


@LENS_WARNS
def test_transformer_lens_has_the_loss_that_a_run_recorded(gpt):
    w = ps.weights(gpt, layout="hooked")
    loss = loss_of_training_windows(gpt, lambda tokens: in_hooked_transformer(w, w.config, tokens))
    assert loss == pytest.approx(float(gpt.training_loss[-1]), rel=1e-10)


def test_torch_loads_the_weights_of_a_run(gpt, tmp_path):
    pytest.importorskip("torch")
    from safetensors.torch import load_file as load

    for layout in ("own", "hooked"):
        found = ps.weights(gpt, layout=layout, out=tmp_path / "w.safetensors")
        tensors = load(tmp_path / "w.safetensors")
        assert {name: tuple(x.shape) for name, x in tensors.items()} == {
            name: x.shape for name, x in found.items()
        }


def test_names_do_not_need_the_corpus(gpt, monkeypatch):
    before = ps.weights(gpt)
    monkeypatch.setattr(corpora, "_given", {})
    corpora.read_corpus.cache_clear()
    with pytest.raises(ps.CorpusError):
        corpora.read_corpus(json.loads(gpt.attrs["spec"])["corpus"])
    assert list(ps.weights(gpt)) == list(before)
    assert ps.weights(gpt, layout="hooked").config["d_vocab"] == 4


def test_a_run_of_another_study_has_its_parameters_under_their_own_names(store):
    run = ps.run("linear_modes", "descent", steps=10, progress=False)
    found = ps.weights(run)
    assert {name: x.shape for name, x in found.items()} == {"a": (3,), "b": (3,)}
    with pytest.raises(
        ps.SpecError, match=r"linear_modes\.descent is none\. layout=.own. has"
    ) as error:
        ps.weights(run, layout="hooked")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"positions": "alibi"}, "positions=alibi has slopes that are learned"),
        ({"normalisation": "post"}, "normalisation=post comes after each addition"),
        ({"sees_itself": False}, "sees_itself=False leaves the diagonal of attention out"),
    ],
)
def test_what_transformer_lens_has_not_is_one_clear_sentence(changes, said):
    with pytest.raises(ps.SpecError, match=said) as error:
        hooked({}, dataclasses.replace(BASE, **changes))
    assert "\n" not in str(error.value)


def test_a_run_that_is_no_hooked_transformer_is_named_and_has_its_own_weights(tmp_path):
    asked = {"preset": "tiny", "layers": 1, "store": tmp_path, "progress": False}
    run = ps.run("lazy_to_rich", "text_two_layer", **asked)
    with pytest.raises(ps.SpecError, match=r"layer/.* is no HookedTransformer: positions=alibi"):
        ps.weights(run, layout="hooked")
    assert ps.weights(run)["net.blocks.0.slopes"].shape == (2,)


def test_of_a_block_of_seeds_one_run_is_taken_at_a_time(gpt, tmp_path):
    asked = {"seeds": 3, "block": 4, "store": tmp_path, "progress": False}
    corpus = json.loads(gpt.attrs["spec"])["corpus"]
    ps.sweep("regular_language", "text_gpt", corpus=corpus, **asked, **GPT)
    [block] = (tmp_path / "regular_language" / "text_gpt").iterdir()
    with pytest.raises(ps.SpecError, match=r"is a block of 3 runs that differ in seed.*lane=2"):
        ps.weights(block)
    for lane in (3, -1, True):  # a truth value would take all of them
        with pytest.raises(ps.SpecError, match=f"lanes go from 0 to 2, got lane={lane}"):
            ps.weights(block, lane=lane)
    for layout in ("own", "hooked"):
        for name, x in ps.weights(block, lane=2, layout=layout).items():
            wanted = ps.weights(gpt, layout=layout)[name]
            np.testing.assert_allclose(x, wanted, rtol=1e-10, atol=1e-12)
    with pytest.raises(ps.SpecError, match="is a single run, got lane=0"):
        ps.weights(gpt, lane=0)


@pytest.mark.parametrize("read", [ps.weights, ps.state])
def test_what_torch_could_not_load_is_not_written(read, gpt, tmp_path):
    with pytest.raises(ps.SpecError, match=r"arrays are written as \.safetensors, .* got out="):
        read(gpt, out=tmp_path / "weights.pt")
    with pytest.raises(ps.StoreError, match=r"there is no folder .*nowhere.* Make it first\."):
        read(gpt, out=tmp_path / "nowhere" / "weights.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_layout_that_there_is_not_is_named(gpt):
    with pytest.raises(ps.SpecError, match=r'layout is "own" or "hooked", got layout=.hf.'):
        ps.weights(gpt, layout="hf")


@pytest.mark.parametrize("name", SHAPES)
def test_the_shapes_of_parameters_are_those_of_a_decoder(name):
    shape = SHAPES[name]
    leaves = [x.shape for x in jax.tree.leaves(made(shape))]
    assert list(parameter_shapes(shape).values()) == leaves
    assert named_parameters([np.zeros(3)], shape) is None
