"""How one-layer transformers learn regular languages: even pairs and parity, in two phases."""

import phasescope as ps
from phasescope.networks import TEXT_AXES

from .citation import authors, bibtex, link
from .claims import claims
from .figures import figures
from .observables import AXES
from .spec import default, presets, protocols
from .theory import frozen, log_flow
from .training import exhaustive, handover, symmetric, text_gpt

study = ps.Study(
    "regular_language",
    default,
    paper=(
        "Huang, Liang & Yang, How Transformers Learn Regular Language Recognition: "
        "A Theoretical Study on Training Dynamics and Implicit Bias (ICML 2025)"
    ),
    authors=authors,
    link=link,
    bibtex=bibtex,
    presets=presets,
    protocols=protocols,
    arms=(exhaustive, symmetric, log_flow, frozen, handover, text_gpt),
    claims=claims,
    figures=figures,
    axes=AXES | TEXT_AXES,
    unchecked={
        "Theorem C.3": "Theorem 5.1 again, whose lines have rows (thm5.1-v1 to thm5.1-first-key)",
        "Figure 1": "an illustration of the chain of thought on one input",
        "Section 3, Adam": "that two-phase descent resembles Adam is a comparison, not a statement",
        "Section 4.2, Merrill et al. (2021)": "what another paper observed",
        "Appendix B.2, parameter setup: |W_t - W_t0| <= eta^2 L_max^2 t^2 / lam": (
            "implied by secA.1-grad-W and secB.2-u-norm, and weaker than thm4.4-drift by orders"
        ),
        "Proof of Lemma B.6, t_1 and t_2": "times inside a proof; closed_forms.window_ratio compares t_1 with T",
    },
)
