"""Write labels to JSON Lines, CSV, Parquet or a Hugging Face dataset, and read labels from JSON
Lines.

All formats have the fields of `fcreview.store.label_fields`.

* JSON Lines has one label per line, with JSON types.
* CSV (RFC 4180, UTF-8, CRLF) is safe to open in a spreadsheet: a text that looks like a formula
  starts with an apostrophe. A list is joined with `; `. Verdicts and opinions are text, such as
  `judge gpt-4o fail: why` and `alice pass, golden, tags a b: note`. Calls, messages and golden
  fixes are JSON. The last column, `reviews`, has the opinions as JSON, so that `label_table` can
  read them.
* Parquet has typed columns. Verdicts, golden fixes, arguments and function docs are JSON text.
* A Hugging Face dataset is a folder with a Parquet file and a dataset card. `datasets.load_dataset`
  reads it offline.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.model.review import ANNOTATION_FIELDS
from fcreview.model.wording import format_answer, format_count
from fcreview.store.label_fields import FLAG, JSON, NUMBER, TEXT, VERDICT_KEY, DuckDBType
from fcreview.store.label_import import ImportedReview, InvalidRecord, parse_review

REVIEW_FIELDS = tuple(VERDICT_KEY if name == "verdict" else name for name in ANNOTATION_FIELDS)


def write_jsonl(source: ExportSource, out: Sink) -> None:
    for chunk in source.iter_label_json_chunks():
        out.write("\n".join([*chunk, ""]).encode())


def read_jsonl(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the reviews of all labels.

    A line without `opinions` is a single review: `{"id": "x", "value": true}`.
    """
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield from _read_label_line(number, line)


