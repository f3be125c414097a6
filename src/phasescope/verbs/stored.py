"""stored: what a store holds, as a table of pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..files import Document
from ..store import Store
from .stored_runs import stored_runs

if TYPE_CHECKING:
    import pandas as pd

FIRST = ("study", "arm", "status", "created", "seconds", "seed", "lanes", "swept")


def stored(
    study: str | None = None, arm: str | None = None, *, store: str | Path | None = None
) -> pd.DataFrame:
    """The runs that the store holds, unfinished ones included, as a table of pandas.

        >>> ds = ps.run("linear_modes", "logistic", epsilon=1e-4, at=[1.0, 5.0])
        >>> table = ps.stored("linear_modes")
        >>> bool(table.loc[ds.attrs["id"], "epsilon"] == 1e-4)
        True

    **Arguments:** `study`, `arm`: only runs of these names. `store`: the folder; by default as for `run`.

    **Returns:** a row for each run or block of a sweep, under its id, which `ps.open` takes: `study`,
    `arm`, `status`, `created`, `seconds`, `seed`, `lanes` (runs in the block), `swept` (the fields that
    differ from lane to lane), then the fields of the Spec, where a swept one is missing, and `folder`.

    **Raises:** `StoreError` if the store cannot be read.
    """
    import pandas as pd

    rows = stored_runs(Store(Store.default_root(store)))
    chosen = [_row(row) for row in rows]
    if study is not None:
        chosen = [row for row in chosen if row["study"] == study]
    if arm is not None:
        chosen = [row for row in chosen if row["arm"] == arm]
    fields = [name for row in chosen for name in row if name not in ("id", "folder", *FIRST)]
    columns = [*FIRST, *dict.fromkeys(fields), "folder"]
    table = pd.DataFrame(chosen, columns=["id", *columns]).set_index("id")
    return table.assign(created=pd.to_datetime(table["created"], errors="coerce"))


def _row(row: Document) -> Document:
    """A row of the store's table of contents, with a column for every field that is not swept."""
    study, arm, *_ = (*row["id"].split("/"), "")  # what cannot be read may have another name
    swept = row.get("swept", {})
    found: Document = {"id": row["id"], "study": study, "arm": arm, "swept": " ".join(swept)}
    found |= {name: row.get(name) for name in FIRST if name not in found}
    fields = {name: value for name, value in row.get("spec", {}).items() if name not in swept}
    taken = {"id", "folder", *FIRST}
    found |= {f"{name}_" if name in taken else name: value for name, value in fields.items()}
    return found | {"folder": row["folder"]}
