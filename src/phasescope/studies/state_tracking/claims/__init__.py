"""One function per theorem, lemma and figure statement: the theory's, then the decoder's."""

from phasescope.claims.claim import Claim

from . import attention, features, recursion
from .decoder import decoder_claims
from .residual import residual_claims
from .self_training import self_training_claims
from .starts import start_claims
from .training_sets import set_claims


def _of(module) -> tuple[Claim, ...]:
    return tuple(x for x in vars(module).values() if isinstance(x, Claim))


theory_claims = (*_of(features), *_of(attention), *_of(recursion))
claims = (*theory_claims, *decoder_claims, *set_claims, *self_training_claims, *residual_claims, *start_claims)
