"""Check and propose mapping files.

A mapping file says where everything is in files that fcreview does not know (docs/mapping.md). Pass
it with --map.

Example: fcreview map propose results.jsonl -o fcreview-map.toml
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.options import ForceOption, JsonOption, argument, option
from fcreview.cli.output import (
    emit,
    emit_json,
    emit_lines,
    format_cell,
    print_message,
    print_table,
)
from fcreview.errors import EXIT_FAILURE, EXIT_USAGE_ERROR, CommandError
from fcreview.importers.common.json_text import make_excerpt
from fcreview.model.sanitize import sanitize, sanitize_lines
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.importers.mapping.check import MappingReport
    from fcreview.importers.mapping.counts import JoinCount, KeyCount, MappingCounts
    from fcreview.importers.mapping.propose import Proposal
    from fcreview.model.item import Call, ImportIssue, Item

MAX_LISTED_ISSUES = 50
MAX_SHOWN_ITEMS = 3
MAX_TEXT_LENGTH = 100


def check(
    file: Annotated[Path, argument("FILE", "Mapping file.")],
    as_json: JsonOption = False,
) -> None:
    """Check a mapping file.

    Reads all files that it names, stores nothing, and prints how many items have each value. The
    exit code is 2 if the mapping file has mistakes, and 1 if a file or a record cannot be read as
    it says.

    Example: fcreview map check fcreview-map.toml
    """
    from fcreview.importers.mapping.check import check_mapping_file

    if not os.path.exists(file):  # noqa: PTH110 - Path.exists raises OSError for a long name
        raise CommandError(f"the mapping file {file} does not exist")
    report = check_mapping_file(Path(os.path.abspath(file)))  # noqa: PTH100 - keep symbolic links
    if as_json:
        _print_report_json(report)
    else:
        _print_report(report)
    if report.problems:
        raise typer.Exit(EXIT_USAGE_ERROR)
    if report.errors:
        raise typer.Exit(EXIT_FAILURE)


def _print_report(report: MappingReport) -> None:
    """Print what a mapping finds in the records: keys, problems, import issues, and counts of
    verdicts.
    """
    _print_counts(report.counts)
    for problem in report.problems:
        emit(f"error: {sanitize(problem)}")
    _print_issues(report.issues)
    _print_totals(report)


def _print_counts(counts: MappingCounts) -> None:
    """Print a row for each key and each join."""
    rows = []
    for key, key_count in counts.keys.items():
        rows.append(_build_key_row(key, key_count))
    for name, join_count in counts.joins.items():
        rows.append(_build_join_row(name, join_count))
    if rows:
        print_table(["key", "found", "missing", "other", "first"], rows, right_aligned=(1, 2))
        emit()


def _print_issues(issues: Sequence[ImportIssue]) -> None:
    """Print the first import issues, each with its place in the files."""
    for issue in issues[:MAX_LISTED_ISSUES]:
        emit(f"{issue.severity}: {_format_place(issue)}: {sanitize(issue.what)}")
    n_more = len(issues) - MAX_LISTED_ISSUES
    if n_more > 0:
        emit(f"… {n_more:,} more. Use --json to list all of them")


def _print_totals(report: MappingReport) -> None:
    """Print the numbers of items and of verdicts by source."""
    verdicts = ", ".join(f"{n:,} {name}" for name, n in report.verdicts.items())
    emit(f"{format_count(report.counts.n_items, 'item')}: {verdicts or 'no verdicts'}")
    judge_verdicts = format_count(report.n_judge_verdicts, "judge verdict")
    human_verdicts = format_count(report.n_human_verdicts, "human verdict")
    emit(f"{judge_verdicts}, {human_verdicts}")


def _build_key_row(key: str, count: KeyCount) -> list[str]:
    """Return a row about a key of the records: how many have it, lack it, or have a wrong value."""
    others = [f"{n:,} {kind}" for kind, n in count.others.items()]
    return [
        key,
        f"{count.n_found:,}",
        f"{count.n_missing:,}",
        ", ".join(others),
        format_cell(count.first_place),
    ]


def _build_join_row(name: str, count: JoinCount) -> list[str]:
    """Return the table cells about a file that is joined to the records: its number of rows, how
    many rows or items have no partner, and the first one without a partner.
    """
    problems = []
    if count.rows_without_item:
        problems.append(f"{len(count.rows_without_item):,} rows match no item")
    if count.items_without_row:
        problems.append(f"{len(count.items_without_row):,} items have no row")

    first_without_partner = ""
    for value in (*count.rows_without_item, *count.items_without_row):
        first_without_partner = value
        break
    return [
        f"join {name}",
        f"{count.n_rows:,}",
        "",
        ", ".join(problems),
        format_cell(first_without_partner),
    ]


def _format_place(issue: ImportIssue) -> str:
    place = format_cell(issue.file)
    return f"{place}:{issue.line}" if issue.line else place


def _print_report_json(report: MappingReport) -> None:
    """Print a JSON object for each fact that the check of a mapping file found.

    The kinds are mistakes, keys, joins, issues and, last, the number of items with each value.
    """
    for problem in report.problems:
        emit_json({"kind": "mistake", "what": problem})

    for key, key_count in report.counts.keys.items():
        emit_json(
            {
                "kind": "key",
                "key": key,
                "found": key_count.n_found,
                "missing": key_count.n_missing,
                "other": dict(key_count.others),
                "first": key_count.first_place,
            }
        )

    for name, join_count in report.counts.joins.items():
        emit_json({"kind": "join", "join": name, **asdict(join_count)})

    for issue in report.issues:
        emit_json({"kind": "issue", **asdict(issue)})

    emit_json(
        {
            "kind": "items",
            "items": report.counts.n_items,
            "verdicts": report.verdicts,
            "judge_verdicts": report.n_judge_verdicts,
            "human_verdicts": report.n_human_verdicts,
        }
    )


def propose(
    file: Annotated[
        Path, argument("FILE", "File with results, or a folder with one file for each item.")
    ],
    out: Annotated[
        Path | None,
        option("-o --output FILE", "Mapping file to write. Without it, the text is printed."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Propose a mapping file from the first records of a file.

    Shows three items as fcreview would read them. Asks nothing: edit the mapping file, and run
    fcreview map check. The paths in it are relative to the folder in which you save it.

    Example: fcreview map propose results.jsonl -o fcreview-map.toml
    """
    from fcreview.importers.mapping.propose import propose_mapping

    if not os.path.exists(file):  # noqa: PTH110 - Path.exists raises OSError for a long name
        raise CommandError(f"{file} does not exist")
    target = Path(os.path.abspath(out or file.parent / "fcreview-map.toml"))  # noqa: PTH100
    proposal = propose_mapping(Path(os.path.abspath(file)), target.parent)  # noqa: PTH100
    if proposal is None:
        raise CommandError(
            f"{file} has no records that are objects with fields. fcreview map needs JSON, JSON"
            " Lines, CSV, TSV or Parquet"
        )
    if out is None:
        emit_lines(sanitize_lines(proposal.text))
    else:
        _write_mapping(out, proposal, force=force, source=file)
    _print_items(proposal)


