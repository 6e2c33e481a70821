"""`fcreview show`: print one item as text, JSON or an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.item_text import (
    find_item_number,
    format_item_heading,
    print_item,
    read_compared_detail,
)
from fcreview.cli.options import (
    ForceOption,
    ItemArgument,
    JsonOption,
    RunOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import emit_json, print_message
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize, sanitize_lines
from fcreview.tui.item_view.blocks import Block, DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail
    from fcreview.tui.text.lines import Line


@workspace_command("annotator", "show_judge")
def show(
    options: WorkspaceOptions,
    item: ItemArgument,
    run: RunOption = None,
    full: Annotated[bool, option("--full", "Print all messages and long texts in full.")] = False,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, option("--html FILE", "Write the item as an HTML page to FILE.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Show one item.

    Prints the dialogue, the golden and predicted calls side by side, the verdicts and the reviews.

    Example: fcreview show runs/gpt4o live_simple_3-3-0 --full
    """
    with open_workspace(options) as session:
        item_number = find_item_number(session, item, run)
        if html is not None:
            if as_json:
                raise UsageError("--html and --json exclude each other. Pass only one of them")
            _write_item_page(session, item_number, html, force=force)
        elif as_json:
            emit_json(_build_item_json(session.store.read_detail(item_number)))
        else:
            print_item(session, item_number, full=full)


def _write_item_page(session: WorkspaceSession, item: int, file: Path, *, force: bool) -> None:
    """Write the item to an HTML file."""
    from fcreview.exporters.export import OverwriteRules, write_output_file

    detail = read_compared_detail(session, item)
    page = render_item_page(detail, session.annotator, format_item_heading(detail))
    rules = OverwriteRules.for_store(session.store, force=force)
    write_output_file(file, page.encode("utf-8", "replace"), rules)
    print_message(f"wrote the item to {file}")


def _build_item_json(detail: ItemDetail) -> dict[str, Any]:
    """Build the JSON object of an item with its verdicts and reviews.

    `item.extra` is flat: fields that only one benchmark has are not nested.
    """
    extra = detail.item.extra.as_json()
    if "state_differences" in extra:
        extra["state_differences"] = _build_state_differences_json(extra["state_differences"])
    benchmark_fields = extra.pop("more", {})

    item = _get_dataclass_fields(detail.item)
    item["extra"] = benchmark_fields | extra
    # Earlier versions printed this key, always with null.
    item["common"] = None
    detail_fields = _get_dataclass_fields(detail)
    # Programs read the item as the benchmark has it, and the golden fix in `golden`.
    del detail_fields["corrected_item"]
    return detail_fields | {"item": item}


def _build_state_differences_json(differences: dict[str, Any]) -> dict[str, Any]:
    """Return the differences with the names of the JSON fields that this command has always
    printed.
    """
    objects = {}
    for name, values in differences.items():
        objects[name] = {"model": values["predicted"], "ground_truth": values["golden"]}
    return objects


def _get_dataclass_fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


LAYOUT_WIDTHS = {"wide": 96, "narrow": 42}
"""Line width in characters by layout, wide for desktops and paper, narrow for phones.

CSS shows one of the layouts.
"""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { margin: 1.5em auto; max-width: 100ch; padding: 0 12px;
  font: 15px/1.5 ui-monospace, Menlo, Consolas, monospace;
  font-size: clamp(11px, calc((100vw - 24px) / 59), 15px); }
