"""Run every measurement that needs only data of the project (`make bench`)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from synthetic import write_run

HERE = Path(__file__).parent


def main() -> None:
    """Run the measurements one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "synthetic", 20_000)
        subprocess.run(
            [sys.executable, HERE / "import_speed.py", HERE.parent / "sample_runs", run], check=True
        )
    for program in ("first_paint.py", "budgets.py"):
        subprocess.run([sys.executable, HERE / program], check=True)


if __name__ == "__main__":
    main()
