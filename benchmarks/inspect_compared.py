"""Compare the import of an Inspect log with Inspect's own reader.

    python benchmarks/inspect_compared.py LOG [--megabytes N] [--peer PYTHON] [--rounds N]

Repeats the samples of an archive until they have N megabytes, and prints the least processor time,
the least elapsed time and the peak memory of two whole processes, in turn: `fcreview import`, and
`read_eval_log` in a Python that has the package `inspect_ai`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from process_cost import Cost, measure_process, select_least

from fcreview.safe_files import import_zipfile

PEER = "import sys; from inspect_ai.log import read_eval_log; read_eval_log(sys.argv[1])"
DEFLATE = 8
MEGABYTE = 1_000_000
SAMPLE_FOLDER = "samples/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--megabytes", type=int, default=178)
    parser.add_argument("--peer", help="Python with the package inspect_ai")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "large.eval"
        n_samples = repeat_samples(arguments.log, log, arguments.megabytes * MEGABYTE)
        print(f"{n_samples:,} samples, {log.stat().st_size / MEGABYTE:.1f} MB compressed")

        ours: list[Cost] = []
        peers: list[Cost] = []
        for number in range(arguments.rounds):
            ours.append(measure_import(log, folder / f"workspace{number}"))
            if arguments.peer:
                peers.append(measure_process([arguments.peer, "-c", PEER, os.fspath(log)]))
    report("fcreview import", ours)
    report("read_eval_log", peers)


def repeat_samples(source: Path, target: Path, n_bytes: int) -> int:
    """Write an archive with the samples of another one, repeated under other ids until they have
    about `n_bytes`. Return the number of samples.
    """
    zipfile = import_zipfile()
    with zipfile.ZipFile(source) as archive:
        members = {name: json.loads(archive.read(name)) for name in list_json_members(archive)}
        n_sample_bytes = sum(
            archive.getinfo(name).file_size for name in members if name.startswith(SAMPLE_FOLDER)
        )
    n_copies = max(1, round(n_bytes / n_sample_bytes))
    samples = [members[name] for name in members if name.startswith(SAMPLE_FOLDER)]
    copies = [rename_sample(sample, n) for n in range(n_copies) for sample in samples]
    summaries = [
        rename_sample(each, n) for n in range(n_copies) for each in members["summaries.json"]
    ]

    header = members["header.json"]
    header["eval"]["dataset"] |= {"sample_ids": None, "samples": len(copies)}
    with zipfile.ZipFile(target, "w", DEFLATE) as archive:
        archive.writestr("_journal/start.json", json.dumps(members["_journal/start.json"]))
        for sample in copies:
            name = f"{SAMPLE_FOLDER}{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        archive.writestr("summaries.json", json.dumps(summaries))
        archive.writestr("header.json", json.dumps(header))
    return len(copies)


def list_json_members(archive: Any) -> list[str]:
    names = ("header.json", "summaries.json", "_journal/start.json")
    return [name for name in archive.namelist() if name in names or name.startswith(SAMPLE_FOLDER)]


def rename_sample(sample: dict[str, Any], copy: int) -> dict[str, Any]:
    return sample | {"id": f"{sample['id']}-{copy}"}


def measure_import(log: Path, workspace: Path) -> Cost:
    command = [sys.executable, "-m", "fcreview.cli", "import", os.fspath(log)]
    return measure_process([*command, "--workspace", os.fspath(workspace)])


def report(name: str, costs: Sequence[Cost]) -> None:
    if not costs:
        return
    least = select_least(costs)
    print(
        f"{name:<16} {least.processor_seconds:6.2f} s processor,"
        f" {least.elapsed_seconds:6.2f} s elapsed, {least.peak_megabytes:5.0f} MB"
    )


if __name__ == "__main__":
    main()
