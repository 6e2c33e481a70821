"""A damaged or hostile configuration file: the error message is harmless, nothing hangs, and tags,
reasons and keys are sanitized.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from fcreview.cli.config import Config
from tests.commands import Done, run_in_this_process
from tests.examples import split_by_form
from tests.faults.hostile.data import SUFFIX
from tests.faults.hostile.exercise import find_harmful
from tests.faults.hostile.limits import time_limit
from tests.faults.pty_program import TerminalApp

VALUES = [
    json.dumps(SUFFIX),
    json.dumps([SUFFIX] * 3),
    json.dumps([[SUFFIX]]),
    "1e999",
    "nan",
    "-1",
    "true",
    str(10**400),
    "1979-05-27",
    "{ a = 1 }",
    json.dumps("x" * 900_000),
    json.dumps(["../../x", "/dev/zero", ""]),
    json.dumps(["e" + "\u0301" * 5_000]),
    "[" * 900 + "]" * 900,
    "[" * 100_000,
    '"""',
    "inf",
]
NAMES = [*(setting.name for setting in fields(Config)), json.dumps(SUFFIX)]


@pytest.fixture
def run_with_settings(sample: Path, tmp_path: Path, environ: dict[str, str]) -> Callable[..., Done]:
    def run(*words: str) -> Done:
        with time_limit(30):
            done = run_in_this_process(
                [words[0], sample, *words[1:]],
                tmp_path,
                environ | {"FCREVIEW_CONFIG": str(tmp_path / "c.toml")},
            )
        assert done.code in (0, 1, 2), done
        assert "Traceback" not in done.err
        assert "internal error" not in done.err, done.err
        assert not find_harmful(done.err + done.out), done
        return done

    return run


@pytest.mark.sweep
@pytest.mark.parametrize("name", split_by_form(NAMES, quick=NAMES[::3]), ids=ascii)
def test_setting_may_have_any_value(
    tmp_path: Path, run_with_settings: Callable[..., Done], name: str
) -> None:
    lines, place = [f"{name} = {value}\n" for value in VALUES], str(tmp_path)
    lines += [f"[{name}]\n{json.dumps(SUFFIX)} = {value}\n" for value in VALUES]
    for line in lines:
        (tmp_path / "c.toml").write_text(line, "utf-8", "surrogatepass")
        done = run_with_settings("items")
        assert done.code == 0 or place in done.err or "annotator" in done.err, (line[:80], done.err)
        assert len(done.err) < 20_000, line[:80]


@pytest.mark.parametrize("kind", ["pipe", "zero", "folder", "itself", "large", "bytes"])
def test_invalid_configuration_file_is_reported(
    tmp_path: Path, run_with_settings: Callable[..., Done], kind: str
) -> None:
    file = tmp_path / "c.toml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind in ("zero", "itself"):
        file.symlink_to("/dev/zero" if kind == "zero" else file)
    else:
        file.write_bytes(b"#" * 3_000_000 if kind == "large" else b"\xff\xfe\x00")
    done = run_with_settings("items")
    assert (done.code, done.out) == (1, "")
    assert "c.toml" in done.err


def test_configuration_file_may_be_dev_null(
    sample: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    assert (
        run_in_this_process(
            ["items", sample], tmp_path, environ | {"FCREVIEW_CONFIG": os.devnull}
        ).code
        == 0
    )


@pytest.mark.sweep
def test_tags_and_reasons_are_sanitized(
    sample: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    words = json.dumps([f"a{SUFFIX}", "b" + "\u0301" * 99, "c[red]"])
    (tmp_path / "c.toml").write_text(f"tags = {words}\nreasons = {words}\n", "utf-8")
    environ |= {"FCREVIEW_CONFIG": str(tmp_path / "c.toml")}
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        app.type("e")
        app.until("set or clear")
        app.type("q")
        app.until(lambda: "set or clear" not in app.text())
        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert b"Traceback" not in app.bytes
        assert b"\x1b]52" not in app.bytes
        assert "\u202e".encode() not in app.bytes
        assert b"\xc2\x9b" not in app.bytes
        assert b"\x1b[2J\x1b" not in app.bytes.replace(b"\x1b[2J\x1b[H", b"")
