"""Read and write files safely, and read ZIP archives.

`open_file` and `read_file` read only regular files, because reading a pipe or device could block or
never end.

`WorkspaceFiles` reads and writes the files of a workspace, which may come from another person. It
follows no links below the workspace folder. New files and folders get the permissions of the folder
that contains them. The umask is ignored, so that a group can import and review in a shared folder,
and a private folder stays private.

`open_archive` and the functions after it read ZIP archives whose members are compressed with
Deflate or Zstandard, such as the logs of Inspect. They open no files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

MAX_FILE_BYTES = 300 << 20
MAX_JOURNAL_BYTES = 4_000 << 20
"""Maximum size of a journal, in bytes.

This is enough for about six million reviews by one annotator.
"""

_LINK_ERRORS = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR)
"""Error numbers by which operating systems report that `O_NOFOLLOW` found a link."""
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SECOND_LINK_SECONDS = 1.0
"""Time, in seconds, for which a new file may have a second link (see `WorkspaceFiles.write`)."""
_LINK_CHECK_INTERVAL = 0.02
SIGNATURE = b"PK\x03\x04"
"""First bytes of an archive that has at least one member."""
MAX_RECORD_BYTES = 64 << 20


class UnsafeFileError(OSError):
    """Raised if a path is a link, has several hard links, or is not a regular file.

    `strerror` states what to do.
    """


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Files below one folder. Every path must be below `root`.

    All methods open paths relative to a descriptor of the folder, and follow no links below it. A
    file that a method reads or changes in place must be a regular file with one link. All methods
    except `remove` raise OSError on failure.
    """

    root: Path

    def open(self, path: Path, flags: int = os.O_RDONLY, *, group_can_write: bool = False) -> int:
        """Open a regular file, and return its descriptor.

        If `flags` contains `O_CREAT`, a missing file is created. It gets the read permissions of
        the folder and, with `group_can_write`, also the write permissions.
        """
        with self._open_folder(path.parent) as folder:
            try:
                descriptor = os.open(path.name, flags | _FILE_FLAGS, 0o600, dir_fd=folder)
            except OSError as error:
                raise self._explain_error(error, path) from error
            try:
                status = os.fstat(descriptor)
                _check_regular_file(descriptor, status, path)
                # A file that was just created is empty. An older empty file cannot be told from it,
                # so it gets the same permissions.
                is_empty = status.st_size == 0
                if flags & os.O_CREAT and is_empty:
                    _set_permissions(descriptor, folder, 0o666 if group_can_write else 0o644)
            except BaseException:
                os.close(descriptor)
                raise
        return descriptor

    def open_file(self, path: Path) -> BinaryIO:
        return os.fdopen(self.open(path), "rb")

    def read(self, path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Read a file. Also raises OSError if it has more than `max_bytes` bytes."""
        with self.open_file(path) as file:
            check_file_size(file.fileno(), str(path), max_bytes)
            return file.read()

    def read_json_object(self, path: Path) -> dict[str, Any]:
        """Read a JSON object, or return an empty object if the file cannot be read or contains
        another value.
        """
        try:
            value = orjson.loads(self.read(path))
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def write(
        self, path: Path, content: bytes, *, sync: bool = False, overwrite: bool = True
    ) -> None:
        """Write to a temporary file and rename it to `path`. With `sync`, wait until the content is
        on disk. Without `overwrite`, raise FileExistsError if `path` exists.
        """
        temporary = f"{path.stem}.{os.getpid()}.tmp"
        with self._open_folder(path.parent) as folder:
            try:
                _write_new_file(temporary, content, folder, sync=sync)
                if overwrite:
                    os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    # A rename would overwrite a file that another process has just created.
                    # Creating a link fails instead.
                    os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            if sync:
                _sync_folder(folder)

    def write_json(self, path: Path, value: Any) -> None:
        """Write a value as JSON to a file. See `write`."""
        self.write(path, orjson.dumps(value, option=orjson.OPT_INDENT_2))

    def rename_file(self, old_path: Path, new_path: Path) -> None:
        """Rename a complete file, after writing it to disk and setting its permissions.

        Overwrite `new_path`.
        """
        with (
            self._open_folder(old_path.parent) as old_folder,
            self._open_folder(new_path.parent) as folder,
        ):
            descriptor = os.open(old_path.name, os.O_RDWR | _FILE_FLAGS, dir_fd=old_folder)
            try:
                _set_permissions(descriptor, folder, 0o644)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(old_path.name, new_path.name, src_dir_fd=old_folder, dst_dir_fd=folder)

    def remove(self, path: Path) -> None:
        """Delete a file, a link, or a folder with its content. Ignore errors."""
        with contextlib.suppress(OSError), self._open_folder(path.parent) as folder:
            try:
                os.unlink(path.name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                shutil.rmtree(path.name, ignore_errors=True, dir_fd=folder)

    def make_folder(self, path: Path) -> None:
        """Create a folder and its missing parents, each with the permissions of its parent."""
        if not self.root.is_dir():
            _make_root_folder(self.root)
        with self._open_folder(path, create=True):
            pass

    def sync_folder(self, path: Path) -> None:
        """Wait until the directory entries of a folder are on disk."""
        with self._open_folder(path) as folder:
            _sync_folder(folder)

    @contextlib.contextmanager
    def _open_folder(self, path: Path, *, create: bool = False) -> Iterator[int]:
        """Open a folder of the workspace, and yield its descriptor.

        The folders on the way are opened one by one, each inside the one before, so that no
        symbolic link can lead out of the workspace. With `create`, missing folders are created.
        """
        folder = os.open(self.root, _FOLDER_FLAGS)
        # `folder` is the descriptor of the innermost folder. Those above it are closed already.
        try:
            for name in path.relative_to(self.root).parts:
                if name == "..":
                    raise OSError(errno.EINVAL, "the path is outside the workspace", str(path))
                if create:
                    _make_inner_folder(name, folder)
                inner_folder = self._open_inner_folder(name, folder, path)
                os.close(folder)
                folder = inner_folder
            yield folder
        finally:
            os.close(folder)

    def _open_inner_folder(self, name: str, folder: int, path: Path) -> int:
        """Open a folder inside a folder that is given by its descriptor, and return its descriptor.
        `path` is the path that an error names.
        """
        try:
            return os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
        except OSError as error:
            raise self._explain_error(error, path) from error

    def _explain_error(self, error: OSError, path: Path) -> OSError:
        """Return the error to raise for a failed access to a file: one that names a symbolic link
        on its path, if that is the reason.
        """
        # The file is a socket, or a pipe without a reader.
        if error.errno == errno.ENXIO:
            return _make_not_regular_error(path)
        if error.errno not in _LINK_ERRORS:
            return error
        n_parts = len(path.relative_to(self.root).parts)
        paths_below_root = [path, *path.parents][:n_parts]
        for candidate in paths_below_root:
            if candidate.is_symlink():
                message = (
                    f"{candidate.name} is a symbolic link. Delete it or replace it with a copy"
                )
                return UnsafeFileError(errno.ELOOP, message, str(path))
        return error


def _write_new_file(name: str, content: bytes, folder: int, *, sync: bool) -> None:
    """Write a file in a folder, given by its descriptor. An older file of the name is removed
    first, because it could be a link or a pipe.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as stream:
        _set_permissions(descriptor, folder, 0o644)
        stream.write(content)
        if sync:
            stream.flush()
            os.fsync(descriptor)


def _make_root_folder(path: Path) -> None:
    """Make a folder and the folders above it. The new folder has the permissions of the folder
    above it, and the owner can always access it.
    """
    if not path.parent.is_dir():
        _make_root_folder(path.parent)
    path.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):
        special_bits = path.stat().st_mode & 0o7000
        permissions_of_parent = path.parent.stat().st_mode & 0o777
        path.chmod(special_bits | permissions_of_parent | 0o700)


