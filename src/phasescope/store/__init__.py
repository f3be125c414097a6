"""The store: finished runs, drafts of unfinished ones, and the few rules that keep both whole.

Modules: `store` (finding, listing, loading), `drafts` (a run in the making, and finishing it),
`checkpoints` (crash-safe ones, from which a run goes on), `entries` (what identifies a run),
`run_document` (its `run.json`), `recordfile` (the records as one file), `repair`. Below them:
`folders` (where everything is), `paths` (no link is followed; locks), `sealed` (documents and
tensors, believed when their hashes fit), `containers` and `zarr_layout` (of the records), `faults`.
"""

from .checkpoints import Resumed
from .drafts import Draft
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
