"""The store: finished runs, drafts of unfinished ones, and the few rules that keep both whole.

Modules: `store` (finding, listing, loading, repairing), `drafts` (checkpoints and finishing),
`entries` (what identifies a run), `storage` (reading without trust, locks, hashes), `recordfile`
(the records as one file).
"""

from .drafts import Draft, Resumed
from .entries import Entry, Identity, Problem, RepairReport, Unfinished
from .store import Store

__all__ = [
    "Draft",
    "Entry",
    "Identity",
    "Problem",
    "RepairReport",
    "Resumed",
    "Store",
    "Unfinished",
]
