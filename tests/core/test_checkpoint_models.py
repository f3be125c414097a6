"""Attention and loss of checkpoints, held against NumPy, torch and TransformerLens. Needs phasescope[torch]."""

from __future__ import annotations

import json
import os
import zipfile
from importlib import metadata

import numpy as np
import pytest
from scipy import special

import phasescope as ps
from phasescope import probes
from phasescope.checkpoints import models

torch = pytest.importorskip("torch", reason="torch is not installed (phasescope[torch])")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

VOCABULARY = 37
HEADS = 4
LAYERS = 2
WIDTH = 16


def tiny_gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=64,
        bos_token_id=0, eos_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def tiny_neox():
    config = transformers.GPTNeoXConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=32, max_position_embeddings=64,
        bos_token_id=0, eos_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return transformers.GPTNeoXForCausalLM(config)


MODELS = {"gpt2": tiny_gpt2, "gpt_neox": tiny_neox}


def noisy(model, size=0.3):
    """Put the model off its start, so that its attention is far from uniform."""
    with torch.no_grad():
        for p in model.parameters():
            p.add_(size * torch.randn_like(p))
    return model.eval()


def saved_series(folder, make, count=3):
    torch.manual_seed(0)
    model = make()
    made = []
    for number in range(count):
        noisy(model, 0.0 if number == 0 else 0.3)
        model.save_pretrained(folder / f"checkpoint-{100 * number}")
        made.append({name: x.detach().clone() for name, x in model.state_dict().items()})
    return model, made


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    model, states = saved_series(folder, tiny_gpt2)
    return folder, model, states


@pytest.mark.parametrize("kind", MODELS)
def test_attention_and_loss_are_those_of_the_model_itself(kind, tmp_path):
    model, states = saved_series(tmp_path, MODELS[kind])
    tokens = np.random.default_rng(1).integers(VOCABULARY, size=(3, 12))
    ds = ps.probe(tmp_path, tokens=tokens)
    assert ds.induction_score.dims == ("time", "layer", "head")
    seen = []
    for state in states:
        model.load_state_dict(state)
        batch = torch.from_numpy(tokens)
        with torch.no_grad():
            out = model(batch, labels=batch, output_attentions=True)
        seen.append((float(out.loss), torch.stack(out.attentions).double().numpy()))
    np.testing.assert_allclose(ds.loss, [loss for loss, _ in seen], rtol=1e-5)
    entropy = [probes.entropy(p).mean((1, 3)) for _, p in seen]
    np.testing.assert_allclose(ds.entropy, entropy, rtol=1e-5)
    drift = [probes.drift(seen[t][1], seen[t - 1][1]).mean((1, 3)) for t in (1, 2)]
    np.testing.assert_allclose(ds.drift.isel(time=[1, 2]), drift, rtol=1e-4)
    assert ds.drift.isel(time=0).isnull().all()
    assert (ds.drift.isel(time=2) > 0.01).all()
    assert json.loads(ds.attrs["probe_batch"])["kind"] == "tokens of the caller's"