def _read_label_line(line_number: int, line: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the reviews of a line of a label file.

    The line is an exported label, which has its reviews in `opinions`, or a single review.
    """
    try:
        label = _parse_label(line)
        opinions = _list_opinions(label)
    except ValueError as error:
        yield InvalidRecord(line_number, str(error))
        return

    is_single_review = "opinions" not in label
    for opinion in opinions:
        try:
            review = parse_review(line_number, label, opinion, check_scale=is_single_review)
        except ValueError as error:
            yield InvalidRecord(line_number, str(error))
        else:
            yield review


def _parse_label(line: bytes) -> dict[str, Any]:
    """Raises ValueError unless the line is a JSON object."""
    try:
        label = orjson.loads(line)
    except ValueError:
        raise ValueError("the line is not valid JSON") from None
    if not isinstance(label, dict):
        raise ValueError("the line is not a JSON object")
    return label


def _list_opinions(label: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the reviews of a label.

    Raises ValueError for a malformed label, or if a label without `opinions` is no review itself.
    """
    if "opinions" not in label:
        if not _has_review_field(label):
            fields = ", ".join(REVIEW_FIELDS)
            raise ValueError(f"the line has no review. A review has one of the fields {fields}")
        return [label]

    opinions = label["opinions"]
    is_list = isinstance(opinions, list)
    if not is_list or not all(isinstance(opinion, dict) for opinion in opinions):
        raise ValueError("`opinions` must be a list of objects")
    return [opinion for opinion in opinions if _has_review_field(opinion)]


def _has_review_field(opinion: dict[str, Any]) -> bool:
    return any(opinion.get(name) is not None for name in REVIEW_FIELDS)


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters with which a spreadsheet formula can start, from the OWASP page on CSV injection. The
last four are full-width forms of the first four.
"""


REVIEWS_COLUMN = (
    "reviews"  # column of a CSV table with the reviews of a label as JSON, for `import-labels`
)


def write_csv(source: ExportSource, out: Sink) -> None:
    """Write a row for each label, with its reviews also as JSON in the last column."""
    field_types = source.label_field_types
    out.write(encode_csv([[*field_types, REVIEWS_COLUMN]], "\r\n"))
    for chunk in source.iter_label_chunks():
        # Columns are formatted one at a time, which is faster than rows.
        columns = []
        for name, field_type in field_types.items():
            columns.append(_format_csv_column(name, field_type, chunk))
        columns.append([_format_reviews_as_json(label) for label in chunk])
        out.write(encode_csv(zip(*columns, strict=True), "\r\n"))


def _format_reviews_as_json(label: Label) -> str:
    opinions = label["opinions"]
    if not opinions:
        return ""
    return orjson.dumps(opinions).decode()


def _format_csv_column(field_name: str, field_type: DuckDBType, labels: list[Label]) -> list[str]:
    """Return the cells of a field. Texts and lists that are empty have empty cells."""
    values = [label[field_name] for label in labels]
    # Of these types, values such as false and 0 have cells with text.
    has_false_values = field_type in (JSON, FLAG, NUMBER)
    # Many columns are empty, such as those of notes, so this saves time.
    if not has_false_values and not any(values):
        return [""] * len(values)
    if field_name in _FIELD_FORMATTERS:
        return _format_column_with(_FIELD_FORMATTERS[field_name], field_name, labels)
    if field_type == TEXT:
        return [_format_text_cell(text) for text in values]
    return [_format_value_cell(value) for value in values]


def _format_column_with(
    format_field: Callable[[Label], Any], field_name: str, labels: list[Label]
) -> list[str]:
    """Return the cells of a column of the CSV file. `format_field`: formats the field of a
    label.
    """
    cells = []
    for label in labels:
        cell = ""
        if label[field_name]:
            cell = format_csv_cell(format_field(label))
        cells.append(cell)
    return cells


def _format_text_cell(text: str | None) -> str:
    if not text:
        return ""
    # Most texts are no formula, so most cells cost no further call.
    return format_csv_cell(text) if text[0] in FORMULA_STARTS else text


def _format_value_cell(value: Any) -> str:
    is_empty = value is None or value == []
    return "" if is_empty else format_csv_cell(value)


def format_csv_cell(value: Any) -> str:
    """Return the text of a CSV cell.

    A spreadsheet would run a text that looks like a formula, so such a text gets a leading
    apostrophe.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)

    # A list is written as its elements, other values as JSON.
    elements = value if isinstance(value, list) else [value]
    texts = []
    for element in elements:
        if isinstance(element, (dict, list)):
            texts.append(orjson.dumps(element).decode())
        else:
            texts.append(str(element))
    return format_csv_cell("; ".join(texts))


def _format_automatic_verdicts(label: Label) -> list[str]:
    """Format each automatic verdict as `judge gpt-4o fail value_error: reason`."""
    return [
        _format_automatic_verdict(
            label["criterion"],
            each["source"],
            each["by"],
            orjson.dumps(each["value"]),
            each["error_type"],
        )
        + _format_reason_suffix(each["rationale"])
        for each in label["automatic"]
    ]


@lru_cache(4096)
def _format_automatic_verdict(
    criterion: str, source: str, by: str | None, json_value: bytes, error_type: str | None
) -> str:
    """Format an automatic verdict as `judge gpt-4o fail wrong_count`, without missing parts."""
    answer = format_answer(criterion, orjson.loads(json_value))
    words = [word for word in (source, by, answer, error_type) if word]
    return " ".join(words)


def _format_opinions(label: Label) -> list[str]:
    return [_format_opinion(label["criterion"], opinion) for opinion in label["opinions"]]


def _format_opinion(criterion: str, opinion: dict[str, Any]) -> str:
    """Format a review as `alice (adjudicator) pass, golden, tags a b, bulk: note`."""
    title = opinion["annotator"]
    if opinion["act"] == "adjudicate":
        title += " (adjudicator)"
    if opinion["value"] is not None:
        title += " " + format_answer(criterion, opinion["value"])

    parts = [title]
    if opinion["fault"]:
        parts.append(opinion["fault"])
    if opinion["tags"]:
        parts.append(f"tags {' '.join(opinion['tags'])}")
    if opinion["bulk"]:
        parts.append("bulk")
    return ", ".join(parts) + _format_reason_suffix(opinion["note"])


