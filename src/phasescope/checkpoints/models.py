"""Attention and loss of a checkpoint: models whose layout is known, built from numbers of their configuration and from tensors.

Nothing in a configuration is executed: the class comes from the table below, and from the file only numbers, words and what
belongs to rotary positions. Needs torch and transformers, which are loaded when they are asked for.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtra, ProbeError
from .folders import Place, read_json
from .tensorfile import Tensor

PRECISION = "float32"  # in which a model is computed
MOST_WEIGHTS = 2**28  # of attention, on the batch, that are kept at a time


@dataclasses.dataclass(frozen=True)
class Family:
    """Models of one layout: classes of transformers, and what its configuration calls some numbers."""

    config: str
    model: str
    embedding: re.Pattern[str]
    layer: re.Pattern[str]
    layers: str
    width: str
    heads: str
    positions: str
    is_tied: bool  # whether the read-out is the embedding, unless a configuration says otherwise


FAMILIES = {
    "gpt2": Family(
        config="GPT2Config",
        model="GPT2LMHeadModel",
        embedding=re.compile(r"wte\.weight$"),
        layer=re.compile(r"(?:^|\.)h\.(\d+)\."),
        layers="n_layer",
        width="n_embd",
        heads="n_head",
        positions="n_positions",
        is_tied=True,
    ),
    "gpt_neox": Family(
        config="GPTNeoXConfig",
        model="GPTNeoXForCausalLM",
        embedding=re.compile(r"embed_in\.weight$"),
        layer=re.compile(r"(?:^|\.)layers\.(\d+)\."),
        layers="num_hidden_layers",
        width="hidden_size",
        heads="num_attention_heads",
        positions="max_position_embeddings",
        is_tied=False,
    ),
}
ROTARY = ("rope_scaling", "rope_parameters")
NOT_PASSED = (
    "auto_map",
    "quantization_config",
    "torch_dtype",
    "dtype",
    "model_type",
    "architectures",
    "attn_implementation",
    "torchscript",
    "return_dict",
    "use_return_dict",
    "use_cache",
    "output_attentions",
    "output_hidden_states",
)
MOST_POSITIONS = 2**20
# What files have and models of today do not: masks and frequencies, which are no parameters.
BUFFERS = re.compile(r"(?:^|\.)(?:attn|attention)\.(?:bias|masked_bias)$|rotary_emb\.inv_freq$")
PREFIXES = ("transformer.", "gpt_neox.")


@dataclasses.dataclass(frozen=True)
class Known:
    """A model whose layout is known: its family, its numbers, and where they were read."""

    family: Family
    numbers: Mapping[str, Any]
    file: Path

    def number(self, name: str) -> int:
        """A whole number above 0 of the configuration."""
        found = self.numbers.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise ProbeError(f"{self.file}: {name} is a whole number above 0, got {found!r}.")
        return found

    @property
    def vocabulary(self) -> int:
        return self.number("vocab_size")

    @property
    def heads(self) -> int:
        return self.number(self.family.heads)

    @property
    def positions(self) -> int:
        return self.number(self.family.positions)


def known_model(place: Place) -> Known | None:
    """What the configuration beside a checkpoint says, if its layout is known; None if there is none, or of another model."""
    if place.config is None:
        return None
    said = read_json(place.config)
    family = FAMILIES.get(str(said.get("model_type")))
    if family is None:
        return None
    plain = {
        name: value
        for name, value in said.items()
        if name not in NOT_PASSED
        and not name.startswith("_")
        and (name in ROTARY or value is None or isinstance(value, int | float | str))
    }
    # Numbers that a configuration leaves out are those of its class.
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    return Known(family, _defaults(family) | plain | special, place.config)


def _defaults(family: Family) -> dict[str, Any]:
    if family.model == "GPT2LMHeadModel":
        return {
            "vocab_size": 50257,
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "n_positions": 1024,
        }
    return {}


def check_fits(known: Known, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Refuse a configuration that is not of the tensors beside it.

    **Raises:** `ProbeError` that says what differs.
    """
    family = known.family
    tables = [tensor.shape for name, tensor in tensors.items() if family.embedding.search(name)]
    if len(tables) != 1 or len(tables[0]) != 2:
        raise ProbeError(f"{path}: its tensors are not those of a {family.model}: no embedding.")
    layers = {int(found[1]) for name in tensors if (found := family.layer.search(name))}
    differ = {
        "vocab_size": (known.vocabulary, tables[0][0]),
        family.width: (known.number(family.width), tables[0][1]),
        family.layers: (known.number(family.layers), len(layers)),
    }
    for name, (said, found) in differ.items():
        if said != found:
            raise ProbeError(
                f"{known.file} does not fit the tensors beside it: it says {name}={said}, and they have {found}."
            )
    if known.positions > MOST_POSITIONS:
        raise ProbeError(f"{known.file}: {family.positions}={known.positions} is too large.")


