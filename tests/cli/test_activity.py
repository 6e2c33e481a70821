"""A long query shows what it does and how long it runs."""

from __future__ import annotations

import io
import time

import pytest

from fcreview.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_activity_is_shown_only_on_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, shown: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "ACTIVITY_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr", stream)
    with output.show_activity("searching items"):
        time.sleep(0.2)
    text = stream.getvalue()
    assert ("searching items · 0 s" in text) == shown
    assert text.endswith("\r\x1b[K" if shown else "")


@pytest.mark.parametrize(
    ("stream", "text"), [(Terminal, "\rimporting ...\x1b[K\r\x1b[K"), (io.StringIO, "")]
)
def test_progress_is_shown_before_the_first_amount(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], text: str
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stderr := stream())
    progress = output.Progress()
    progress.show_first_line()
    progress.erase()
    assert stderr.getvalue() == text


def test_wide_table_continues_in_second_table() -> None:
    rows = [["maple", "1", "22", "one two three four five six"], ["birch", "3", "44", ""]]
    table = output.format_table(
        ["run", "passed", "failed", "remark"], rows, right_aligned=(1, 2), page_width=24
    )
    assert table == [
        "run    passed  failed",
        "maple       1      22",
        "birch       3      44",
        "",
        "run    remark",
        "maple  one two three four five",
        "       six",
        "birch",
    ]
    assert output.format_table(["run"], [["maple"]], page_width=24) == ["run", "maple"]


@pytest.mark.parametrize(
    ("stream", "variables", "coloured"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "dumb"}, False),
        (Terminal, {"TERM": ""}, False),
        (Terminal, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (io.StringIO, {"TERM": "xterm"}, False),
    ],
)
def test_warnings_are_yellow_on_colour_terminals(
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    variables: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", stderr := stream())
    output.print_warning("no dataset")
    assert stderr.getvalue() == ("\x1b[33mno dataset\x1b[0m\n" if coloured else "no dataset\n")