def numpy_gpt2(state, tokens):
    """GPT-2 from its paper and no library: attention `[layer, sequence, head, query, key]`, and the loss."""
    w = {name.removeprefix("transformer."): x.double().numpy() for name, x in state.items()}

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        size = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / size * w[f"{name}.weight"] + w[f"{name}.bias"]

    def heads(x):
        return x.reshape(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def linear(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    n = tokens.shape[1]
    x = w["wte.weight"][tokens] + w["wpe.weight"][:n]
    seen = []
    for layer in range(LAYERS):
        h = f"h.{layer}"
        q, k, v = map(heads, np.split(linear(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn"), 3, -1))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(WIDTH // HEADS)
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
        seen.append(special.softmax(scores, -1))
        mixed = (seen[-1] @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + linear(mixed, f"{h}.attn.c_proj")
        inner = linear(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")
        gelu = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = x + linear(gelu, f"{h}.mlp.c_proj")
    scores = special.log_softmax(norm(x, "ln_f") @ w["wte.weight"].T, -1)
    right = np.take_along_axis(scores[:, :-1], tokens[:, 1:, None], -1)
    return np.stack(seen), -right.mean()


def test_in_double_precision_all_is_that_of_numpy_to_the_last_digits(gpt2, monkeypatch):
    folder, _, states = gpt2
    monkeypatch.setattr(models, "PRECISION", "float64")
    ds = ps.probe(folder, length=9, sequences=2, seed=5)
    tokens = probes.doubled_tokens(VOCABULARY, 9, 2, seed=5)
    for at, state in enumerate(states):
        pattern, loss = numpy_gpt2(state, tokens)
        found = ds.isel(time=at)
        assert float(found.loss) == pytest.approx(loss, rel=1e-12)
        for name, wanted in {
            "entropy": probes.entropy(pattern).mean((1, 3)),
            "induction_score": probes.induction_score(pattern).mean(1),
            "previous_token_score": probes.previous_token_score(pattern).mean(1),
        }.items():
            np.testing.assert_allclose(found[name], wanted, atol=1e-13)


def test_files_of_the_bare_model_are_read_too(gpt2, tmp_path):
    folder, _, _ = gpt2
    model = transformers.GPT2LMHeadModel.from_pretrained(folder / "checkpoint-200")
    model.transformer.save_pretrained(tmp_path / "checkpoint-200")
    bare = ps.probe(tmp_path)
    assert "wte.weight" in torch_names(tmp_path / "checkpoint-200")
    np.testing.assert_array_equal(bare.loss, ps.probe(folder / "checkpoint-200").loss)


def torch_names(folder):
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", framework="numpy") as opened:
        return set(opened.keys())


# TransformerLens.
def lens_version():
    return metadata.version("transformer-lens")


def lens_patterns(model, tokens):
    """The attention that TransformerLens computes, `[layer, sequence, head, query, key]`, in double precision."""
    lens = pytest.importorskip("transformer_lens", reason="transformer_lens is not installed")
    if int(lens_version().partition(".")[0]) >= 4:
        pytest.skip(
            "transformer_lens 4 has no model of its own: it computes with that of transformers"
        )
    from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights

    config = lens.HookedTransformerConfig(
        n_layers=LAYERS, d_model=WIDTH, n_ctx=64, d_head=WIDTH // HEADS, n_heads=HEADS,
        d_mlp=4 * WIDTH, d_vocab=VOCABULARY, act_fn="gelu_new", normalization_type="LN",
        eps=1e-5, dtype=torch.float64, device="cpu",
    )  # fmt: skip
    hooked = lens.HookedTransformer(config)
    hooked.load_and_process_state_dict(
        convert_gpt2_weights(model.double(), config),
        fold_ln=False, center_writing_weights=False, center_unembed=False, fold_value_biases=False,
    )  # fmt: skip
    _, cache = hooked.run_with_cache(torch.from_numpy(tokens))
    return torch.stack([cache["pattern", layer] for layer in range(LAYERS)])


def test_scores_of_heads_are_those_that_transformer_lens_computes(gpt2, monkeypatch):
    """On the same checkpoint and tokens, in double precision, with the model that TransformerLens 2.18.0 has of its own: scores
    of the eight heads are 0.05 to 0.20, and the largest difference was 5.6e-17.
    """
    folder, _, _ = gpt2
    monkeypatch.setattr(models, "PRECISION", "float64")
    length = 9
    tokens = probes.doubled_tokens(VOCABULARY, length, 2, seed=5)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder / "checkpoint-200")
    pattern = lens_patterns(model, tokens)
    ds = ps.probe(folder / "checkpoint-200", length=length, sequences=2, seed=5).isel(time=0)
    for name, offset in (("previous_token_score", -1), ("induction_score", 1 - length)):
        wanted = pattern.diagonal(dim1=-2, dim2=-1, offset=offset).mean(dim=(1, -1)).numpy()
        np.testing.assert_allclose(ds[name], wanted, rtol=0, atol=1e-13)


# Bad input.
def changed_config(folder, tmp_path, **changes):
    copy = tmp_path / "checkpoint-0"
    copy.mkdir()
    for file in (folder / "checkpoint-0").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    said = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(said | changes))
    return copy


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocab_size": 50257}, "it says vocab_size=50257, and they have 37"),
        ({"n_layer": 10**9}, "it says n_layer=1000000000, and they have 2"),
        ({"n_embd": 10**6}, "it says n_embd=1000000, and they have 16"),
        ({"n_inner": 10**9}, "and .*config.json says"),
        ({"n_positions": 10**12}, "n_positions=1000000000000 is too large"),
        ({"n_positions": 65}, r"wpe.weight has the shape \(64, 16\)"),
        ({"activation_function": "no such"}, "makes no GPT2LMHeadModel"),
        ({"model_type": "gpt_neox", "num_attention_heads": 4}, "not those of a GPTNeoX"),
    ],
)
def test_a_configuration_of_another_model_is_one_clear_line(changes, said, gpt2, tmp_path):
    with pytest.raises(ps.ProbeError, match=said) as error:
        ps.probe(changed_config(gpt2[0], tmp_path, **changes))
    assert "\n" not in str(error.value)


def test_code_that_a_configuration_names_is_not_run(gpt2, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = {"auto_map": {"AutoModelForCausalLM": "evil.Model"}, "trust_remote_code": True}
    copy = changed_config(gpt2[0], tmp_path, **named)
    (copy / "evil.py").write_text("import os; os.mkdir('executed')\nclass Model: pass")
    ds = ps.probe(copy)
    assert "loss" in ds
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ([[1, 2, 37]], "the tokens go from 1 to 37, and the vocabulary of .* has 37: 0 to 36"),
        ([[-1, 2]], "the tokens go from -1 to 2"),
        ([[0] * 65], "sequences have 65 tokens, and the model of .* takes 64 at most"),
        ([[0.5, 1.0]], "tokens are whole numbers"),
        ([1, 2], "tokens are whole numbers"),
    ],
)
def test_tokens_that_the_model_cannot_take_are_refused(tokens, said, gpt2):
    with pytest.raises(ps.ProbeError, match=said):
        ps.probe(gpt2[0], tokens=tokens)


def test_attention_that_would_not_fit_is_refused(gpt2, monkeypatch):
    monkeypatch.setattr(models, "MOST_WEIGHTS", 1000)
    with pytest.raises(ps.ProbeError, match="Probe with fewer or shorter sequences"):
        ps.probe(gpt2[0])


# Pickles, for those who insist.
def test_a_pickle_of_tensors_gives_what_the_safetensors_give(gpt2, tmp_path):
    folder, _, states = gpt2
    for number, state in enumerate(states):
        (tmp_path / f"checkpoint-{100 * number}").mkdir()
        file = tmp_path / f"checkpoint-{100 * number}" / "pytorch_model.bin"
        torch.save({"model_state_dict": state, "step": number}, file)
        config = (folder / "checkpoint-0" / "config.json").read_text()
        file.with_name("config.json").write_text(config)
    with pytest.raises(ps.ProbeError, match="is a pickle"):
        ps.probe(tmp_path)
    found = ps.probe(tmp_path, pickles=True)
    wanted = ps.probe(folder)
    for name in ("loss", "induction_score"):
        np.testing.assert_array_equal(found[name], wanted[name])
    for group in wanted.group.values:
        np.testing.assert_array_equal(found.norm.sel(group=group), wanted.norm.sel(group=group))


class Poison:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_a_pickle_with_code_is_refused_by_those_who_insist_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"q_proj": torch.ones(2), "more": Poison()}, "a.pt")
    with pytest.raises(ps.ProbeError, match=r"a\.pt cannot be read as tensors") as error:
        ps.probe("a.pt", pickles=True)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "executed").exists()


def test_a_pickle_that_unpacks_to_more_than_it_is_is_refused(tmp_path):
    torch.save({"q_proj": torch.zeros(10**6)}, tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    with pytest.raises(ps.ProbeError, match=r"unpacks to 40.* bytes, more than it has"):
        ps.probe(tmp_path / "b.pt", pickles=True)


def test_a_tensor_of_few_numbers_that_stand_for_many_is_refused_before_they_are_made(tmp_path):
    """Torch keeps 1,000 numbers of these ten thousand million, of which a flat copy would take 37 GiB."""
    torch.save({"q_proj": torch.zeros(1000).expand(10**7, 1000)}, tmp_path / "a.pt")
    assert (tmp_path / "a.pt").stat().st_size < 10_000
    with pytest.raises(
        ps.ProbeError, match=r"q_proj has 10000000000 numbers, more than are stored"
    ):
        ps.probe(tmp_path / "a.pt", pickles=True)
