"""Check training rows with the libraries that read them. `make packages` runs this outside of the
test suite.

Usage: python check_training_rows.py FILE...
"""

from __future__ import annotations

import sys

from datasets import load_dataset  # type: ignore[import-not-found]
from trl.data_utils import is_conversational  # type: ignore[import-not-found]


def main(paths: list[str]) -> None:
    for path in paths:
        rows = load_dataset("json", data_files=path, split="train")
        for row in rows:
            if not is_conversational(row):
                sys.exit(f"{path}: row {row['id']} is not conversational")
        print(f"{path}: {len(rows)} rows are conversational; fields {', '.join(rows.column_names)}")


if __name__ == "__main__":
    main(sys.argv[1:])
