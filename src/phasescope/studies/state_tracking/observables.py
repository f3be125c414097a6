"""What the theorems talk about: features of the feed-forward layer, the four numbers of the attention, accuracies."""

from __future__ import annotations

from jaxtyping import Array, Float

import phasescope as ps

field = ps.field
FLOW_TIME = "gradient-flow time: the step size of what is trained, times updates"

# What the axes count.
AXES = {
    "action": "action, counted from 0",
    "image": "outcome of an action on a value, counted from 0",
    "neuron": "neuron of an outcome, counted from 0",
    "value": "value, counted from 0",
    "variable": "variable, counted from 0",
    "step": "answer",
    "chain_length": "length of a chain",
    "test_length": "length of the chains that are tested",
    "output_slot": "output slot, counted from 1",
    "place": "input slot, counted from 1",
    "block": "block of Q",
    "head": "head, counted from 0",
    "query": "answer that asks, counted from 0",
    "query_double": "answer that asks, at twice the length",
    "query_quadruple": "answer that asks, at four times the length",
    "clause": "clause: the predicates, then the answers",
    "clause_double": "clause at twice the length",
    "clause_quadruple": "clause at four times the length",
}


class FeatureObserved(ps.Observables):
    """Stage 1. `image` is the class j, `neuron` is r; times count updates and are nan before they come."""

    value_loss: Float[Array, ""] = field(
        symbol=r"\mathrm{Loss}_5^{1,1}", doc="loss of the value slot at length 1"
    )
    accuracy_forced: Float[Array, ""] = field(doc="mean probability of the right value")
    V_g: Float[Array, "image neuron action"] = field(
        symbol="V_{j,r}(g)", doc="feature of an action"
    )
    V_y: Float[Array, "image neuron value"] = field(symbol="V_{j,r}(y)", doc="feature of a value")
    combined: Float[Array, "image neuron value"] = field(
        symbol=r"V_\psi", doc="mean feature of (fibre, value)"
    )
    began: Float[Array, "image neuron value"] = field(doc="first update with V_psi above the knee")
    learned: Float[Array, "image neuron value"] = field(
        doc="first update with V_psi above log(d) / 2"
    )
    conserved: Float[Array, "image neuron"] = field(
        symbol="D_{j,r}", doc="sum of V(g) less sum of V(y)"
    )
    clipped: Float[Array, ""] = field(doc="share of pairs (g, y) whose right logit is at the clip")
    log_time: Float[Array, ""] = field(symbol=r"\log_{10} t", doc=FLOW_TIME)


class RoutingObserved(ps.Observables):
    """Stage 2. `step` is l, the answer that is asked for, in chains of length 2.

    What is trained are entries of Q, with step size eta / N.
    """

    stage_loss: Float[Array, ""] = field(
        doc="loss that the stage trains on; 0 before the attention is trained"
    )
    stage_exponent: Float[Array, ""] = field(
        doc="E of the same loss d^-E, also where it is too small for a number"
    )
    q43: Float[Array, ""] = field(symbol="q_{43}", doc="score of the right predicate")
    o43: Float[Array, ""] = field(symbol="o_{43}", doc="score of a wrong predicate")
    q44: Float[Array, ""] = field(symbol="q_{44}", doc="score of the last answer")
    o44: Float[Array, ""] = field(symbol="o_{44}", doc="score of an earlier answer")
    step_loss: Float[Array, "step"] = field(
        symbol=r"\mathrm{Loss}_5^{2,\ell}", doc="loss of each answer at length 2"
    )
    epsilon: Float[Array, "step"] = field(
        symbol=r"\epsilon^{2,\ell}", doc="attention on wrong clauses"
    )
    gap: Float[Array, "step"] = field(
        symbol=r"\Delta^{2,\ell}", doc="attention on predicate less that on answer"
    )
    attention_right: Float[Array, "step"] = field(
        symbol=r"\mathrm{Attn}_{pred,\ell}", doc="attention on the right predicate"
    )
    stage_length: Float[Array, ""] = field(symbol="L_k", doc="length of the chains of the stage")
    stage_epsilon: Float[Array, ""] = field(
        symbol=r"\epsilon^{L_k,2}", doc="attention on wrong clauses at that length"
    )
    log_time: Float[Array, ""] = field(symbol=r"\log_{10} t", doc=FLOW_TIME)


class RolloutObserved(ps.Observables):
    """At the end of a stage, over random chains of lengths up to four times the stage's."""

    rollout_accuracy: Float[Array, "chain_length"] = field(
        doc="all answers of the greedy rollout right"
    )
    forced_accuracy: Float[Array, "chain_length"] = field(
        doc="mean probability of the right value, true answers fed"
    )


class DenseObserved(ps.Observables):
    """The full model: `output_slot` counts from 1, `place` is the input slot of a weight."""

    slot_loss: Float[Array, "output_slot"] = field(
        symbol=r"\mathrm{Loss}_i", doc="loss of each output slot at length 1, attention uniform"
    )
    pair_loss: Float[Array, "step"] = field(
        symbol=r"\mathrm{Loss}_5^{2,\ell}", doc="value loss at length 2"
    )
    copy_sum: Float[Array, "variable"] = field(
        symbol=r"\Phi_{4j}", doc="sum over alive neurons of the copying diagonal"
    )
    copy_best: Float[Array, "variable"] = field(
        symbol=r"\Gamma_{4j}", doc="largest pre-activation on the diagonal"
    )
    strongest: Float[Array, "place"] = field(
        doc="largest weight of slot 4 of each input slot, its diagonal left out"
    )
    off_variable: Float[Array, ""] = field(
        doc="largest weight of slot 4 in classes that are no variable"
    )
    diagonal: Float[Array, "block"] = field(doc="mean diagonal of Q_43 and of Q_44")
    off_diagonal: Float[Array, "block"] = field(doc="mean off-diagonal of Q_43 and of Q_44")
    spread: Float[Array, "block"] = field(doc="largest departure of an entry of Q from these means")