def _make_inner_folder(name: str, parent_descriptor: int) -> None:
    """Create a folder with the permissions of its parent, unless it exists."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent_descriptor)
    except FileExistsError:
        return
    descriptor = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent_descriptor)
    try:
        _set_permissions(descriptor, parent_descriptor, 0o777)
    finally:
        os.close(descriptor)


_PERMISSION_BITS = 0o777


def _set_permissions(descriptor: int, parent_descriptor: int, max_mode: int) -> None:
    """Copy the permissions of the parent folder, limited to `max_mode`. The owner always gets the
    owner's permissions of `max_mode`.

    Args:
        descriptor: Descriptor of the file or folder.
        parent_descriptor: Descriptor of the folder that it is in.
        max_mode: The largest permissions: 0o644 or 0o666 for a file, 0o777 for a folder.
    """
    parent_mode = os.fstat(parent_descriptor).st_mode
    owner_mode = max_mode & stat.S_IRWXU
    new_permissions = (parent_mode & max_mode) | owner_mode

    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & _PERMISSION_BITS == new_permissions:
        return
    # Bits that are no permissions, such as that of a folder whose files keep its group, stay.
    special_bits = mode & ~_PERMISSION_BITS
    # It fails if another user owns the file, or if the file system has no permissions.
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, special_bits | new_permissions)


def _check_regular_file(descriptor: int, status: os.stat_result, path: Path) -> None:
    """Raise an error unless the file is a regular file with a single name.

    A new file may have a second link for a moment, while it is written (`WorkspaceFiles.write`).
    """
    if not stat.S_ISREG(status.st_mode):
        raise _make_not_regular_error(path)
    if status.st_nlink > 1:
        links = _wait_for_single_link(descriptor, status)
        if links > 1:
            raise UnsafeFileError(
                errno.EMLINK,
                f"{path.name} has {links} hard links. Delete it or replace it with a copy",
                str(path),
            )


def _wait_for_single_link(descriptor: int, status: os.stat_result) -> int:
    """Return the number of links of a file, at once or when a new link has been removed.

    On a busy machine, the process that writes the file may not run for a while.
    """
    links = status.st_nlink
    # A new link changes this time. The links of an older file stay.
    is_new = abs(time.time() - status.st_ctime) < _SECOND_LINK_SECONDS
    deadline = time.monotonic() + _SECOND_LINK_SECONDS
    while links > 1 and is_new and time.monotonic() < deadline:
        time.sleep(_LINK_CHECK_INTERVAL)
        links = os.fstat(descriptor).st_nlink
    return links


def _make_not_regular_error(path: Path) -> UnsafeFileError:
    return UnsafeFileError(errno.EINVAL, f"{path.name} is not a regular file. Delete it", str(path))


def _sync_folder(descriptor: int) -> None:
    # Some file systems cannot sync a folder.
    with contextlib.suppress(OSError):
        os.fsync(descriptor)


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading.

    Raises OSError for a pipe or device, which could block or never end.
    """

    def open_without_blocking(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file", name)
        return descriptor

    return open(path, "rb", buffering, opener=open_without_blocking)


def read_file(path: Path, max_bytes: int | None = None) -> bytes:
    """Read a regular file.

    Raises OSError if the file is not regular or has more than `max_bytes` bytes.
    """
    with open_file(path) as file:
        if max_bytes is not None:
            check_file_size(file.fileno(), str(path), max_bytes)
        return file.read()


def check_file_size(descriptor: int, name: str, max_bytes: int) -> None:
    """Raise OSError, with the file `name`, if a file has more than `max_bytes` bytes."""
    if os.fstat(descriptor).st_size > max_bytes:
        raise OSError(errno.EFBIG, f"the file is larger than {max_bytes >> 20:,} MB", name)


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
    """Reader of the decompressed bytes of one archive member.

    It raises ArchiveError for every compression error.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, or no bytes at the end of the archive member."""
        try:
            return bytes(self._stream.read(size))
        except Exception as error:
            raise ArchiveError(
                f"{getattr(self._stream, 'name', 'member')} cannot be decompressed: {error}"
            ) from error


def read_member_at(file: BinaryIO, header_offset: int) -> bytes:
    """Return the decompressed content of the member whose header starts `header_offset` bytes after
    the start of the archive. A content longer than `MAX_RECORD_BYTES` is cut. Raises ArchiveError.
    """
    archive = open_archive(file)
    members = [each for each in archive.infolist() if each.header_offset == header_offset]
    if not members:
        raise ArchiveError(f"the archive has no member at byte {header_offset}")
    content = open_member(archive, members[0]).read(MAX_RECORD_BYTES + 1)
    if len(content) > MAX_RECORD_BYTES:
        return content[:MAX_RECORD_BYTES] + b" ... [cut]"
    return content


_MEMBER_HEADER = struct.Struct("<4x2xHH8xI4xHH")
"""Header of an archive's member: flags, method, compressed size, length of the name, length of the
extra field.
"""
_ENCRYPTED_OR_SIZE_FOLLOWS = 0x09
"""Flags of a member that is encrypted, or whose size follows its content."""


def read_first_member(file: BinaryIO, expected_name: bytes, max_bytes: int) -> bytes | None:
    """Return the content of an archive's first member without reading the archive's directory.
    Returns None if the member has another name, has more than `max_bytes` bytes, or cannot be read
    in this way.
    """
    header = file.read(_MEMBER_HEADER.size)
    if len(header) < _MEMBER_HEADER.size or not header.startswith(SIGNATURE):
        return None
    flags, method, size, name_length, extra_length = _MEMBER_HEADER.unpack(header)
    if file.read(name_length) != expected_name:
        return None
    if flags & _ENCRYPTED_OR_SIZE_FOLLOWS or not 0 < size <= max_bytes:
        return None
    file.seek(extra_length, os.SEEK_CUR)
    try:
        return _decompress(file.read(size), method, max_bytes)
    except Exception:
        # `open_archive` reports the error.
        return None


ZIP_STORED = 0
ZIP_DEFLATED = 8
ZIP_ZSTANDARD = 93
"""Method of Inspect's archives, which `zipfile` knows only from Python 3.14 on."""


def _decompress(data: bytes, zip_method: int, max_bytes: int) -> bytes | None:
    """Decompress the start of a member. Returns None if the data or the method is not usable."""
    if zip_method == ZIP_STORED:
        return data
    if zip_method == ZIP_DEFLATED:
        # Without a zlib header.
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        content = inflater.decompress(data, max_bytes)
        return content if inflater.eof else None
    if zip_method == ZIP_ZSTANDARD:
        return _decompress_zstandard(data, max_bytes)
    return None


def _decompress_zstandard(data: bytes, max_bytes: int) -> bytes | None:
    """Decompress the frames that follow each other. Returns None if the last one is cut off."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    content = b""
    remaining = data
    while remaining and len(content) <= max_bytes:
        decompressor = zstd.ZstdDecompressor()
        content += decompressor.decompress(remaining, max_bytes)
        if not decompressor.eof:
            return None
        remaining = decompressor.unused_data
    return content


def import_zipfile() -> Any:
    """Import a `zipfile` module that can read Zstandard.

    The standard library can from Python 3.14 on.
    """
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile
    return zipfile
