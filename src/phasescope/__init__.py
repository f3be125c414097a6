"""phasescope: a laboratory for the training dynamics of transformers.

The public vocabulary is listed in `__init__.pyi`; each name loads when it is first used, so that `import phasescope`
costs nothing and changes nothing.
"""

import lazy_loader

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
