"""How a transformer learns to recognise that two words occur together: attention and a linear MLP, in two phases."""

import phasescope as ps

from .citation import authors, bibtex, link
from .claims import claims
from .figures import figures
from .observables import AXES
from .spec import default, presets
from .theory import gram, orthogonal, population, six_families, weight_flow
from .training import gram_descent, weights

study = ps.Study(
    "co_occurrence",
    default,
    paper=(
        "Yang, Kailkhura, Wang & Liang, Training Dynamics of Transformers to Recognize Word Co-occurrence "
        "via Gradient Flow Analysis (NeurIPS 2024)"
    ),
    authors=authors,
    link=link,
    bibtex=bibtex,
    presets=presets,
    arms=(weights, weight_flow, six_families, gram, gram_descent, orthogonal, population),
    claims=claims,
    figures=figures,
    axes=AXES,
    protocols={
        "figure1": ps.protocol(
            "Figure 1",
            arms=("weights", "gram_descent"),
            stated=("samples", "length", "dim", "width", "neurons", "eta", "steps"),
            guessed=("output", "sigma_0", "sigma_1"),
        ),
    },
    unchecked={
        "Remark 2.2": "what recognising co-occurrence is good for",
        "Definitions E.1, E.2, E.18, F.1": "definitions; what Definition F.1 asks of the gradients has rows (lemF.3-order, "
        "defF.1-ratio, defF.1-values)",
        "Proposition E.5, second inequality": "the first one times a share of the samples, with log(m1/delta) for "
        "log(4 m1/delta): the first one has a row (propE.5-neurons)",
        "Lemma E.9, Lemma E.23, Lemma E.25 as rates": "their integrals are items of Theorem E.28, which have a row "
        "(thm3.1-iii-unmoved); the shares of samples that hold a word are constants at fixed n",
        "Corollary E.24, pairs of irrelevant words": "attention weights are recorded by their largest change only, which "
        "corE.24-softmax bounds; the first display disagrees with its proof (E7)",
        "Lemma F.16, third item, rates": "scores with irrelevant words are recorded by their largest change only, which "
        "thm3.3-ii-irrelevant bounds",
        "Corollary F.17, second item": "as for Lemma F.16, third item",
        "Theorem F.20": "defines T* by the loss; thm3.3-i-train looks at T* = m^p instead",
        "Lemmas G.1, G.2, H.1, H.2": "standard inequalities, which the lemmas of Appendix D use",
        "Theorem 3.3 for n growing with m": "Condition 1 allows n >= L^2 times logarithms of m; all rows over m have fixed n "
        "and L, and corF.15-contributions says what that means",
        "Theorem 3.3, generalization loss with words of the training set": "the loss over new samples is taken where all "
        "irrelevant words are new, as in a large vocabulary; in Figure 1 it is exact (ours-fig1-test)",
    },
)
