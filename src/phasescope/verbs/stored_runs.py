"""The table of contents of a store: all of its runs, listed through the index."""

from __future__ import annotations

from ..files import Document
from ..store import Store
from ..store.folders import links_for_runs
from ..store.repair import link_problem
from .index_lines import wanted_words, words_of
from .run_index import RunIndex
from .store_contents import unfinished_row, unreadable_row


def stored_runs(store: Store, text: str = "", last: int | None = None) -> list[Document]:
    """Finished and unfinished runs as plain rows; what cannot be read is a row that says why.

    **Arguments:** `text`: only runs whose id, status or `field=value` have every word of it. `last`: only so many of
    the finished ones, those that ended last.
    """
    index = RunIndex(store)
    try:
        finished, unreadable = index.every(text, last)
    finally:
        index.close()
    links = [link_problem(link, store.root) for link in links_for_runs(store.root)]
    begun = [unfinished_row(run) for run in store.unfinished()]
    linked = [unreadable_row(p.id, p.folder, p.message) for p in links]
    words = wanted_words(text)
    others = [row for row in begun + linked if all(word in words_of(row) for word in words)]
    return finished + others + unreadable
