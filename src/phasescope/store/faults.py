"""What can be wrong with the files of a store."""

from __future__ import annotations

from ..errors import StoreError

REPAIR = 'Run "phasescope repair": it sets the damage aside, and what is missing is computed when next asked for.'


class Damaged(StoreError):
    """Not what was written."""


class NewerFormat(StoreError):
    """Written by a later version: not damaged, only not ours to read."""


class Linked(StoreError):
    """A link where the store has a folder or a file."""


class TooLarge(StoreError):
    """More than is ever read into memory."""