h1 { font-size: 1.1em; }
h1, p { overflow-wrap: anywhere; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
details { margin: .3em 0 .3em 8ch; }
summary, .dim, .equal { opacity: .65; }
.strong, .head { font-weight: bold; }
.differs, .diff, .fail, .bad { color: light-dark(#b00020, #ff8a8a); font-weight: bold; }
.diff, .near { text-decoration: underline; }
.golden, .pass, .good { color: light-dark(#00695c, #6fd8a8); }
.predicted, .normalised, .near, .key { color: light-dark(#0b5394, #7fc4ff); }
.missing, .disputed { color: light-dark(#7b1fa2, #e0a0ff); font-weight: bold; }
.extra, .warn, .unsure { color: light-dark(#7a5b00, #e8c860); }
.narrow { display: none; }
@media screen and (max-width: 700px) {
  body { font-size: clamp(11px, calc((100vw - 24px) / 26), 15px); }
  .wide { display: none; }
  .narrow { display: block; }
  details { margin-left: 2ch; }
}
@media print { body { margin: 0; padding: 0; font-size: 11px; } }
"""


def render_item_page(detail: ItemDetail, annotator: str, heading: str) -> str:
    """Render an item as an HTML page, on which readers can unfold long texts.

    `heading`: line with the verdicts.
    """
    name = escape(sanitize(detail.row.id))
    run = escape(sanitize(f"{detail.run.full_title} · {detail.row.run_name}"))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name} · {run}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>{name}</h1>\n<p>{run}<br>{escape(heading)}</p>",
    ]

    # All texts from data are escaped.
    options = DisplayOptions(full_dialogue=True, unfold_all=True, print_hint="full text below")
    for block in build_document(detail, annotator, options):
        parts += _render_block(block)
    parts.append("</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def _render_block(block: Block) -> Iterator[str]:
    """Render a part of an item for wide and for narrow windows.

    If a layout cuts a text, an element with the full text follows.
    """
    wide_lines = block.lines(LAYOUT_WIDTHS["wide"])
    narrow_lines = block.lines(LAYOUT_WIDTHS["narrow"])
    # Where no full text follows, nothing may be cut. Only in layouts with as many lines, each
    # narrow line has the content of the wide line at its place.
    lines_correspond = len(narrow_lines) == len(wide_lines)
    if not block.full_text and lines_correspond:
        narrow_lines = _replace_clipped_lines(narrow_lines, wide_lines)
    if wide_lines:
        yield _render_lines(wide_lines, layout="wide")
    if narrow_lines:
        yield _render_lines(narrow_lines, layout="narrow")

    if not block.full_text:
        return
    if block.folded or _is_clipped(wide_lines):
        yield _render_full_text(block, block.full_text(), html_class="")
    elif _is_clipped(narrow_lines):
        # Only the narrow layout shows this element.
        yield _render_full_text(block, block.full_text(), html_class=' class="narrow"')


def _render_full_text(block: Block, text: str, *, html_class: str) -> str:
    lines = "\n".join(escape(line) for line in sanitize_lines(text))
    summary = f"<summary>{escape(sanitize(block.title))}, full text</summary>"
    return f"<details{html_class}>{summary}<pre>{lines}</pre></details>"


def _replace_clipped_lines(narrow: Sequence[Line], wide: Sequence[Line]) -> list[Line]:
    """Replace clipped lines by wide ones, which the browser wraps, if there is no full text."""
    lines = []
    for narrow_line, wide_line in zip(narrow, wide, strict=True):
        if _is_clipped([narrow_line]):
            lines.append(_strip_horizontal_rule(wide_line))
        else:
            lines.append(narrow_line)
    return lines


def _render_lines(lines: Sequence[Line], layout: str) -> str:
    text = "\n".join(_render_line(line) for line in lines)
    return f'<pre class="{layout}">{text}</pre>'


def _is_clipped(lines: Sequence[Line]) -> bool:
    return any("…" in plain_text(line) for line in lines)


def _strip_horizontal_rule(line: Line) -> Line:
    """Remove the parts at the end of a line that have only blanks and dashes."""
    parts = list(line)
    while parts:
        text, _ = parts[-1]
        if text.strip(" ─"):
            break
        parts.pop()
    return tuple(parts)


def _render_line(line: Line) -> str:
    """Render a line as HTML.

    Only the text has to be escaped, because fcreview defines the style names.
    """
    parts = []
    for text, style in line:
        if style:
            parts.append(f'<span class="{style}">{escape(text)}</span>')
        else:
            parts.append(escape(text))
    return "".join(parts)