def _write_mapping(out: Path, proposal: Proposal, *, force: bool, source: Path) -> None:
    from fcreview.exporters.export import OverwriteRules, write_output_file

    write_output_file(out, proposal.text.encode(), OverwriteRules(force, [source]))
    print_message(f"fcreview: wrote {out}. Edit it, then run fcreview map check {out}")


def _print_items(proposal: Proposal) -> None:
    """Print the first items as the proposed mapping reads them."""
    for item in proposal.items[:MAX_SHOWN_ITEMS]:
        emit()
        for name, text in _describe_item(item):
            emit(f"{name:<10} {format_cell(make_excerpt(text, MAX_TEXT_LENGTH))}")


def _describe_item(item: Item) -> Iterator[tuple[str, str]]:
    """Yield (label, value) lines that show an item as fcreview reads it with a proposed mapping."""
    yield "item", item.id
    yield "category", item.category
    yield "question", item.question or "–"
    yield "messages", f"{len(item.messages)}"
    yield "calls", _join_names(item.predicted)
    yield "golden", _join_names(item.golden) or item.extra.golden_reply or "–"
    yield "tools", f"{len(item.functions)}"
    official_words = {True: "pass", False: "fail", None: "–"}
    yield "official", official_words[item.official]

    for verdict in item.verdicts:
        if verdict.source == "judge":
            yield "judge", f"{verdict.by}: {verdict.value}"
    for review in item.extra.recorded_reviews:
        yield "human", f"{review.author}: {review.verdict}"
    for issue in item.issues[:MAX_SHOWN_ITEMS]:
        yield "issue", issue.what


def _join_names(calls: Sequence[Call]) -> str:
    return ", ".join(call.name for call in calls) or "–"


COMMANDS = {"check": check, "propose": propose}
