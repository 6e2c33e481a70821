"""The application: one session, the queue as its first screen, and what holds for all screens.

SIGTERM and SIGHUP (a dropped connection) leave the app as quitting does: what was said is on disk, the terminal as
it was. Nothing is asked or told any more.

A signal may be given to any thread. Python answers it in the main one, which waits for keys: that is woken.

Else an app that is continued (`fg`) on a busy machine could stay blank, and hear no key, until its window is resized.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from fcreview.store.rows import View
from fcreview.tui.actions import APP
from fcreview.tui.key_bindings import bindings, key_table
from fcreview.tui.keymap import KeymapError, in_force, keymap
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import fit
from fcreview.tui.widgets.document_view import LineBar

if TYPE_CHECKING:
    from fcreview.tui.live_reload import Follower, Source


ENDING = (signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10.0
"""Seconds after which the process ends in any case: all that the screen confirmed is on disk."""


class Ending:
    """Hears the signals while the app runs; `end` is called on its loop with the exit code."""

    def __init__(self, end: Callable[[int], object]) -> None:
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._told = False
        self._before = {each: signal.getsignal(each) for each in ENDING}
        for each in ENDING:
            if self._before[each] is not signal.SIG_IGN:  # nohup
                signal.signal(each, self._heard)

    def over(self) -> None:
        """Who heard them before does so again; after a signal, nobody: what is left is short and must be done."""
        if not self._told:
            for each, handler in self._before.items():
                signal.signal(each, handler)

    def _heard(self, number: int, _: FrameType | None) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)  # it usually comes twice
        self._told = True
        _let_go_of_a_gone_terminal()
        last = threading.Timer(PATIENCE, os._exit, [128 + number])
        last.daemon = True
        last.start()
        self._loop.call_soon_threadsafe(self._end, 128 + number)


def _let_go_of_a_gone_terminal() -> None:
    """What is still drawn goes nowhere, instead of holding up or failing whoever draws it."""
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            termios.tcgetattr(stream.fileno())
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, stream.fileno())
                os.close(nothing)
        except (OSError, ValueError):
            continue


class Waking:
    """From now on each signal wakes the running loop, until `over`. Only in the main thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ours, self._told = socket.socketpair()
        for end in (self._ours, self._told):
            end.setblocking(False)
        self._loop.add_reader(self._ours, self._take)
        self._before = signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)

    def over(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._loop.remove_reader(self._ours)
        for end in (self._ours, self._told):
            end.close()

    def _take(self) -> None:
        """To be awake is all: Python calls the handlers."""
        with contextlib.suppress(BlockingIOError):
            self._ours.recv(4096)


LEAST = (60, 15)
"""Columns and rows."""
PALETTE_AT = ("queue.filter", "item.next")
"""Keys that are in force where there is a palette."""


class SmallScreen(Screen[None]):
    """Shown while the terminal is too small to show anything well."""

    def compose(self) -> ComposeResult:
        yield LineBar()

    def on_resize(self) -> None:
        cells, rows = self.app.size
        says = f"{cells}x{rows}: fcreview needs {LEAST[0]}x{LEAST[1]}"
        self.query_one(LineBar).show(fit(((says, "warn"),), cells))


class FcreviewApp(App[int]):
    """`run()` gives the number of items reviewed; `return_code` is 1 if the store could not be opened, 128
    and a signal's number if that ended it.

    `open_item` is an item's id or its number in the store: it is opened over the queue. `key_names` are other keys for
    actions, as `keymap` takes them. `adjudicate`: instead of the queue, what annotators differ on in the view.
    `resume`: the queue opens as this annotator left it. `follow`: result files are taken in while they change.
    """

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(APP)
    CSS_PATH = "screens/queue.tcss"  # of the first screen: Textual loads only those of screens that are pushed
    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    Input > .input--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
    Input > .input--selection { background: ansi_default; color: ansi_default; text-style: underline; }
    """

    def __init__(
        self,
        session: Session,
        view: View | None = None,
        open_item: int | str | None = None,
        *,
        key_names: Mapping[str, str] | None = None,
        adjudicate: bool = False,
        resume: bool = False,
        follow: Source | None = None,
    ) -> None:
        super().__init__(ansi_color=True)  # said here, too: NO_COLOR picks its filter before there is a theme
        self.animation_level = "none"
        self.theme = "ansi-dark"
        self.session = session
        self._message = ""
        self.pressed = 0.0
        """When the key was pressed whose action is done now; of the monotonic clock."""
        self._state = QueueState.of(view or View(), session.blind)
        self._position = session.position(self._state) if resume else None
        if self._position is not None:
            self._state.restore(self._position.setting)
        self._open_item = open_item
        self._adjudicate = adjudicate
        self._ending: Ending | None = None
        self._waking: Waking | None = None
        self._follow = follow
        self._follower: Follower | None = None
        try:
            self.set_keymap(in_force(keymap(key_names or {})))
        except KeymapError as error:
            self._message = str(error)

    def get_default_screen(self) -> Screen[None]:
        if self._adjudicate:
            return Screen()
        return QueueScreen(
            self.session, self._state, open_item=self._open_item, message=self._message, position=self._position
        )

    def on_mount(self) -> None:
        if not self.is_headless:
            self._waking = Waking()
            self._ending = Ending(lambda code: self.run_worker(self._end(code), group="leave", exclusive=True))
        self.call_later(self.session.begin)
        if self._adjudicate:
            self.call_after_refresh(self._show_disputes)
        elif self._follow is not None:
            from fcreview.tui.live_reload import Follower

            self._follower = Follower(self, self.session, self._follow)
            self._follower.begin()

    def _show_disputes(self) -> None:
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        self.push_screen(AdjudicationScreen(self.session, self._state.view), lambda _: self.exit(self.session.reviewed))

    def on_resize(self, event: events.Resize) -> None:
        """A terminal that is too small shows so, over whatever is open, until it has grown."""
        small = event.size.width < LEAST[0] or event.size.height < LEAST[1]
        if small and not isinstance(self.screen, SmallScreen):
            self.push_screen(SmallScreen())
        elif not small and isinstance(self.screen, SmallScreen):
            self.pop_screen()

    def action_help(self) -> None:
        from fcreview.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen | SmallScreen):
            self.push_screen(HelpScreen(key_table(self.screen), blind=self._state.blind))

    def action_palette(self) -> None:
        from fcreview.tui.screens.palette import Palette

        queue = self.screen_stack[0]
        Palette(self, self.session, self._state, queue if isinstance(queue, QueueScreen) else None).open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """The palette is called from where the keys of the queue or of an item are in force, at once: what is typed
        behind its key is never taken for keys of what lies below."""
        if action != "palette":
            return True
        if isinstance(self.focused, Input):
            return False
        nodes = (self.focused or self.screen).ancestors_with_self if self.screen_stack else []
        return any(getattr(each, "id", "") in PALETTE_AT for node in nodes for each in type(node).BINDINGS)

    def on_key(self, event: events.Key) -> None:
        """A key typed while a screen opens means nothing yet: it is given to no other, and not dropped silently. Of one
        that does nothing, lists say why (`no_key`)."""
        self.pressed = event.time
        opening, tell = getattr(self.screen, "opening", False), getattr(self.screen, "no_key", None)
        if not opening and tell is None:
            return
        bound = self.screen.active_bindings.get(event.key)
        if opening:
            if bound is None:
                self.bell()
        elif tell is not None and (bound is None or not bound.enabled):
            tell(event.key)

    async def action_quit(self) -> None:
        """Not before everything said is on disk; what could not be saved is told first, and quitting again leaves."""
        self._behind_keys(list((self.focused or self.screen).ancestors_with_self))

    def _behind_keys(self, nodes: list[DOMNode]) -> None:
        """Keys pressed before go from node to node, while this one came straight to the app: it takes the same way."""
        if nodes:
            nodes[0].call_later(self._behind_keys, nodes[1:])
        else:
            self.run_worker(self._leave(), group="leave", exclusive=True)

    async def _leave(self) -> None:
        if await self.session.leave():
            self._keep_position()
            self.exit(self.session.reviewed)

    async def _end(self, code: int) -> None:
        """As `_leave`, but there is nobody to be told."""
        await self.session.leave()
        self._keep_position()
        self.exit(self.session.reviewed, return_code=code)

    def _keep_position(self) -> None:
        queue = self.screen_stack[0]
        if isinstance(queue, QueueScreen):
            self.session.keep_position(self._state, queue.position)
            queue.keep_glance()

    def on_unmount(self) -> None:
        if self._ending is not None:
            self._ending.over()
        if self._waking is not None:
            self._waking.over()
        if self._follower is not None:
            self._follower.end()
        self.session.close()
