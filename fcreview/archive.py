"""Read ZIP archives whose members are compressed with Deflate or Zstandard, such as the logs of Inspect.

Importers and the store use this separate module, because they must not import each other. The module opens no files.
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
    """Raised if an archive or an archive member cannot be read. The message states the reason."""


def open_archive(file: BinaryIO) -> ZipFile:
    """Open an archive. Raises ArchiveError if the file is not a ZIP archive or is damaged."""
    try:
        return import_zipfile().ZipFile(file)  # type: ignore[no-any-return]
    except Exception as error:
        raise ArchiveError(f"not a complete ZIP archive: {error}") from error


def open_member(archive: ZipFile, member: ZipInfo) -> MemberReader:
    try:
        return MemberReader(archive.open(member))
    except Exception as error:
        raise ArchiveError(f"{member.filename} cannot be read: {error}") from error


class MemberReader:
    """Reader of the decompressed bytes of one archive member. It raises ArchiveError for every compression error."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, or no bytes at the end of the archive member."""
        try:
            return bytes(self._stream.read(size))
        except Exception as error:
            raise ArchiveError(f"{getattr(self._stream, 'name', 'member')} cannot be decompressed: {error}") from error


def read_member_at(file: BinaryIO, header_offset: int) -> bytes:
    """Return the decompressed content of the member whose header starts `header_offset` bytes after the start of the
    archive. A content longer than `MAX_RECORD_BYTES` is cut. Raises ArchiveError."""
    archive = open_archive(file)
    member = next((each for each in archive.infolist() if each.header_offset == header_offset), None)
    if member is None:
        raise ArchiveError(f"the archive has no member at byte {header_offset}")
    data = open_member(archive, member).read(MAX_RECORD_BYTES + 1)
    return data[:MAX_RECORD_BYTES] + b" ... [cut]" if len(data) > MAX_RECORD_BYTES else data


def read_first_member(file: BinaryIO, expected_name: bytes, max_bytes: int) -> bytes | None:
    """Return the content of an archive's first member without reading the archive's directory. Returns None if the
    member has another name, has more than `max_bytes` bytes, or cannot be read in this way."""
    header = file.read(30)
    if len(header) < 30 or not header.startswith(SIGNATURE):
        return None
    method = int.from_bytes(header[8:10], "little")
    size = int.from_bytes(header[18:22], "little")
    name_length, extra_length = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    if file.read(name_length) != expected_name or header[6] & 0x09 or not 0 < size <= max_bytes:
        return None  # The flags mean that the member is encrypted, or that its size follows its content.
    file.seek(extra_length, 1)
    try:
        return _decompress(file.read(size), method, max_bytes)
    except Exception:  # `open_archive` reports the error.
        return None


def _decompress(data: bytes, zip_method: int, max_bytes: int) -> bytes | None:
    if zip_method == 0:
        return data
    if zip_method == 8:
        inflater = zlib.decompressobj(-15)
        content = inflater.decompress(data, max_bytes)
        return content if inflater.eof else None
    if zip_method != 93:
        return None
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    content = b""
    while data and len(content) <= max_bytes:
        decompressor = zstd.ZstdDecompressor()
        content += decompressor.decompress(data, max_bytes)
        if not decompressor.eof:
            return None
        data = decompressor.unused_data
    return content


def import_zipfile() -> Any:
    """Import a `zipfile` module that can read Zstandard. The standard library can from Python 3.14 on."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile
    return zipfile
