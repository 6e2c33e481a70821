"""What happens around an open app: files go or change under it, the terminal is resized, the program is stopped."""

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

from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.workspace import find_workspace
from tests.faults.processes import LONG, processes_with, times
from tests.faults.pty_program import OnTerminal
from tests.waiting import until


def said(place: Path) -> list[bool | None]:
    return [event.verdict for event in read_journals(find_workspace(place, create=False))[0]]


def store_goes(place: Path) -> None:
    (place / ".fcreview" / "store.duckdb").unlink()


def store_is_cut(place: Path) -> None:
    """Written anew, as an import would not: it puts another file in its place."""
    store = place / ".fcreview" / "store.duckdb"
    store.rename(store.with_suffix(".old"))
    store.write_bytes(b"cut")


def results_change(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.write_text('{"id": "other", "result": "[x(]"}\n')


def results_go(place: Path) -> None:
    shutil.rmtree(place / "result_all")


def reviews_go(place: Path) -> None:
    shutil.rmtree(place / ".fcreview" / "reviews")


@pytest.mark.sweep
@pytest.mark.parametrize("happens", [store_goes, store_is_cut, results_change, results_go, reviews_go])
def test_judging_goes_on_whatever_goes_on_around_it(
    sample: Path, environ: dict[str, str], happens: Callable[[Path], None]
) -> None:
    with OnTerminal(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        happens(sample)
        app.type("R")
        app.until(lambda: "q,escape" in app.text() or "back" in app.text() or "cannot" in app.text())
        app.type("q")
        app.until("verdict on")
        app.type("p")
        app.until("saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
        assert b"Traceback" not in app.bytes
    assert said(sample) == [True]


def results_are_pipes(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.unlink()
        os.mkfifo(file)


def results_never_end(place: Path) -> None:
    for file in (place / "result_all").rglob("*.json"):
        file.unlink()
        file.symlink_to("/dev/zero")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "happens",
    [store_goes, results_are_pipes, *([results_change, results_go, results_never_end] if LONG else [])],
    ids=lambda each: each.__name__,
)
def test_what_is_followed_may_turn_into_anything(
    sample: Path, tmp_path: Path, environ: dict[str, str], happens: Callable[[Path], None]
) -> None:
    """`open --follow` looks again and again, and imports; whoever judges meanwhile goes on."""
    (tmp_path / "c.toml").write_text("follow = 0.2\n")
    environ |= {"FCREVIEW_CONFIG": str(tmp_path / "c.toml")}
    with OnTerminal(["open", sample, "--queue", "dataset", "--follow"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        app.type("p")
        app.until("saved: pass")
        happens(sample)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            app.read(0.1)
        app.type("f")
        app.until(lambda: "saved: fail" in app.text() or "no longer in the results" in app.text())
        told = "saved: fail" in app.text()
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
        assert b"Traceback" not in app.bytes
        assert b"internal error" not in app.bytes
    until(lambda: not processes_with(str(sample)), 10)
    assert said(sample) == [True, False][: 1 + told]
    assert told == (happens is not results_change), "there is no such item any more"


@pytest.mark.sweep
def test_a_stopped_app_goes_on_where_it_was(sample: Path, environ: dict[str, str]) -> None:
    with OnTerminal(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        for _ in range(times(2, 50)):
            app.signal(signal.SIGTSTP)
            app.until(lambda: stopped(app.pid))
            app.screen.reset()
            app.signal(signal.SIGCONT)
            app.until("verdict on")
        app.type("f")
        app.until("saved: fail")
        app.type("\x11")
        assert app.wait() == 0
        assert app.restored
    assert said(sample) == [False]


def stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names another process's threads")
def test_a_signal_that_another_thread_is_given_is_answered(sample: Path, environ: dict[str, str]) -> None:
    """As the kernel may choose on a busy machine, where the main one waits for keys: a stopped app that was continued
    stayed blank."""
    with OnTerminal(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        end = time.monotonic() + 1
        while time.monotonic() < end:
            app.read()
        other = max(int(each.name) for each in Path(f"/proc/{app.pid}/task").iterdir())
        assert other != app.pid
        assert ctypes.CDLL(None).tgkill(app.pid, other, signal.SIGTERM) == 0
        assert app.wait(8) == 128 + signal.SIGTERM
        assert app.restored


@pytest.mark.sweep
def test_a_storm_of_resizes_is_survived(sample: Path, environ: dict[str, str]) -> None:
    with OnTerminal(["open", sample, "--queue", "dataset"], environ) as app:
        app.until("▌")
        app.type("\r")
        app.until("verdict on")
        for _ in range(times(50, 2000)):
            app.resize(random.choice([1, 2, 20, 59, 60, 80, 139, 140, 300]), random.choice([1, 2, 14, 15, 24, 100]))
            app.signal(signal.SIGWINCH)
            app.read(0.002)
        app.resize(80, 24)
        app.until("verdict on")
        app.type("p")
        app.until("saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert b"Traceback" not in app.bytes
    assert said(sample) == [True]
