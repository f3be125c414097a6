"""Networks that several studies share: a small decoder of text, its corpora, its training and what is measured of it.

`TextSpec` has the numbers, `text_plan(spec)` makes the plan of an arm, and `read_corpus` the tokens. See docs/text.md.
"""

from .corpora import Corpus as Corpus
from .corpora import read_corpus as read_corpus
from .decoder import Decoder as Decoder
from .decoder import Shape as Shape
from .decoder import forward as forward
from .decoder import initial as initial
from .decoder import loss as loss
from .decoder import token_losses as token_losses
from .filled_types import with_filled_types as with_filled_types
from .observables import TEXT_AXES as TEXT_AXES
from .observables import TextObserved as TextObserved
from .plans import text_plan as text_plan
from .sources import data_folder as data_folder
from .spec import TextSpec as TextSpec
