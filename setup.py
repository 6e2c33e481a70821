"""Which packages there are: every folder of a room that holds an `__init__.py`. All else stands in pyproject.toml."""

from pathlib import Path

from setuptools import setup

ROOMS = ("core", "cli", "exporters", "importers", "sample_runs", "store", "tui")


def packages(root: Path) -> list[str]:
    """`core` is the package fcreview, `importers/bfcl` is fcreview.importers.bfcl."""
    folders = [file.parent.relative_to(root).parts for room in ROOMS for file in (root / room).rglob("__init__.py")]
    return sorted(".".join(("fcreview", *(parts[1:] if parts[0] == "core" else parts))) for parts in folders)


if __name__ == "__main__":
    setup(packages=packages(Path(__file__).resolve().parent))
