"""A zip and its zstd frames, looked at before anything of them is unpacked: no file takes more memory than it says."""

from __future__ import annotations

import io
import zipfile

Readable = io.BytesIO | io.BufferedReader
# Limits on what describes the numbers, for writing and for reading: one variable takes about 600
# bytes of metadata and 200 of the zip's table of contents, whose entries take fifteen times their
# size in memory.
LARGEST_METADATA = 2**24
LARGEST_TABLE = 2**23


def open_archive(file: Readable) -> zipfile.ZipFile:
    """The zip in the file, after a look at how long its table of contents is."""
    if table_size(file) > LARGEST_TABLE:
        raise ValueError("its table of contents is too long")
    return zipfile.ZipFile(file)


def table_size(file: Readable) -> int:
    """The bytes before the end of a zip that its table of contents takes, as its last record says
    (APPNOTE 4.3.16).

    A zip that is larger than 2 GiB has a second such record before it (4.3.14, 4.3.15).
    """
    length = file.seek(0, io.SEEK_END)
    file.seek(max(0, length - 98))
    tail = file.read(98)
    file.seek(0)
    last = tail[-22:]
    if last[:4] != b"PK\5\6" or last[20:] != b"\0\0":
        raise ValueError("it does not end like a zip of records")
    size = int.from_bytes(last[12:16], "little")
    locator = tail[-42:-22]
    if locator[:4] != b"PK\6\7":
        return size
    larger = tail[-98:-42]
    if larger[:4] != b"PK\6\6" or int.from_bytes(locator[8:16], "little") != length - 98:
        raise ValueError("it does not end like a zip of records")
    return max(size, int.from_bytes(larger[40:48], "little"))


def members_of(archive: zipfile.ZipFile, file: Readable) -> dict[str, zipfile.ZipInfo]:
    """What is in the zip, by name; none of it takes more bytes than it has in the file."""
    length = file.seek(0, io.SEEK_END)
    entries = archive.infolist()
    if (
        any(e.compress_type != zipfile.ZIP_STORED for e in entries)
        or sum(e.file_size for e in entries) > length
    ):
        raise ValueError("members that unpack to more than they are")
    if len({e.filename for e in entries}) != len(entries):
        raise ValueError("two members of one name")
    return {e.filename: e for e in entries}


def metadata_of(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> tuple[bytes, dict[str, bytes]]:
    """The JSON of the group, and that of every variable by its name.

    They are taken out of `members`.
    """
    group = members.pop("zarr.json")
    keys = [key for key in members if key.endswith("/zarr.json")]
    found = {key.removesuffix("/zarr.json"): members.pop(key) for key in keys}
    if group.file_size + sum(e.file_size for e in found.values()) > LARGEST_METADATA:
        raise ValueError("its metadata are too long")
    return archive.read(group), {name: archive.read(e) for name, e in found.items()}


def first_frame(data: bytes) -> tuple[int, int]:
    """What the first zstd frame says it unpacks to, and where it ends (RFC 8878, sections 3.1.1.1
    and 3.1.1.2).
    """
    if data[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("a chunk is not a zstd frame")
    flags = data[4]
    single_segment = flags >> 5 & 1
    start = 5 + (1 - single_segment) + (0, 1, 2, 4)[flags & 3]
    width = (single_segment, 2, 4, 8)[flags >> 6]
    if not width:
        raise ValueError("a chunk does not say how large it is")
    unpacked = int.from_bytes(data[start : start + width], "little") + (256 if width == 2 else 0)
    position = start + width
    last = False
    while not last:
        header = int.from_bytes(data[position : position + 3], "little")
        last = bool(header & 1) or position >= len(data)
        repeated = (header >> 1) & 3 == 1  # one byte, many times
        position += 3 + (1 if repeated else header >> 3)
    has_checksum = flags >> 2 & 1
    return unpacked, position + 4 * has_checksum
