r"""Where corpora lie, and where they come from.

    python -m phasescope.networks.sources wikitext-2 [--corpora DIR]

downloads one from its public source into the folder of the data, checks it and says under which licence it is. Nothing else
in phasescope goes to the network for a corpus.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import http.client
import os
import sys
import urllib.request
from pathlib import Path

from ..errors import CorpusError, PhasescopeError
from ..files import write_atomically

VARIABLE = "PHASESCOPE_DATA"
LARGEST = 2**26  # bytes that are read of an answer: no published file here has more


@dataclasses.dataclass(frozen=True)
class File:
    """A published file: its name, the SHA-256 of its bytes, and the address that it can be had from."""

    name: str
    digest: str
    address: str


@dataclasses.dataclass(frozen=True)
class Known:
    """A published corpus; one of a single file is cut into training and validation text here."""

    name: str
    training: File
    validation: File | None
    licence: str

    @property
    def files(self) -> tuple[File, ...]:
        return (self.training,) if self.validation is None else (self.training, self.validation)


_WIKITEXT = (
    "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2"
)
_SHAKESPEARE = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare"
_KNOWN = (
    Known(
        "wikitext-2",
        File(
            "train.txt",
            "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
            f"{_WIKITEXT}/train.txt",
        ),
        File(
            "valid.txt",
            "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
            f"{_WIKITEXT}/valid.txt",
        ),
        "WikiText-2 (Merity, Xiong, Bradbury and Socher 2016, from Wikipedia): Creative Commons Attribution-ShareAlike. "
        "Keep the attribution and the licence with every copy.",
    ),
    Known(
        "tinyshakespeare",
        File(
            "input.txt",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            f"{_SHAKESPEARE}/input.txt",
        ),
        None,
        "Tiny Shakespeare: the text is in the public domain, the repository char-rnn is under the MIT licence.",
    ),
)
KNOWN = {known.name: known for known in _KNOWN}


def data_folder() -> Path:
    """The folder of the corpora: what PHASESCOPE_DATA names, else a folder of the user's."""
    import platformdirs

    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("phasescope") / "corpora"


def place_of(file: str, corpus: str) -> Path:
    """Where a file of a corpus lies; `CorpusError` says where to put it if it is not there."""
    place = data_folder() / file
    if place.is_file():
        return place
    known = KNOWN.get(corpus)
    how = "Put it there, or set PHASESCOPE_DATA to the folder that has it."
    if known is not None:
        how = (
            f"Put {' and '.join(f.name for f in known.files)} there ({known.files[0].address}), set PHASESCOPE_DATA to the "
            f"folder that has {corpus}/, or run: python -m phasescope.networks.sources {corpus}"
        )
    raise CorpusError(f"the corpus {corpus} needs the file {place}, which is not there. {how}")


def download(corpus: str, folder: Path) -> list[Path]:
    """Fetch a known corpus into `folder/NAME/`; a file that is not the published one is not kept."""
    if corpus not in KNOWN:
        raise CorpusError(f'"{corpus}" has no known source. Known: {", ".join(KNOWN)}.')
    places = []
    for file in KNOWN[corpus].files:
        place = folder / corpus / file.name
        data = _fetched(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, data)
        places.append(place)
    return places


def _fetched(file: File) -> bytes:
    try:
        with urllib.request.urlopen(file.address, timeout=60) as answer:
            data = answer.read(LARGEST)
    except (OSError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", problem)
        raise CorpusError(f"{file.address} cannot be read: {reason}.") from None
    found = hashlib.sha256(data).hexdigest()
    if found != file.digest:
        raise CorpusError(
            f"{file.address} is not the published file: its SHA-256 is {found}, not {file.digest}."
        )
    return data


def by_hand(corpus: str, folder: Path) -> str:
    """Which files to put where, in a sentence, for a machine that has no way to their source."""
    files = KNOWN[corpus].files
    names = " and ".join(file.name for file in files)
    addresses = " and ".join(file.address for file in files)
    return f"Without a network, fetch {addresses} elsewhere and put {names} into {folder / corpus}."


def main() -> None:
    """The command line. What goes wrong is one line on standard error, and the exit code 1."""
    parser = argparse.ArgumentParser(
        description="Download a corpus, check it, and say its licence."
    )
    parser.add_argument("corpus", choices=sorted(KNOWN))
    parser.add_argument(
        "--corpora",
        "--data",
        dest="data",
        type=Path,
        help=f"the folder; by default ${VARIABLE} or the user's",
    )
    chosen = parser.parse_args()
    folder = chosen.data or data_folder()
    try:
        places = download(chosen.corpus, folder)
    except (PhasescopeError, OSError) as problem:
        sys.exit(f"{problem} {by_hand(chosen.corpus, folder.absolute())}")
    for place in places:
        print(place)
    print(KNOWN[chosen.corpus].licence)


if __name__ == "__main__":
    main()
