"""A folder that `datasets.load_dataset` reads without a network: a Parquet file and a card, `README.md`.

The card's front matter is that of the Hugging Face hub: `configs` says where the data lies, `dataset_info` its
features. Features are written as the `datasets` library writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fcreview.exporters.base import Source
from fcreview.model.wording import format_count
from fcreview.store.labels.fields import FLAG, NUMBER, DuckDBType

DATA = "data/labels.parquet"


def write(source: Source, folder: Path) -> None:
    from fcreview.store.labels.read import write_parquet

    (folder / DATA).parent.mkdir()
    write_parquet(folder / DATA, source.shapes, source.lines())
    (folder / "README.md").write_text(card(source), "utf-8")


def card(source: Source) -> str:
    """The card of labels that were written already: it says how many."""
    runs = source.runs
    lines = [
        "---",
        "pretty_name: Labels of function-calling runs",
        "tags:",
        *(f"- {tag}" for tag in ("function-calling", "evaluation", "human-review")),
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {DATA}",
        "dataset_info:",
        "  features:",
        *(f"  {line}" for line in _features(source.shapes)),
        "---",
        "",
        "# Labels of function-calling runs",
        "",
        f"{format_count(source.counts['label'], 'label')}. Every judged target is a row: what the benchmark, its rules and",
        "its judge say (`automatic`), what annotators say (`opinions`), what came of it (`effective`, `decided_by`).",
        f"Where annotators differ the policy is `{source.store.reviews.policy}`. Verdicts are JSON text.",
        "",
        "Runs:",
        "",
        *(f"* {json.dumps(f'{row.info.full_title}, {row.info.model}', ensure_ascii=False)}" for row in runs),
        "",
    ]
    return "\n".join(lines)


def _features(shapes: Mapping[str, DuckDBType]) -> Iterator[str]:
    """YAML of named features."""
    for name, shape in shapes.items():
        yield f"- name: {name}"
        yield from (f"  {line}" for line in _feature(shape))


def _feature(shape: DuckDBType) -> Iterator[str]:
    if isinstance(shape, list):
        inner = shape[0]
        if isinstance(inner, dict):
            yield "list:"
            yield from _features(inner)
        else:
            yield f"list: {_plain(inner)}"
    elif isinstance(shape, dict):
        yield "struct:"
        yield from _features(shape)
    else:
        yield f"dtype: {_plain(shape)}"


def _plain(shape: DuckDBType) -> str:
    return {NUMBER: "int64", FLAG: "bool"}.get(str(shape), "string")
