"""Networks that several studies share: a small decoder of text, its corpora, its training and what is measured of it.

`TextSpec` has the numbers, `text_plan(spec)` makes the plan of an arm, and `read_corpus` the tokens. See docs/text.md.

Each name loads when it is first used: `python -m phasescope.networks.sources` needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
