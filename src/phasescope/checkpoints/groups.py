"""Which parameters of a transformer are positions, keys and queries, values, and so on, by the names that libraries give them.

Keys, queries and values that lie in one matrix are told apart by where they lie in it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from ..errors import ProbeError, nearest
from .tensorfile import Tensor

# What `ps.state` has beside the parameters: moments, what is held fixed, and the sequences that a decoder is measured on.
NOT_TRAINED = ("carry.", "memory.", "params.windows.")
# Constants that libraries keep beside the parameters: masks of attention, angles of rotation, numbers of positions.
CONSTANT = re.compile(
    r"(?:^|\.)(?:attn|attention)\.(?:bias|masked_bias|mask|IGNORE)$|(?:^|\.)(?:inv_freq|position_ids)$"
)
KEY_QUERY = "key_query"
VALUE = "value"
FUSED = "query_key_value"


def _parts(*names: str) -> re.Pattern[str]:
    """A name one of whose parts, between dots, is one of these; what comes after an underscore may follow."""
    return re.compile(rf"(?:^|\.)(?:{'|'.join(names)})(?:\.|$)")


RULES = {
    "positional": _parts(
        "wpe", "W_pos", r"pos_?emb\w*", r"position_embedding\w*", "embed_positions",
        "positions", r"positional_\w+", r"alibi\w*", "slopes", "relative_attention_bias",
    ),
    KEY_QUERY: _parts(
        "q_proj", "k_proj", "query", "key", "W_Q", "W_K", "b_Q", "b_K", "wq", "wk", "to_q", "to_k",
        "q_lin", "k_lin", "query_bias", "key_bias",
    ),
    VALUE: _parts("v_proj", "value", "W_V", "b_V", "wv", "to_v", "v_lin", "value_bias"),
    "output": re.compile(
        r"attn\.c_proj\.|attention\.dense\.|(?:^|\.)(?:o_proj|out_proj|W_O|b_O|wo|out_lin)(?:\.|$)"
        r"|attention\.output\.dense\.|(?:^|\.)out(?:_bias)?$"
    ),
    "mlp": re.compile(
        r"(?:^|\.)(?:mlp|ffn|feed_forward|fc1|fc2|linear1|linear2|intermediate)(?:\.|$)"
        r"|(?:^|\.)(?:up|down)(?:_bias)?$"
    ),
    "embedding": re.compile(
        r"(?:^|\.)(?:wte|embed_in|embed_tokens|word_embeddings|W_E)(?:\.|$)|(?:^|\.)embedding$"
    ),
    "readout": re.compile(
        r"(?:^|\.)(?:lm_head|embed_out|unembed|W_U)(?:\.|$)|(?:^|\.)decoder\.(?:weight|bias)$"
        r"|(?:^|\.)read(?:_bias)?$"
    ),
}  # fmt: skip
TOGETHER = _parts("c_attn", "query_key_value", "in_proj_weight", "in_proj_bias", "qkv", "Wqkv")


@dataclasses.dataclass(frozen=True)
class Member:
    """What of a tensor belongs to a group: all of it, or blocks of rows or columns.

    Along the axis of which each entry is followed by `stride` numbers, and which has `length` entries, blocks of `block`
    entries are queries, keys, values, queries, ... in turn; `turns` says which of them count. `block` 0 is all.
    """

    group: str
    size: int
    block: int = 0
    stride: int = 1
    length: int = 1
    turns: tuple[int, ...] = ()

    def sum_of_squares(self, x: np.ndarray, at: int) -> float:
        """Of those of the numbers that belong to the group; they lie in the tensor from the place `at` on."""
        if not self.block:
            return float(x @ x)
        entry = (np.arange(at, at + x.size) // self.stride) % self.length
        turn = (entry // self.block) % 3
        mine = x[np.isin(turn, self.turns)]
        return float(mine @ mine)


Members = Mapping[str, tuple[Member, ...]]


def members(
    tensors: Mapping[str, Tensor], groups: Mapping[str, str] | None, heads: int | None
) -> dict[str, tuple[Member, ...]]:
    """Which groups each tensor belongs to. `groups` are regular expressions of the caller's; else the names of `RULES`.

    `heads` is the number of heads, which matrices of GPT-NeoX are laid out by.

    **Raises:** `ProbeError` for a group without parameters, or if there is no group at all.
    """
    real = {name: tensor for name, tensor in tensors.items() if tensor.is_real}
    if groups is not None:
        return _of_caller(real, groups)
    found = {name: _by_rule(tensor, heads) for name, tensor in real.items()}
    if not any(found.values()):
        raise ProbeError(
            f"no parameter has a name that says what it is ({', '.join(sorted(tensors)[:4])}, ...). Name groups by regular "
            'expressions: groups={"attention": "attn"} (--group attention=attn).'
        )
    return found


def ungrouped(tensors: Mapping[str, Tensor], belong: Members) -> dict[str, int]:
    """The parameters that belong to no group, with how many numbers they have."""
    return {
        name: tensor.size
        for name, tensor in tensors.items()
        if tensor.is_real and _is_parameter(name) and not belong.get(name)
    }


def _is_parameter(name: str) -> bool:
    """Whether a tensor of real numbers is trained, as far as its name tells."""
    return not name.startswith(NOT_TRAINED) and not CONSTANT.search(name)


def _by_rule(tensor: Tensor, heads: int | None) -> tuple[Member, ...]:
    if not _is_parameter(tensor.name):
        return ()
    if TOGETHER.search(tensor.name):
        return _told_apart(tensor, heads)
    fitting = [group for group, rule in RULES.items() if rule.search(tensor.name)]
    return (Member(fitting[0], tensor.size),) if fitting else ()


def _told_apart(tensor: Tensor, heads: int | None) -> tuple[Member, ...]:
    """Queries, keys and values of one matrix or bias.

    GPT-2 has them side by side, as columns (its own layout) or rows (that of torch); GPT-NeoX one head after the other.
    """
    shape = tensor.shape
    axis = 1 if len(shape) == 2 and shape[1] == 3 * shape[0] else 0
    length = shape[axis] if shape else 0
    by_head = "query_key_value" in tensor.name
    count = 3 * heads if by_head and heads else 3
    known = len(shape) in (1, 2) and length > 0 and length % count == 0
    square = len(shape) == 1 or 3 * shape[1 - axis] == length
    if not known or not square or (by_head and not heads):
        return (Member(FUSED, tensor.size),)
    stride = shape[1] if len(shape) == 2 and axis == 0 else 1
    block = length // count
    return (
        Member(KEY_QUERY, 2 * tensor.size // 3, block, stride, length, (0, 1)),
        Member(VALUE, tensor.size // 3, block, stride, length, (2,)),
    )


def _of_caller(
    tensors: Mapping[str, Tensor], groups: Mapping[str, str]
) -> dict[str, tuple[Member, ...]]:
    if not groups:
        raise ProbeError(
            'groups has none: {"attention": "attn"} would be one (--group attention=attn).'
        )
    found: dict[str, tuple[Member, ...]] = dict.fromkeys(tensors, ())
    for group, rule in groups.items():
        try:
            names = [name for name in tensors if re.search(rule, name)]
        except re.error as problem:
            raise ProbeError(
                f"group {group}: {rule!r} is no regular expression: {problem}."
            ) from None
        if not names:
            raise ProbeError(
                f"group {group}: no parameter has {rule!r} in its name. {nearest(rule, tensors)}"
            )
        for name in names:
            found[name] += (Member(group, tensors[name].size),)
    return found
