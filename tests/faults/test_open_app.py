"""Events during an open app: files vanish or change, the terminal is resized, the program is
stopped.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM
from tests.examples import split_by_form
from tests.faults.processes import LONG, processes_with, times
from tests.faults.pty_program import TerminalApp
from tests.waiting import until


def recorded_verdicts(place: Path) -> list[bool | None]:
    return [
        event.verdict for event in read_events_and_warnings(find_workspace(place, create=False))[0]
    ]


def delete_store(place: Path) -> None:
    (place / ".fcreview" / "store.duckdb").unlink()


def damage_store(place: Path) -> None:
    """Replace the store by a damaged file."""
    store = place / ".fcreview" / "store.duckdb"
    store.rename(store.with_suffix(".old"))
    store.write_bytes(b"cut")


def change_results(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.write_text('{"id": "other", "result": "[x(]"}\n')


def delete_results(place: Path) -> None:
    shutil.rmtree(place / "result_all")


def delete_reviews(place: Path) -> None:
    shutil.rmtree(place / ".fcreview" / "reviews")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "change",
    split_by_form(
        [delete_store, damage_store, change_results, delete_results, delete_reviews],
        quick=[damage_store, delete_reviews],
    ),
)
def test_reviewing_continues_while_files_change(
    sample: Path, environ: dict[str, str], change: Callable[[Path], None]
) -> None:
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        change(sample)
        app.type("R")
        app.until(
            lambda: "q,escape" in app.text() or "q item" in app.text() or "cannot" in app.text()
        )
        app.type("q")
        app.until("verdict on")
        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
        assert b"Traceback" not in app.bytes
    assert recorded_verdicts(sample) == [True]


def replace_results_by_pipes(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.unlink()
        os.mkfifo(file)


def replace_results_by_endless_devices(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.unlink()
        file.symlink_to("/dev/zero")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "change",
    [
        replace_results_by_pipes,
        *([delete_store, change_results, delete_results] if LONG else []),
        *([replace_results_by_endless_devices] if LONG else []),
    ],
    ids=lambda each: each.__name__,
)
def test_followed_files_may_become_anything(
    sample: Path, tmp_path: Path, environ: dict[str, str], change: Callable[[Path], None]
) -> None:
    """`open --follow` imports in the background. Reviewing continues meanwhile."""
    (tmp_path / "c.toml").write_text("follow = 0.2\n")
    environ |= {"FCREVIEW_CONFIG": str(tmp_path / "c.toml")}
    with TerminalApp(["open", sample, "--queue", "dataset", "--follow"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        app.give_verdict("p", "saved: pass")
        change(sample)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            app.read(0.1)
        app.type("f")
        app.until(lambda: "saved: fail" in app.text() or "no longer in the results" in app.text())
        is_saved = "saved: fail" in app.text()
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
        assert b"Traceback" not in app.bytes
        assert b"internal error" not in app.bytes
    until(lambda: not processes_with(str(sample)), 10)
    assert recorded_verdicts(sample) == [True, False][: 1 + is_saved]
    assert is_saved == (change is not change_results), "there is no such item any more"


@pytest.mark.sweep
def test_stopped_app_continues(sample: Path, environ: dict[str, str]) -> None:
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        for _ in range(times(2, 50)):
            app.signal(signal.SIGTSTP)
            app.until(lambda: is_stopped(app.pid))
            app.screen.reset()
            app.signal(signal.SIGCONT)
            app.until("verdict on")
        app.give_verdict("f", "saved: fail")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
    assert recorded_verdicts(sample) == [False]


@pytest.mark.parametrize("stops", [True, False], ids=["stopped", "running"])
def test_app_that_was_not_suspended_reads_keys_once(
    sample: Path, environ: dict[str, str], *, stops: bool
) -> None:
    """SIGCONT also follows SIGSTOP, a debugger or the pause of a container. Two threads that read
    keys would change their order, and the app would not quit.
    """
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        for _ in range(times(2, 20)):
            if stops:
                app.signal(signal.SIGSTOP)
                app.until(lambda: is_stopped(app.pid))
            app.signal(signal.SIGCONT)
            text = "abcdefghijklmnopqrstuvwxyz"
            app.type("/")
            app.until(lambda: app.text().splitlines()[-1].strip() == "/")
            for key in text:
                app.type(key)
            app.until(text)
            app.type("\x1b")
            app.until(lambda: text not in app.text())  # noqa: B023 - waited for
        app.give_verdict("f", "saved: fail")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
        assert b"leaked" not in app.bytes
    assert recorded_verdicts(sample) == [False]


def test_app_repairs_the_terminal_after_a_stop(sample: Path, environ: dict[str, str]) -> None:
    """A shell takes the terminal while the app is stopped, and sets its own modes."""
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.until(lambda: app.current_attributes != app.attributes)
        app_attributes = app.current_attributes
        app.signal(signal.SIGSTOP)
        app.until(lambda: is_stopped(app.pid))
        app.set_attributes(app.attributes)
        app.screen.reset()
        n_paste_modes = app.bytes.count(b"\x1b[?2004h")
        app.signal(signal.SIGCONT)
        app.until("▌")
        app.until(lambda: app.current_attributes == app_attributes)
        app.until(lambda: app.bytes.count(b"\x1b[?2004h") > n_paste_modes)
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored


def is_stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names another process's threads")
def test_signal_to_another_thread_ends_the_app(sample: Path, environ: dict[str, str]) -> None:
    """On a busy machine the kernel may deliver a signal to another thread.

    A continued app then stayed blank.
    """
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        end = time.monotonic() + 1
        while time.monotonic() < end:
            app.read()
        threads = {int(each.name) for each in Path(f"/proc/{app.pid}/task").iterdir()}
        other = max(threads - {app.pid})
        assert ctypes.CDLL(None).tgkill(app.pid, other, signal.SIGTERM) == 0
        assert app.wait(8) == 128 + signal.SIGTERM
        assert app.restored


@pytest.mark.sweep
def test_app_survives_many_resizes(sample: Path, environ: dict[str, str]) -> None:
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        for _ in range(times(50, 2000)):
            app.resize(
                random.choice([1, 2, 20, 59, 60, 80, 139, 140, 300]),
                random.choice([1, 2, 14, 15, 24, 100]),
            )
            app.signal(signal.SIGWINCH)
            app.read(0.002)
        app.resize(80, 24)
        app.until("verdict on")
        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert b"Traceback" not in app.bytes
    assert recorded_verdicts(sample) == [True]


def test_verdict_keys_in_one_packet_are_one_review(sample: Path, environ: dict[str, str]) -> None:
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        app.type("fffff")
        app.until("f ignored: ")
        app.type("\x11")
        assert app.wait() == 0
    assert recorded_verdicts(sample) == [False]


def test_ctrl_z_returns_to_the_shell_and_fg_redraws(sample: Path, environ: dict[str, str]) -> None:
    shell = ["bash", "--norc", "--noprofile", "-i"]
    command = " ".join([*PROGRAM, "open", str(sample), "--queue", "dataset"])
    with TerminalApp([], environ | {"PS1": "ready> "}, program=shell) as app:
        app.until("ready>")
        app.type(f"{command}\r")
        app.until("▌")
        app.type("\r")
        app.until("verdict on")

        app.type("\x1a")
        app.until("Stopped")
        app.until("ready>")
        app.screen.reset()  # pyte has no main screen
        app.type("fg\r")
        app.until("verdict on")
        app.until("p pass f fail g golden wrong")

        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        app.until("1 item reviewed")
    assert recorded_verdicts(sample) == [True]


def test_ctrl_z_without_a_shell_does_not_freeze_the_app(
    sample: Path, environ: dict[str, str]
) -> None:
    with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\x1a")
        app.until("no shell")
        app.type("\x11")
        assert app.wait() == 0
