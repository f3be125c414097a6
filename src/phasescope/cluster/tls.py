"""The files by which a client and a scheduler know each other."""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import SpecError

NAMES = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}


@dataclasses.dataclass(frozen=True)
class TlsFiles:
    """The certificate of the authority that both trust, one's own certificate, and its key.

    Their paths are kept here and nowhere else: no manifest, log or error of a run has them.
    """

    ca: Path
    cert: Path
    key: Path = dataclasses.field(repr=False)

    def security(self) -> Any:
        """What Dask makes of them: encryption is required, also of the other side."""
        from distributed import Security

        return Security(
            tls_ca_file=str(self.ca),
            tls_client_cert=str(self.cert),
            tls_client_key=str(self.key),
            require_encryption=True,
        )


def tls_files(tls: str | Path | Mapping[str, str | Path] | None) -> TlsFiles | None:
    """The files of a folder (`ca.pem`, `cert.pem`, `key.pem`), or by name; None if nothing is given.

    Raises `SpecError` if one is missing or is not what it should be.
    """
    if tls is None:
        return None
    if isinstance(tls, str | Path):
        folder = Path(tls).expanduser()
        if not folder.is_dir():
            raise SpecError(f"the TLS folder {folder} is not there.")
        files = {word: folder / name for word, name in NAMES.items()}
    else:
        files = {word: Path(path).expanduser() for word, path in tls.items()}
    lacking = [word for word in NAMES if word not in files]
    if lacking or set(files) - set(NAMES):
        raise SpecError(
            f"TLS takes the three files ca, cert and key; {', '.join(lacking) or 'others'} not given."
        )
    for word, path in files.items():
        if not path.is_file():
            raise SpecError(f"the TLS file {word} is not there: {path}")
    found = TlsFiles(**files)
    _check_content(found)
    return found


def _check_content(files: TlsFiles) -> None:
    """Files that are damaged, or do not belong together, are named now and not as a lost connection."""
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cafile=str(files.ca))
    except (ssl.SSLError, OSError):
        raise SpecError("the TLS file ca holds no certificate that can be read.") from None
    try:
        # An empty password: a key that needs one would ask for it on the terminal.
        context.load_cert_chain(str(files.cert), str(files.key), password="")
    except (ssl.SSLError, OSError):
        raise SpecError(
            "the TLS files cert and key cannot be read, or do not belong together."
        ) from None
