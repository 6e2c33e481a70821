"""Read ZIP archives whose members are compressed with Deflate or Zstandard, such as the logs of Inspect.

This is a separate module because both importers and the store read members, and they must not import each other. The
module opens no files.
"""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

SIGNATURE = b"PK\x03\x04"
"""First bytes of an archive that has at least one member."""
MAX_RECORD_BYTES = 64 << 20


class ArchiveError(ValueError):
    """Raised for an archive or a member that cannot be read. The message states the reason."""


def open_archive(file: BinaryIO) -> ZipFile:
    """Open an archive. Raises ArchiveError if the file is not a ZIP archive or is damaged."""
    try:
        return zip_library().ZipFile(file)  # type: ignore[no-any-return]
    except Exception as error:
        raise ArchiveError(f"not a complete ZIP archive: {error}") from error


def open_member(archive: ZipFile, member: ZipInfo) -> MemberReader:
    try:
        return MemberReader(archive.open(member))
    except Exception as error:
        raise ArchiveError(f"{member.filename} cannot be read: {error}") from error


class MemberReader:
    """Reader of the decompressed bytes of one member. All errors of the compression library become ArchiveError."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes. At the end of the member, return no bytes."""
        try:
            return bytes(self._stream.read(size))
        except Exception as error:
            raise ArchiveError(f"{getattr(self._stream, 'name', 'member')} cannot be decompressed: {error}") from error


def read_record(file: BinaryIO, offset: int) -> bytes:
    """Return the decompressed member at `offset`, in bytes from the start of the archive. Raises ArchiveError."""
    archive = open_archive(file)
    member = next((each for each in archive.infolist() if each.header_offset == offset), None)
    if member is None:
        raise ArchiveError("the archive has no member at this position")
    data = open_member(archive, member).read(MAX_RECORD_BYTES + 1)
    return data[:MAX_RECORD_BYTES] + b" ... [cut]" if len(data) > MAX_RECORD_BYTES else data


def read_first_member(file: BinaryIO, name: bytes, limit: int) -> bytes | None:
    """Return the content of the first member if it has this name, without reading the archive's directory. Returns None
    if the member has another name, is larger than `limit` bytes, or cannot be read this way."""
    header = file.read(30)
    if len(header) < 30 or not header.startswith(SIGNATURE):
        return None
    method = int.from_bytes(header[8:10], "little")
    size = int.from_bytes(header[18:22], "little")
    name_length, extra_length = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    if file.read(name_length) != name or header[6] & 0x09 or not 0 < size <= limit:
        return None  # The member is encrypted, or its size is written after its content.
    file.seek(extra_length, 1)
    try:
        return _decompress(file.read(size), method, limit)
    except Exception:  # `open_archive` reports the error.
        return None


def _decompress(data: bytes, method: int, limit: int) -> bytes | None:
    if method == 0:
        return data
    if method == 8:
        inflater = zlib.decompressobj(-15)
        content = inflater.decompress(data, limit)
        return content if inflater.eof else None
    if method != 93:
        return None
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    content = b""
    while data and len(content) <= limit:
        decompressor = zstd.ZstdDecompressor()
        content += decompressor.decompress(data, limit)
        if not decompressor.eof:
            return None
        data = decompressor.unused_data
    return content


def zip_library() -> Any:
    """Return a `zipfile` module that can read Zstandard, as the standard library can from Python 3.14 on."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile
    return zipfile
