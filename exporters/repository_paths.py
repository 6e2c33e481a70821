"""Define where the repositories of benchmarks have their golden answers."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

BFCL_DATA = "berkeley-function-call-leaderboard/bfcl_eval/data"
"""Folder of the dataset in the repository of BFCL."""
ACEBENCH_DATA = "data_all/data_{language}"
ACEBENCH_LANGUAGES = ("en", "zh")
ANSWER_FOLDERS = (
    f"{BFCL_DATA}/possible_answer",
    *(
        f"{ACEBENCH_DATA.format(language=language)}/possible_answer"
        for language in ACEBENCH_LANGUAGES
    ),
)
"""Folders with golden answers in repositories."""


def find_repository_root(file: Path) -> Path | None:
    """Return the root of the repository that has a file with golden answers at this path."""
    for folder in ANSWER_FOLDERS:
        root = find_root(file, f"{folder}/{file.name}")
        if root is not None:
            return root
    return None


def find_root(file: Path, repository_path: str) -> Path | None:
    """Return the folder in which a file has this path, or None if the file has another path."""
    parts = PurePosixPath(repository_path).parts
    if file.parts[-len(parts) :] != parts:
        return None
    return Path(*file.parts[: -len(parts)])