class Runner:
    """A model of a known layout, into which one checkpoint after the other is put."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._model: Any = None

    def patterns_and_loss(
        self, tensors: Mapping[str, Tensor], tokens: np.ndarray, path: Path
    ) -> tuple[np.ndarray, float]:
        """Attention on the tokens, `[layer, sequence, head, query, key]`, and the mean loss of the next token in nats."""
        torch, _ = libraries()
        self._put(tensors, path)
        with torch.no_grad():
            asked = {"output_attentions": True, "use_cache": False, "return_dict": True}
            out = self._model(torch.from_numpy(tokens), **asked)
            scores = out.logits[:, :-1].reshape(-1, out.logits.shape[-1])
            right = torch.from_numpy(tokens[:, 1:].reshape(-1).copy())
            loss = float(torch.nn.functional.cross_entropy(scores, right))
            patterns = torch.stack(out.attentions).numpy()
        return patterns, loss

    def check_size(self, tokens: np.ndarray) -> None:
        """Refuse a batch that the model cannot take, or whose attention would not fit into memory."""
        known = self.known
        rows, columns = tokens.shape
        if tokens.min() < 0 or tokens.max() >= known.vocabulary:
            raise ProbeError(
                f"the tokens go from {tokens.min()} to {tokens.max()}, and the vocabulary of {known.file.parent} has "
                f"{known.vocabulary}: 0 to {known.vocabulary - 1}. They are of another tokenizer."
            )
        if columns > known.positions:
            raise ProbeError(
                f"sequences have {columns} tokens, and the model of {known.file.parent} takes {known.positions} at most."
            )
        weights = known.number(known.family.layers) * known.heads * rows * columns**2
        if weights > MOST_WEIGHTS:
            raise ProbeError(
                f"attention on {rows} sequences of {columns} tokens has {weights} weights; at most {MOST_WEIGHTS} are kept. "
                "Probe with fewer or shorter sequences."
            )

    def _put(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Put the tensors of a checkpoint into the model, which is built when they are known to fit."""
        wanted = {n: x for n, x in tensors.items() if not BUFFERS.search(n)}
        if self._model is None:
            self._check_shapes(wanted, path)
            self._model = self._built("cpu")
        own = self._model.state_dict()
        named = _as_named(wanted, own)
        torch, _ = libraries()
        for name, target in own.items():
            if name in named:
                values = np.concatenate([*named[name].numbers()] or [np.zeros(0)])
                with torch.no_grad():
                    target.copy_(torch.from_numpy(values.reshape(tuple(target.shape))))
        self._model.tie_weights()

    def _check_shapes(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Hold all shapes of the model against those of the file, before anything is made."""
        own = {name: tuple(x.shape) for name, x in self._built("meta").state_dict().items()}
        named = _as_named(tensors, own)
        missing = set(own) - set(named)
        if self.known.numbers.get("tie_word_embeddings", self.known.family.is_tied):
            missing -= {"lm_head.weight", "embed_out.weight"}
        strange = sorted(set(named) - set(own)) + sorted(missing)
        if strange:
            there = "does not know" if strange[0] in named else "needs"
            raise ProbeError(
                f"{path}: its tensors are not those of {self.known.file}: a {self.known.family.model} {there} {strange[0]}."
            )
        for name, tensor in named.items():
            if tensor.shape != own[name] or not tensor.is_real:
                raise ProbeError(
                    f"{path}: {name} has the shape {tensor.shape} ({tensor.dtype}), and {self.known.file} says {own[name]}."
                )

    def _built(self, device: str) -> Any:
        torch, transformers = libraries()
        family = self.known.family
        try:
            config = getattr(transformers, family.config)(**self.known.numbers)
            config._attn_implementation = "eager"  # the one that tells its attention
            with torch.device(device):
                model = getattr(transformers, family.model)(config)
        except Exception as problem:  # whatever a configuration can be wrong in
            said = " ".join(str(problem).split())[:200]
            raise ProbeError(f"{self.known.file} makes no {family.model}: {said}.") from None
        return model.to(getattr(torch, PRECISION)).eval()


def _as_named(tensors: Mapping[str, Tensor], own: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors under the names that the model has for them: files of the bare model lack a prefix, and the read-out of
    GPT-NeoX is called `lm_head` in the models of transformers 5.
    """
    found = {}
    for name, tensor in tensors.items():
        others = [prefix + name for prefix in PREFIXES] + [name.replace("embed_out.", "lm_head.")]
        known = [other for other in (name, *others) if other in own]
        found[known[0] if known else name] = tensor
    return found


def libraries() -> tuple[Any, Any]:
    """torch and transformers. **Raises:** `MissingExtra` if they are not installed."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
        import transformers  # pyright: ignore[reportMissingImports]
    except ImportError as problem:
        raise MissingExtra(
            f'attention and loss of a model need {problem.name}: pip install "phasescope[torch]". Norms do not: '
            "attention=False (--norms-only)."
        ) from None
    return torch, transformers


def are_installed() -> bool:
    """Whether torch and transformers can be imported; nothing is."""
    import importlib.util

    return all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
