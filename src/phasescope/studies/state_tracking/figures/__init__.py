"""One function per figure: the theory's, then the decoder's."""

from .attention import attention_as_the_scores_make_it, how_far_a_chain_is_followed, the_plane_of_the_two_scores
from .decoder import decoder_figures
from .features import features_emerge_one_by_one_and_cancel
from .reach import reach_figures

theory_figures = (
    features_emerge_one_by_one_and_cancel,
    the_plane_of_the_two_scores,
    attention_as_the_scores_make_it,
    how_far_a_chain_is_followed,
)
figures = (*theory_figures, *reach_figures, *decoder_figures)
