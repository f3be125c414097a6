"""What names a run: the code that answers a question, and where and how it was answered.

`fingerprint` reads the code as it was loaded, `source` finds the text of a function, `provenance` describes the machine.
"""

from .fingerprint import Fingerprint, fingerprint
from .source import Unidentified

__all__ = ["Fingerprint", "Unidentified", "fingerprint"]