def _format_reason_suffix(reason: str | None) -> str:
    return f": {reason}" if reason else ""


_FIELD_FORMATTERS: dict[str, Callable[[Label], list[str]]] = {
    "automatic": _format_automatic_verdicts,
    "opinions": _format_opinions,
}


def encode_csv(rows: Iterable[Iterable[str]], line_end: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def write_parquet(source: ExportSource, out: Sink) -> None:
    """Write the labels as a Parquet file. It goes through a temporary file, because `out` may be a
    pipe.
    """
    with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
        path = Path(folder) / "labels.parquet"
        _write_parquet_to_path(source, path)
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)


def _write_parquet_to_path(source: ExportSource, path: Path) -> None:
    from fcreview.store.label_fields import write_parquet

    write_parquet(path, source.label_field_types, source.iter_label_json_chunks())


DATA_FILE = "data/labels.parquet"


def write_hugging_face(source: ExportSource, folder: Path) -> None:
    (folder / DATA_FILE).parent.mkdir()
    _write_parquet_to_path(source, folder / DATA_FILE)
    (folder / "README.md").write_text(build_dataset_card(source), "utf-8")


def build_dataset_card(source: ExportSource) -> str:
    """Return the text of the dataset card, which describes exported labels on the Hugging Face Hub.

    Write the labels first, because the card states their number.
    """
    lines = [*_list_card_metadata(source), *_list_card_text(source), ""]
    return "\n".join(lines)


def _list_card_metadata(source: ExportSource) -> Iterator[str]:
    """Yield the block of YAML with which a card begins: tags, files and fields."""
    yield from (
        "---",
        "pretty_name: Labels of function-calling runs",
        "tags:",
        "- function-calling",
        "- evaluation",
        "- human-review",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {DATA_FILE}",
        "dataset_info:",
        "  features:",
    )
    for feature_line in _format_struct_features(source.label_field_types):
        yield f"  {feature_line}"
    yield "---"
    yield ""


def _list_card_text(source: ExportSource) -> Iterator[str]:
    """Yield the description of the labels, and the list of the runs."""
    n_labels = format_count(source.counts["label"], "label")
    yield from (
        "# Labels of function-calling runs",
        "",
        f"The dataset has {n_labels}. A label has the official, recomputed and",
        "judge verdicts on an item or a part of it (`automatic`), the reviews by annotators"
        " (`opinions`), and the",
        "effective verdict (`effective`, `decided_by`). Verdicts are JSON text. The policy for"
        " disagreements is",
        f"`{source.store.reviews.policy}`.",
        "",
        "Runs:",
        "",
    )
    for row in source.runs:
        title = f"{row.info.full_title}, {row.run_name}"
        yield f"* {json.dumps(title, ensure_ascii=False)}"


def _format_struct_features(field_types: Mapping[str, DuckDBType]) -> Iterator[str]:
    for name, field_type in field_types.items():
        yield f"- name: {name}"
        yield from (f"  {line}" for line in _format_feature_type(field_type))


def _format_feature_type(field_type: DuckDBType) -> Iterator[str]:
    """Yield the type of a feature as YAML, as `datasets` expects it in a dataset card."""
    if isinstance(field_type, list):
        inner = field_type[0]
        if isinstance(inner, dict):
            yield "list:"
            yield from _format_struct_features(inner)
        else:
            yield f"list: {_get_scalar_feature_type(inner)}"
    elif isinstance(field_type, dict):
        yield "struct:"
        yield from _format_struct_features(field_type)
    else:
        yield f"dtype: {_get_scalar_feature_type(field_type)}"


def _get_scalar_feature_type(field_type: DuckDBType) -> str:
    return {NUMBER: "int64", FLAG: "bool"}.get(str(field_type), "string")
