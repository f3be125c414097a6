"""One function per figure: the theory's, then the decoder's."""

from . import attention, decoder, features, maps, reach

figures = (*features.figures, *attention.figures, *reach.figures, *decoder.figures, *maps.figures)
