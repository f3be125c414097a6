"""The two models of this study, which are never mixed.

`theory_model` is the model of the theorems: one-hot clauses, one attention head with blocks Q_43
and Q_44, a layer of smoothed ReLUs, trained block by block (`theory_model/dense.py` in full;
`feature_model.py` and `routing_model.py` are its exact reductions). `decoder` is the model of the
experiments: learned embeddings, two heads, a ReLU network, trained end to end
(`decoder/network.py`). Both read the same sentences (`data.py`) and share nothing else; their arms
are in `theory.py` and `training.py`.
"""

from .decoder.network import Decoder
from .theory_model.dense import Dense
from .theory_model.feature_model import Features
from .theory_model.routing_model import Routing

__all__ = ["Decoder", "Dense", "Features", "Routing"]
