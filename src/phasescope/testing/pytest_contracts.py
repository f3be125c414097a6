"""Classes of tests for the claims, verdicts and figures of a study, to be subclassed by the study's own tests; they need
pytest.
"""

from .claim_contract import ClaimContract as ClaimContract
from .figure_contract import FigureContract as FigureContract
from .verdict_contract import VerdictContract as VerdictContract
