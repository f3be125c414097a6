r"""What the theorems talk about. All arms report these; what an arm does not know is left out of its dataset.

Words count from 1 as in the paper: 1 and 2 are the targets, 3 is common to all samples, the others are irrelevant.
In the reductions by symmetry a word after the third is one irrelevant word of a kind, whose number is not that of a
word: 4 to 7 are of types 1 to 4 in `orthogonal`, 4 is any of them in `population`.
Matrices over pairs of words (`key`, `query`) are recorded for the special words 1, 2, 3 and in full at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Array, Float

import phasescope as ps

from ..spec import Spec

field = ps.field

# What the axes count. Special words are the two target words, 1 and 2, and the common word, 3.
AXES = {
    "word": "word, counted from 1",
    "key": "special word as a key",
    "query": "special word as a query",
    "each_word": "word, counted from 0",
    "each_key": "word as a key, counted from 0",
    "each_query": "word as a query, counted from 0",
    "type": "type of a sample",
    "sample": "sample, counted from 0",
    "which": "conserved number, counted from 0",
    "invariant": "conserved matrix, counted from 0",
    "bound": "0: smallest, 1: largest",
}


class Observed(ps.Observables):
    """All arms report these."""

    loss: Float[Array, ""] = field(
        symbol=r"\hat L", doc="loss over what is trained on: the samples, or the population"
    )
    loss_type: Float[Array, "type"] = field(
        symbol=r"\hat L_c", doc="mean loss over the samples of one type"
    )
    margin_min: Float[Array, ""] = field(symbol=r"\min_i y_i F_i", doc="smallest margin")
    F_type: Float[Array, "type"] = field(doc="mean output over the samples of one type")
    F_random: Float[Array, "type"] = field(
        doc="largest contribution of irrelevant words to an output"
    )
    gsum: Float[Array, "type"] = field(
        symbol=r"\Sigma_c", doc="sum of the loss derivatives g_i over one type"
    )
    G: Float[Array, "word"] = field(
        symbol=r"G(\mu)", doc="value of a word, or of one word of a kind"
    )
    c: Float[Array, "word"] = field(symbol=r"c(\mu)", doc="force on that value")
    Gdot: Float[Array, "word"] = field(symbol=r"\dot G(\mu)", doc="time derivative of that value")
    M: Float[Array, "key query"] = field(symbol="M", doc="force on a score, special words")
    S: Float[Array, "key query"] = field(symbol="S", doc="score, special words")
    C: Float[Array, "key query"] = field(
        symbol="C", doc="score less its initial value, special words"
    )
    A: Float[Array, "key query"] = field(symbol="A", doc="overlap of two values, special words")
    Q: Float[Array, "key query"] = field(symbol="Q", doc="overlap of two queries, special words")
    K: Float[Array, "key query"] = field(symbol="K", doc="overlap of two keys, special words")
    Sdot: Float[Array, "key query"] = field(
        symbol=r"\dot S", doc="time derivative of a score, special words"
    )
    Adot: Float[Array, "key query"] = field(
        symbol=r"\dot A", doc="time derivative of an overlap of values"
    )
    beta: Float[Array, ""] = field(symbol=r"\beta", doc="squared norm of the read-out b = W^T a")
    betadot: Float[Array, ""] = field(
        symbol=r"\dot\beta", doc="time derivative of beta, 2 |a|^2 G.c"
    )
    betadot_outputs: Float[Array, ""] = field(
        doc="the same from the outputs, 2 |a|^2 / n sum_i g_i y_i F_i"
    )
    R: Float[Array, ""] = field(symbol="R", doc="-Gdot(3) / max(Gdot(1), Gdot(2))")
    R2: Float[Array, ""] = field(symbol="R_2", doc="-Gdot(3) / (Gdot(1) + Gdot(2))")
    R_g: Float[Array, ""] = field(
        symbol="R_g", doc="R for a frozen kernel: (S_2 + S_3 + S_4 - S_1) / (S_1 - S_2) of gsum"
    )
    balance: Float[Array, ""] = field(doc="|S_2 - S_3| / min(S_2, S_3) of gsum")
    value_share: Float[Array, ""] = field(
        doc="the part |a|^2 A c of Gdot over the part beta c: largest, special words"
    )
    p_dev: Float[Array, ""] = field(doc="largest change of an attention weight since the start")
    p_spread: Float[Array, ""] = field(doc="largest |L p - 1|")
    S_change: Float[Array, ""] = field(doc="largest change of a score since the start")
    A_change: Float[Array, ""] = field(doc="largest change of an entry of A since the start")
    Q_change: Float[Array, ""] = field(doc="largest change of an entry of Q since the start")
    K_change: Float[Array, ""] = field(doc="largest change of an entry of K since the start")
    C_random: Float[Array, ""] = field(doc="largest |C| of a pair with an irrelevant word")
    C_random_rms: Float[Array, ""] = field(
        doc="root mean square of C over the pairs with an irrelevant word"
    )
    test_F: Float[Array, "type"] = field(doc="output where all irrelevant words are new")
    test_loss: Float[Array, ""] = field(doc="population loss where all irrelevant words are new")
    casimir: Float[Array, "which"] = field(
        doc="conserved by flow, over the vocabulary: tr A - beta/|a|^2, its square, tr Q - tr K, its square"
    )
    kappa: Float[Array, ""] = field(symbol=r"\kappa", doc="rate of the first phase")
    F: Float[Array, "sample"] | None = field(None, symbol="F_i", doc="output")
    margin: Float[Array, "sample"] | None = field(None, symbol="y_i F_i", doc="margin")
    N_change: Float[Array, ""] | None = field(
        None, doc="largest change of an entry of N = W W^T since the start"
    )
    value_part: Float[Array, ""] | None = field(
        None,
        doc="the part |a|^2 A c of Gdot, largest over all words, over beta times the mean of g",
    )
    softmax_part: Float[Array, ""] | None = field(
        None,
        doc="largest rate of an output by the attention alone, over beta times the mean of g",
    )
    U_change: Float[Array, ""] | None = field(
        None, doc="largest change of a neuron's value of a special word since the start"
    )
    U_change_random: Float[Array, ""] | None = field(None, doc="the same of an irrelevant word")
    U_output_change: Float[Array, ""] | None = field(
        None, doc="largest change of what a neuron gives for a query of a sample"
    )
    U_rate_random: Float[Array, ""] | None = field(
        None, doc="largest rate of a neuron's value of an irrelevant word"
    )
    U_rate_common: Float[Array, ""] | None = field(
        None, doc="largest rate of a neuron's value of the common word"
    )
    U_norms: Float[Array, "bound"] | None = field(
        None, doc="|w_j|^2 + |W_V mu|^2 of a neuron and a target word: smallest, largest"
    )
    U_cross_neurons: Float[Array, ""] | None = field(
        None, doc="what other neurons add to the rate of a neuron's value of a target word: largest"
    )
    U_cross_values: Float[Array, ""] | None = field(
        None, doc="what other words' values add to that rate: largest"
    )
    drift: Float[Array, "invariant"] | None = field(
        None, doc="largest change of each conserved matrix since the start"
    )
    violation: Float[Array, "invariant"] | None = field(
        None, doc="largest change of each in one step of descent from here"
    )
    violation_error: Float[Array, "invariant"] | None = field(
        None, doc="the same less the exact formula"
    )


class AtEnd(ps.Observables):
    """The whole state at the end of a run, test words included."""

    G_all: Float[Array, "each_word"] = field(symbol="G", doc="value of every word")
    S_all: Float[Array, "each_key each_query"] = field(
        symbol="S", doc="score of every pair of words"
    )
    C_all: Float[Array, "each_key each_query"] = field(
        symbol="C", doc="score of every pair less its initial value"
    )


def derive(ds: xr.Dataset, spec: Spec) -> xr.Dataset:
    r"""Training time $t$, natural time $\tau = \kappa t$ and $s = \log(1 + \tau)$ of every record."""
    tau = ds.time * ds.kappa if spec.clock == "training" else ds.time.broadcast_like(ds.kappa)
    return ds.assign(
        t=(tau / ds.kappa).assign_attrs(symbol="t", long_name="training time, eta * step"),
        tau=tau.assign_attrs(symbol=r"\tau = \kappa t", long_name="natural time"),
        s=np.log1p(tau).assign_attrs(symbol=r"s = \log(1 + \tau)", long_name="log time"),
    )


def coordinates(words: int) -> dict[str, Any]:
    """Words count from 1; types go by what they hold of the target words."""
    special = np.arange(1, 4)
    return {
        "word": np.arange(1, words + 1),
        "key": special,
        "query": special,
        "type": np.arange(1, 5),
    }
