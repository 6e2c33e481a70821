"""Measure the import of an Inspect log with one sample of hundreds of megabytes of events.

    python benchmarks/large_inspect_log.py [MEGABYTES] [deflate|zstd|json]

Prints processor time, megabytes of JSON for each second of processor time, and peak memory of the
reading process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.safe_files import import_zipfile

EVENT = {
    "uuid": "Ed8tHQvMEWUaJfubWKGMkF",
    "span_id": "B5VMFNYkcP9yP5KksAtNkp",
    "timestamp": "2026-09-01T10:00:00+00:00",
    "event": "model",
    "model": "m",
    "input": [{"role": "user", "content": 'a "quoted" text\n' * 20, "id": "x"}] * 6,
    "output": {
        "choices": [{"message": {"role": "assistant", "content": "{not} [json]" * 10}}],
        "completion": "x",
    },
}


def make_parts(n_bytes: int) -> tuple[dict[str, Any], str, str, str]:
    """Return the header, and the text of a large sample before, in and after its list of events."""
    sample = {
        "id": "large",
        "epoch": 1,
        "input": "How?",
        "target": "so",
        "messages": [{"role": "user", "content": "How?"}],
        "scores": {"match": {"value": "C", "answer": "so", "history": []}},
        "metadata": {},
        "events": [],
    }
    fields = {
        "task": "large",
        "task_id": "large",
        "model": "m",
        "created": "2026-09-01T10:00:00+00:00",
    }
    header = {"version": 2, "status": "success", "eval": fields, "results": None}
    before, after = json.dumps(sample).rsplit("[]", 1)
    event = json.dumps(EVENT)
    return header, before + "[", (event + ",") * (n_bytes // len(event)) + event, "]" + after


def write_log(folder: Path, megabytes: int, method: str) -> Path:
    """Write a log with one large sample, as plain JSON or in an archive with this compression."""
    header, *parts = make_parts(megabytes << 20)
    if method == "json":
        path = folder / "log.json"
        with path.open("w") as file:
            file.write(json.dumps(header)[:-1] + ', "samples": [')
            file.writelines(parts)
            file.write("]}")
        return path
    path = folder / "log.eval"
    with import_zipfile().ZipFile(path, "w", {"deflate": 8, "zstd": 93}[method]) as archive:
        archive.writestr("_journal/start.json", json.dumps(header))
        archive.writestr("samples/large_epoch_1.json", "".join(parts))
        archive.writestr("header.json", json.dumps(header))
    return path


def main() -> None:
    """Measure the time and the memory of reading a large log."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    method = sys.argv[2] if len(sys.argv) > 2 else "zstd"
    with tempfile.TemporaryDirectory() as name:
        if len(sys.argv) <= 3:  # another process writes the log, so that its memory does not count
            subprocess.run([sys.executable, __file__, str(megabytes), method, name], check=True)
            (path,) = Path(name).iterdir()
        else:
            write_log(Path(sys.argv[3]), megabytes, method)
            return
        start = time.process_time()
        items = [
            item
            for plan in discover([path]).plans
            for item in read_items(plan)
            if isinstance(item, Item)
        ]
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert [item.official for item in items] == [True]
    print(
        f"{method}: {megabytes} MB in {seconds:.1f} s, {megabytes / seconds:.0f} MB/s, peak memory"
        f" {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
