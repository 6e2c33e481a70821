"""Recognize copies that people keep beside result and score files: `old_NAME`, `NAME_backup.json`,
`NAME copy.json`.

A name with such a mark is a copy only if the original exists. The mark of an opened file or folder
does not count, so a user can import a copy by opening it.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fcreview.model.item import ImportIssue
from fcreview.model.sync_copy import find_original_name

_MARK = r"(?:old|backups?|bak|bkp|copy|copies|kopie|copie|副本)"
_STRONG_MARK = r"(?:backups?|bak|bkp|copy|copies|kopie|copie|副本)"
"""Marks that only copies have. A folder `score_old` may contain an older evaluation."""
_NUMBER = r"(?:[ _.-]*\(?\d[\d_:.T-]*\)?)?"
"""Number, date or time after a mark: `backup2`, `backup_2025-01-31`, `Copy (2)`."""
_SUFFIXES = (".json", ".jsonl")

_PREFIX = re.compile(
    rf"{_MARK}(?:[ _.-]*(?:of|von))?{_NUMBER}[ _.-]+(?P<original>.+)", re.IGNORECASE
)
_STRONG_PREFIX = re.compile(_PREFIX.pattern.replace(_MARK, _STRONG_MARK), re.IGNORECASE)
_SUFFIX = re.compile(rf"(?P<original>.+?)[ _.-]+{_MARK}{_NUMBER}", re.IGNORECASE)
_STRONG_SUFFIX = re.compile(_SUFFIX.pattern.replace(_MARK, _STRONG_MARK), re.IGNORECASE)
_LONG_SUFFIX = re.compile(
    r"(?P<original>.+?)(?:[_.-]backup| copy)(?![a-z]).*|(?P<numbered>.+?)[ _]?\(\d+\)",
    re.IGNORECASE,
)
"""Suffixes of copied files with any text after the mark, and numbers of repeated downloads."""
_SUFFIX_BEHIND_EXTENSION = re.compile(
    rf"(?P<original>.+\.jsonl?)(?:[._-]{_MARK}\w*|~|\.\d{{1,3}})", re.IGNORECASE
)
_MARK_BEFORE_KIND = re.compile(
    rf"(?P<start>.+?)[ _.-]+{_MARK}{_NUMBER}(?P<kind>_(?:results?|scores?)\.jsonl?)", re.IGNORECASE
)
_MARK_ALONE = re.compile(rf"{_MARK}(?:[ _.-]+(?:results?|scores?|files?))?{_NUMBER}", re.IGNORECASE)
_OUTPUT_FOLDER = re.compile(r"(?:.*[-_.])?(?:results?|scores?)(?:[-_.].*)?", re.IGNORECASE)


def find_copies(files: Iterable[Path], opened_paths: Iterable[Path]) -> dict[Path, Path]:
    """Return copy -> original for each file that is a copy of another one, such as a file in a
    folder `results (copy)` beside `results`.

    Only folders below the opened path that contains the file count, and files that the user opened
    themselves are no copies.
    """
    roots = {Path(os.path.abspath(path)) for path in opened_paths}  # noqa: PTH100 - keep symbolic links
    found = {}
    for path in files:
        if path in roots:
            continue
        roots_above = [root for root in roots if path.is_relative_to(root)]
        root = max(roots_above, key=lambda root: len(root.parts), default=path.parent)
        original = find_original(path, root)
        if original is not None:
            found[path] = original
    return found


def find_original(path: Path, root: Path) -> Path | None:
    """Return the file of which `path` is a copy; None if it is no copy.

    The name of the file and the names of its folders below `root` can have the mark of a copy.
    """
    for original_name in list_original_names(path.name):
        original = path.with_name(original_name)
        if original.is_file():
            return original
    for original in _list_originals_in_other_folders(path, root):
        if original.is_file():
            return original
    return None


def find_original_folder(folder: Path) -> Path | None:
    """Return the folder beside `folder` of which it is a copy by its name; None if it is no
    copy.
    """
    originals = [folder.with_name(name) for name in _list_original_folder_names(folder.name)]
    return next((original for original in originals if original.is_dir()), None)


def _list_originals_in_other_folders(path: Path, root: Path) -> Iterator[Path]:
    """Yield the paths that the original of a file can have if one of its folders below `root` is a
    copy.

    For a folder such as `results (copy)`, the original is in `results`. For a folder whose name is
    only a mark, such as `backup`, it is in the folder above.
    """
    if not path.is_relative_to(root):
        return
    *folder_names, file_name = path.relative_to(root).parts
    for depth, folder_name in enumerate(folder_names):
        above = root.joinpath(*folder_names[:depth])
        below = Path(*folder_names[depth + 1 :], file_name)
        for original_name in _list_original_folder_names(folder_name):
            yield above / original_name / below
        if _MARK_ALONE.fullmatch(folder_name):
            yield above / below


def list_original_names(name: str) -> list[str]:
    """Return the names that the original of a copied file can have, given the name of the copy.

    For example, `scores (1).json` is a copy of `scores.json`. Several marks of copies are known, at
    the start and at the end of names. Empty if the name has none.
    """
    originals = _list_names_without_outer_mark(name)
    stem, dot, extension = name.rpartition(".")
    if dot and extension.lower() in ("json", "jsonl"):
        for original_stem in _list_original_stems(stem):
            originals.append(original_stem + dot + extension)
    return originals


def _list_names_without_outer_mark(name: str) -> list[str]:
    """Return the names without a mark that is not at the end of the stem: that of a sync program,
    behind the extension, at the start, or before the kind of the file.
    """
    originals = []
    synced_file = find_original_name(name)
    if synced_file is not None:
        originals.append(synced_file)
    mark_at_end = _SUFFIX_BEHIND_EXTENSION.fullmatch(name)
    if mark_at_end is not None:
        originals.append(mark_at_end["original"])
    mark_at_start = _PREFIX.fullmatch(name)
    if mark_at_start is not None and mark_at_start["original"].endswith(_SUFFIXES):
        originals.append(mark_at_start["original"])
    mark_before_kind = _MARK_BEFORE_KIND.fullmatch(name)
    if mark_before_kind is not None:
        originals.append(mark_before_kind["start"] + mark_before_kind["kind"])
    return originals


def has_copy_mark(name: str) -> bool:
    """Whether the name of a file has the mark of a copy, such as `old_` or `_backup`."""
    return bool(list_original_names(name))


def has_copy_folder(folder_names: Iterable[str]) -> bool:
    """Whether one of the folders is named as the place of copies: `backup`, `old_scores`."""
    return any(_MARK_ALONE.fullmatch(name) for name in folder_names)


def _list_original_stems(stem: str) -> list[str]:
    """Return the names that the original of a copied file may have: `run` for `run (1)` or `run
    copy`.
    """
    originals = []
    mark = _SUFFIX.fullmatch(stem)
    if mark is not None:
        originals.append(mark["original"])
    long_mark = _LONG_SUFFIX.fullmatch(stem)
    if long_mark is not None:
        # The pattern has two forms, of which only one has matched.
        originals.append(long_mark["original"] or long_mark["numbered"])
    return originals


def _list_original_folder_names(name: str) -> list[str]:
    """Return the possible names of the folder from which a folder was copied, if `name` is that of
    a copy, such as `results_backup`.
    """
    originals = []
    for pattern in (_PREFIX, _SUFFIX):
        mark = pattern.fullmatch(name)
        # A weak mark says nothing about a folder of outputs: `new_results` may be all there is.
        if mark is not None and not _OUTPUT_FOLDER.fullmatch(mark["original"]):
            originals.append(mark["original"])
    for pattern in (_STRONG_PREFIX, _STRONG_SUFFIX):
        mark = pattern.fullmatch(name)
        if mark is not None:
            originals.append(mark["original"])
    return list(dict.fromkeys(originals))


def report_copies(copies: Mapping[Path, Path]) -> list[ImportIssue]:
    """Return a notice for each folder with copies."""
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in copies:
        by_folder[path.parent].append(path)
    return [_make_notice(folder, paths, copies) for folder, paths in by_folder.items()]


def _make_notice(folder: Path, paths: Sequence[Path], copies: Mapping[Path, Path]) -> ImportIssue:
    """Report the copies in a folder that are ignored.

    `paths` are these copies. `copies` maps each copy to its original, which can be in another
    folder.
    """
    first = paths[0]
    original = copies[first]
    if len(paths) == 1:
        what = _describe_copy(first, original)
        return ImportIssue(str(first), what=what, severity="notice")
    if original.parent == folder:
        what = f"ignored {len(paths)} copies of files in the same folder, such as {first.name}"
    else:
        # Several copies in a folder are normally a copied folder.
        what = (
            f"ignored {len(paths)} files, copies of the files in {original.parent}. Open this"
            " folder to import them"
        )
    return ImportIssue(str(folder), what=what, severity="notice")


def _describe_copy(path: Path, original: Path) -> str:
    """Say of which file a single file is a copy."""
    is_same_folder = original.parent == path.parent
    what = f"ignored, a copy of {original.name if is_same_folder else original}"
    # Programs that synchronise folders give such a name to the version of another machine.
    is_synced_copy = find_original_name(path.name) is not None
    if is_synced_copy:
        return f"{what} that another machine changed"
    return what
