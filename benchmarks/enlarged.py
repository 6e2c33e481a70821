"""Write copies of published runs until their results have 100 MB.

    python benchmarks/enlarged.py BENCH FOLDER [BENCHMARK...] [--megabytes 100]

FOLDER/BENCHMARK then has the copies in the folders 001, 002 and so on, and the dataset once, as if
many models had been run on it. Archives count with the size of their content.
"""

from __future__ import annotations

import argparse
import shutil
import zipfile
from pathlib import Path

BENCHMARKS = ("bfcl_v4", "acebench", "hammerbench", "complexfuncbench", "inspect", "tau2")
MEGABYTE = 1_000_000
DATASET_FOLDERS = ("data", "data_all")


def main() -> None:
    """Write the copies of each benchmark, and print their number and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("benchmarks", nargs="*", default=BENCHMARKS)
    parser.add_argument("--megabytes", type=int, default=100)
    arguments = parser.parse_args()

    for name in arguments.benchmarks:
        source = arguments.bench / name
        n_copy_bytes = sum(measure_file(path) for path in list_result_files(source))
        n_copies = max(1, round(arguments.megabytes * MEGABYTE / n_copy_bytes))
        write_copies(source, arguments.folder / name, n_copies)
        print(f"{name}: {n_copies} copies, {n_copies * n_copy_bytes / MEGABYTE:.0f} MB")


def list_result_files(source: Path) -> list[Path]:
    """Return the files of a benchmark that are not in its dataset."""
    files = []
    for path in sorted(source.rglob("*")):
        top = path.relative_to(source).parts[0]
        if path.is_file() and top not in DATASET_FOLDERS:
            files.append(path)
    return files


def measure_file(path: Path) -> int:
    """Return the size of a file in bytes, of an archive after decompression."""
    if not zipfile.is_zipfile(path):
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def write_copies(source: Path, target: Path, n_copies: int) -> None:
    for name in DATASET_FOLDERS:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
    for number in range(1, n_copies + 1):
        for path in list_result_files(source):
            copy = target / f"{number:03}" / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


if __name__ == "__main__":
    main()
