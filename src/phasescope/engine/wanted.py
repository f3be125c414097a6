"""What is wanted of a run: all of its observables, or some of them, or what reductions make of them."""

from __future__ import annotations

import dataclasses

from ..plan.reductions import Reductions

Names = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the dataset of a run is to hold.

    - `keep`: the names of its observables; None: all of them.
    - `reduce`: what is made of the records on the device, by name.
    - `measured`: the observables that the programs bring back for it at every record; None: all of them, which
      is so too if one of `keep` is derived on the host from the others.
    - `inspected`: the same at the ends of stages.
    """

    keep: Names | None = None
    reduce: Reductions = ()
    measured: Names | None = None
    inspected: Names | None = None

    @property
    def derives(self) -> bool:
        """Whether the plan's `derive` is called."""
        return self.measured is None

    @property
    def only_reduces(self) -> bool:
        """Whether no record is kept."""
        return self.keep == () and bool(self.reduce)


EVERYTHING = Wanted()
