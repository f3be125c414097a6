"""Token scanning and snapping in a one-layer attention model: what the theorems say, and what
the gradient does."""

import phasescope as ps
from phasescope.networks import TEXT_AXES

from . import theory, training
from .citation import authors, bibtex, link
from .claims import claims
from .figures import figures
from .observables import AXES
from .spec import default, presets, protocols

study = ps.Study(
    "scan_and_snap",
    default,
    paper=(
        "Tian, Wang, Chen & Du, Scan and Snap: Understanding Training Dynamics and Token Composition "
        "in 1-layer Transformer (NeurIPS 2023)"
    ),
    authors=authors,
    link=link,
    bibtex=bibtex,
    presets=presets,
    arms=(
        training.sampled,
        training.population,
        training.symmetric,
        theory.decoupled,
        theory.theory,
        theory.memoryless,
        theory.with_residuals,
        theory.closed_form,
        training.text_attention,
    ),
    claims=claims,
    figures=figures,
    axes=AXES | TEXT_AXES,
    protocols=protocols,
    unchecked={
        "Figures 1 and 2": "drawings of the setting and of the stages of training",
        "Figure 10, WikiText-103": "the corpus is not offered; WikiText-2 has checks",
        "Section 4, critical points": "that Y has infinite entries at a critical point is an argument, not a measurement",
        "Section 5, multi-head attention as several trials": "an interpretation",
        "Section 7, positional encoding": "a remark on how it could be added",
        "Section 9, spurious tokens": "an outlook",
        "Lemma 8, c' in (0.5, 2)": "a constant inside the proof of omega_1, which has a row (lem8-omega1)",
        "Lemma 11, sigma' <~ Delta / N late": "a sharper form of (62), which has a row (lem11-slope)",
        "Theorem 1, sigma << ln M": "follows from (62) and N >> K^2; the flow has no counts",
        "Appendix D, (130) and (131)": "(14) for large t, whose growth has rows (thm4-snapping, ours-growth-slopes); "
        "(131) is misprinted (E6)",
    },
)
