"""Export labels as a Hugging Face dataset: a folder with a Parquet file and a dataset card, which
`datasets.load_dataset` reads offline.

The front matter of the card (`README.md`) has the format of the Hugging Face hub: `configs` contains the path of the
data, and `dataset_info` describes the features in the notation of the `datasets` library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fcreview.exporters.base import ExportSource
from fcreview.model.wording import format_count
from fcreview.store.label_fields import FLAG, NUMBER, DuckDBType

DATA_FILE = "data/labels.parquet"


def write(source: ExportSource, folder: Path) -> None:
    from fcreview.store.label_reader import write_parquet

    (folder / DATA_FILE).parent.mkdir()
    write_parquet(folder / DATA_FILE, source.label_field_types, source.label_lines())
    (folder / "README.md").write_text(build_dataset_card(source), "utf-8")


def build_dataset_card(source: ExportSource) -> str:
    """Return the dataset card. It states the number of labels, so they must be written first."""
    runs = source.runs
    lines = ["---", "pretty_name: Labels of function-calling runs"]
    lines += ["tags:", *(f"- {tag}" for tag in ("function-calling", "evaluation", "human-review"))]
    lines += ["configs:", "- config_name: default", "  data_files:", "  - split: train", f"    path: {DATA_FILE}"]
    lines += ["dataset_info:", "  features:"]
    lines += [f"  {line}" for line in _struct_features(source.label_field_types)]
    lines += ["---", "", "# Labels of function-calling runs", ""]
    lines += [
        f"{format_count(source.counts['label'], 'label')}. Each row is one target: the official, recomputed and",
        "judge verdicts (`automatic`), the annotators' reviews (`opinions`) and the effective verdict (`effective`,",
        "`decided_by`).",
        f"Policy for disagreements: `{source.store.reviews.policy}`. Verdicts are JSON text.",
        "",
        "Runs:",
        "",
        *(f"* {json.dumps(f'{row.info.full_title}, {row.info.model}', ensure_ascii=False)}" for row in runs),
        "",
    ]
    return "\n".join(lines)


def _struct_features(shapes: Mapping[str, DuckDBType]) -> Iterator[str]:
    for name, shape in shapes.items():
        yield f"- name: {name}"
        yield from (f"  {line}" for line in _type_feature(shape))


def _type_feature(shape: DuckDBType) -> Iterator[str]:
    if isinstance(shape, list):
        inner = shape[0]
        if isinstance(inner, dict):
            yield "list:"
            yield from _struct_features(inner)
        else:
            yield f"list: {_scalar_type(inner)}"
    elif isinstance(shape, dict):
        yield "struct:"
        yield from _struct_features(shape)
    else:
        yield f"dtype: {_scalar_type(shape)}"


def _scalar_type(shape: DuckDBType) -> str:
    return {NUMBER: "int64", FLAG: "bool"}.get(str(shape), "string")
