"""From a 4-gram to an induction head: a two-layer ALiBi transformer of six scalars, lazy first and rich later."""

import phasescope as ps
from phasescope.networks import TEXT_AXES

from .citation import authors, bibtex, link
from .claims import claims
from .figures import figures
from .spec import BATCHES_OF_AN_EPOCH, default, presets
from .theory import exact_flow, joint_flow, mean_field_flow, paper_flow, stage_one
from .training import high_dimensional, online_sgd, text_two_layer

# Appendix B.1 states these of the transformer on WikiText-2.
FIGURE_2_STATED = (
    "corpus",
    "positions",
    "layers",
    "heads",
    "width",
    "hidden",
    "context",
    "sequences",
    "start_scale",
    "method",
    "rate",
)
FIGURE_2_GUESSED = (
    "normalisation",
    "activation",
    "tied",
    "start_slope",
    "sees_itself",
    "bias",
    "windows",
    "arithmetic",
)
# 1500 epochs are stated; the rate is constant, so that the first 300 are the beginning of the same experiment.
FIGURE_2_LASTS = {
    "updates": (300 * BATCHES_OF_AN_EPOCH, 1500 * BATCHES_OF_AN_EPOCH),
    "records": (300, 1500),
}

study = ps.Study(
    "lazy_to_rich",
    default,
    paper=(
        "Wang, Yu, E & Wu, How Transformers Get Rich: Training Dynamics Analysis "
        "(Workshop on High-dimensional Learning Dynamics, 2025)"
    ),
    authors=authors,
    link=link,
    bibtex=bibtex,
    presets=presets,
    arms=(
        stage_one,
        online_sgd,
        exact_flow,
        mean_field_flow,
        paper_flow,
        joint_flow,
        high_dimensional,
        text_two_layer,
    ),
    claims=claims,
    figures=figures,
    axes=TEXT_AXES,
    protocols={
        "figure_1": ps.protocol(
            "Figure 1",
            arms=("online_sgd",),
            stated=("alpha", "w_star", "sigma", "length", "tokens", "eta", "batch", "steps"),
            guessed=("p_tilde", "index_range"),
            scanned=("p_tilde", "index_range"),
        ),
        "figure_2": ps.protocol(
            "Figure 2",
            arms=("text_two_layer",),
            stated=FIGURE_2_STATED,
            guessed=FIGURE_2_GUESSED,
            scanned=("normalisation",),
            varied=FIGURE_2_LASTS,
        ),
        "figure_2_norm": ps.protocol(
            "Figure 2, with layer normalisation",
            arms=("text_two_layer",),
            stated=FIGURE_2_STATED,
            guessed=FIGURE_2_GUESSED,
            scanned=("normalisation",),
            varied=FIGURE_2_LASTS,
        ),
        "figure_3": ps.protocol(
            "Figure 3",
            arms=("online_sgd",),
            stated=("alpha", "w_star", "sigma", "length", "tokens", "eta", "batch", "steps"),
            guessed=("p_tilde", "index_range"),
            scanned=("p_tilde", "index_range"),
        ),
        "figure_4_gd": ps.protocol(
            "Figure 4, GD",
            arms=("high_dimensional",),
            stated=("dim", "eta", "batch", "steps", "sigma", "alpha", "length"),
            guessed=("reading", "reduction", "shape"),
        ),
        "figure_4_adam": ps.protocol(
            "Figure 4, Adam",
            arms=("high_dimensional",),
            stated=("dim", "optimiser", "eta", "batch", "steps", "sigma", "alpha", "length"),
            guessed=("reading", "reduction", "shape"),
        ),
    },
    unchecked={
        "Appendix C.3.1, errors xi_1 to xi_5 below 0.0001": "an assumption on L for the proof; at Figure 1 "
        "(L - 3) exp(-(L - 3) sigma) is 26, so that it does not cover it",
        "Appendix C.2, the lower bound on the rate of p": "printed without the 1/2 of the loss (E4), and m / M^2 >= exp(-p) is "
        "not so for p of the order 1 / L; what follows from it has a row (lem2)",
        "Appendix C.3.1, inequalities for dp/dg and dp/dt": "steps towards (8), which is false as stated (eq8)",
        "Appendix C.3.2, step II.1": "a bracket for h / h*, used for the limits of v and h, which secC.3.2-P1 and "
        "secC.3.2-lyapunov cover",
        "(18)": "the second Lyapunov inequality integrated, which has a row (secC.3.2-lyapunov)",
        "Appendix C.4, T_0.01^w": "of the same order as T_1/2^w, which has a row (eq17-half-time)",
        "Remark 1": "why the target has a 4-gram and not a 2- or 3-gram",
        "Definition 9": "a definition",
        "Section 3.2, log(1/epsilon_init)": "a misprint of sigma_init (E16)",
    },
)
