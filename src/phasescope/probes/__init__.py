"""Probes: the same functions of arrays on a toy and on a language model, of ours or of anybody's.

Patterns of attention are arrays `[..., query, key]` whose rows add up to 1, of NumPy or JAX; a result is of the same kind.
"""

from .attention import drift as drift
from .attention import entropy as entropy
from .heads import doubled_tokens as doubled_tokens
from .heads import induction_score as induction_score
from .heads import previous_token_score as previous_token_score
from .norms import group_norms as group_norms
from .norms import lead_of_readout as lead_of_readout
from .norms import moved as moved
from .norms import relative_norms as relative_norms
from .plateaus import Plateau as Plateau
from .plateaus import first_escape as first_escape
from .plateaus import longest_plateau as longest_plateau
