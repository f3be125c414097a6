"""Chain-of-thought state tracking: how a transformer learns to follow a group action along a chain."""

import phasescope as ps

from . import theory, training
from .citation import authors, bibtex, link
from .claims import claims
from .figures import figures
from .observables import AXES
from .spec import default, presets

# Section 7 states these of its experiments, and nothing else.
STATED = ("group", "length", "heads", "optimiser", "eta")
GUESSED = (
    "dataset",
    "steps",
    "batch",
    "layer_norm",
    "residual",
    "width",
    "hidden",
    "variables",
    "embedding_scale",
)

study = ps.Study(
    "state_tracking",
    default,
    paper=(
        "Huang, Wen, Singh, Chi & Chen, Transformers Provably Learn Chain-of-Thought Reasoning "
        "with Length Generalization (NeurIPS 2025)"
    ),
    authors=authors,
    link=link,
    bibtex=bibtex,
    presets=presets,
    arms=(
        theory.theory_model,
        theory.features,
        theory.routing,
        training.decoder,
        training.self_training,
        training.control,
    ),
    claims=claims,
    figures=figures,
    axes=AXES,
    protocols={
        "section_7_C6": ps.protocol(
            "Figures 1a, 2, 5, 6 and 7: the cyclic task",
            arms=("decoder",),
            stated=STATED,
            guessed=GUESSED,
        ),
        "section_7_S5": ps.protocol(
            "Figures 1a, 2, 5, 6 and 7: the symmetric task",
            arms=("decoder",),
            stated=STATED,
            guessed=GUESSED,
        ),
        "section_7_S5_stages": ps.protocol(
            "Figure 1b",
            arms=("self_training",),
            stated=(*STATED, "stages"),
            guessed=(*GUESSED, "stage_steps"),
        ),
    },
    unchecked={
        "Theorems 1.1 to 1.3": "informal; Theorems 4.1 and 5.1 have rows",
        "Theorem 2.1": "Barrington's, cited",
        "Theorems D.1 and F.1": "Theorems 4.1 and 5.1 again",
        "Facts A.1, B.1, C.1, C.2, D.1, E.1, F.1; Lemmas A.1, A.2, D.8, D.9, E.1, E.2, E.8 to E.11, F.1, F.2, F.5 to F.8": (
            "expressions for gradients: the reductions are tested against the full model to rounding (lemD.1-lemD.2)"
        ),
        "Lemmas A.3 to A.11, Claims A.1 and A.2": (
            "growth and bounds inside Induction A.1: d is not free in the full model; its end has a row (lemA.12-copy)"
        ),
        "Lemma B.1, Inductions B.2 and C.2": (
            "sizes of single weights, logits and gradients in Phase I, at every update; the order of the features has rows "
            "(indB.1-order, indC.1-order)"
        ),
        "Inductions B.3, B.4, C.3 and C.4": (
            "the same in Phases II and III; their ends have rows (thmB.1-AC, thmB.1-B, thmC.1-AC, thmC.1-B)"
        ),
        "Remarks C.1 to C.4": "on group actions, and on what is harder in the proof",
        "Remark F.1": "that eps at most doubles with the length has a row (lemF.9-double)",
        "Facts B.2 to B.4, Lemma C.1, Corollary C.1": "Gaussian tails and gaps at the start; nothing is trained",
        "Lemmas B.2, B.3, C.2, C.3": "proxies of the gradient in Phase I; what follows from them is the order (indB.1-order)",
        "Lemmas B.4, B.6, B.10, C.4, C.6, C.7, C.10": (
            "bounds on single terms of the gradient, and counts of updates at which they are broken: no observables"
        ),
        "Lemma B.5 (a)": "a feature grows within 30 of 70,000 updates, between two records",
        "Lemmas B.5 (b), B.9, C.5, C.9; Theorem B.1 D": "follow from the limit shapes, which have rows (thmB.1-AC, thmC.1-AC)",
        "Lemmas B.8, C.8": "arrival times with exponents that depend on q and an unnamed c_1; one d was run",
        "Lemmas B.11 to B.13, Corollary B.1": "on sums of random numbers and on a recursion of one number",
        "Lemmas D.3 to D.7, E.3 to E.7, F.3, F.4": "restate the limit features for pre-activations",
        "Lemmas D.10 to D.16, D.18, D.19": (
            "attention, logits and gradients event by event in stage 2.1; its induction and its end have rows (indD.1-a, "
            "indD.1-c, lemD.21-a, lemD.21-b)"
        ),
        "Lemmas D.22 to D.30, D.32, D.33": "the same in stage 2.2 (indD.2-lower, indD.2-upper)",
        "Lemmas D.34 to D.41, D.43": "the same in stage 2.3 (indD.3-a, indD.3-b, lemD.45-gap)",
        "Lemmas E.12 to E.32": (
            "attention, logits and gradients event by event for the symmetric task (indE.2-a, lemE.33-lemF.14, lemE.35-a)"
        ),
        "Lemmas F.9 (2), F.10 to F.13, F.15": "the same at lengths above 2; only their ends have rows (lemF.16-a, thm5.1-1)",
        "Figures 3 and 4": "schematic",
        "Section 7, final-answer accuracy": "the paper reports that all values are right, and so do we",
    },
)
