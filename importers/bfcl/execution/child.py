"""Program of the child process that executes multi-turn calls with the official BFCL package.

fcreview starts it with `python -I`, an empty environment and a temporary working folder. It may run
in another Python than fcreview, so it imports only the standard library and `bfcl_eval`. Requests
and replies are lines of JSON. The first line of the output describes the process.

The official package evaluates call texts. fcreview sends only calls of known functions with literal
arguments. In case such a call does harm nevertheless, each request runs in a process of its own,
without network, with limits on time, memory and files, and without access to other programs.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import inspect
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

MAX_CPU_SECONDS = 20
MAX_WALL_SECONDS = 40
MAX_MEMORY_BYTES = 1 << 30
MAX_FILE_BYTES = 1 << 20
MAX_OPEN_FILES = 64
MAX_REPLY_BYTES = 32 << 20
MAX_TEXT_LENGTH = 2_000
"""Longest value of a state that a reply contains, in characters."""
TOO_LONG = "the calls take too long"
"""Failure of a request that was stopped at a limit of time."""
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
NAMESPACE = "network namespace"
SOCKETS = "sockets blocked"
CLASSES = (
    "GorillaFileSystem",
    "MathAPI",
    "MessageAPI",
    "TicketAPI",
    "TradingBot",
    "TravelAPI",
    "TwitterAPI",
    "VehicleControlAPI",
)
"""Classes of the multi-turn categories. The other ones use the network or a database."""
FORBIDDEN_EVENTS = (
    "ctypes.",
    "ftplib.",
    "http.client.",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.putenv",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.spawn",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.unsetenv",
    "pty.spawn",
    "shutil.",
    "signal.",
    "socket.",
    "subprocess.",
    "urllib.",
)
"""Audit events (`sys.addaudithook`), or their first characters, that end a request."""

Json = dict[str, Any]
Handler = Callable[[Json], Json]


class ForbiddenError(RuntimeError):
    """Raised if a call tries to leave the process."""


def block_network() -> str:
    """Move this process to a network namespace without interfaces, and say how it is blocked.

    Where namespaces are not allowed, the audit hook refuses sockets.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWNET):
        try:
            is_blocked = libc.unshare(flags) == 0
        except AttributeError:
            return SOCKETS
        if is_blocked:
            return NAMESPACE
    return SOCKETS


def limit_resources() -> None:
    """Limit the time, memory and files that this process may use from now on."""
    limits = {
        resource.RLIMIT_CPU: MAX_CPU_SECONDS,
        resource.RLIMIT_AS: MAX_MEMORY_BYTES,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, wanted_limit in limits.items():
        # The system may already have a lower limit, which cannot be raised.
        limit = wanted_limit
        _, hard_limit = resource.getrlimit(kind)
        if hard_limit != resource.RLIM_INFINITY:
            limit = min(limit, hard_limit)
        resource.setrlimit(kind, (limit, limit))


def forbid_side_effects() -> None:
    """Refuse network, other processes and writing from now on. Cannot be undone."""
    readable_folders = tuple(os.path.realpath(folder) for folder in sys.path if folder)

    def check_event(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            _check_open(arguments, readable_folders)
        elif event.startswith(FORBIDDEN_EVENTS):
            raise ForbiddenError(f"{event} is not allowed")

    sys.addaudithook(check_event)


def _check_open(arguments: tuple[Any, ...], readable_folders: tuple[str, ...]) -> None:
    """Allow only reading of Python's own modules, which may be imported late.

    `arguments` are those of the audit event `open`: path, mode and flags.
    """
    path = arguments[0] if arguments else None
    flags = arguments[2] if len(arguments) > 2 else None
    is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if is_written or not isinstance(path, (str, bytes)):
        raise ForbiddenError("writing files is not allowed")
    real_path = os.path.realpath(os.fsdecode(path))
    if not real_path.startswith(readable_folders):
        raise ForbiddenError("reading files is not allowed")


def run_in_fork(handle: Handler, request: Json) -> Json:
    """Run a request in a process of its own, and return its reply or `{"failure": reason}`."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        # Only the new process gets here. It ends in this call.
        os.close(reader)
        _handle_in_child(handle, request, writer)

    os.close(writer)
    try:
        content, failure = _read_reply(reader)
    finally:
        os.close(reader)
        # The process still runs if its reply took too long or was too large. If it has ended, the
        # signal has no effect.
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)

    if failure:
        return {"failure": failure}
    try:
        reply: Json = json.loads(content)
    except ValueError:
        return {"failure": _describe_end(status)}
    return reply


def _handle_in_child(handle: Handler, request: Json, writer: int) -> NoReturn:
    """Handle a request, write the reply and end the process."""
    try:
        limit_resources()
        forbid_side_effects()
        reply = handle(request)
        content = json.dumps(reply, default=_to_text).encode("utf-8", "backslashreplace")
    except MemoryError:
        gc.collect()
        content = b'{"failure": "the calls need too much memory"}'
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"[:MAX_TEXT_LENGTH]
        content = json.dumps({"failure": reason}).encode()
    view = memoryview(content)
    while view:
        view = view[os.write(writer, view) :]
    os._exit(0)


def _read_reply(reader: int) -> tuple[bytes, str]:
    """Return what a request wrote until it closed its pipe, and why it was stopped if it was."""
    deadline = time.monotonic() + MAX_WALL_SECONDS
    parts: list[bytes] = []
    n_bytes = 0
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", TOO_LONG
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts), ""
        parts.append(part)
        n_bytes += len(part)
        if n_bytes > MAX_REPLY_BYTES:
            return b"", "the outputs of the calls are too long"


def _describe_end(status: int) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return TOO_LONG
    return "the process that executes the calls ended"


def _to_text(value: Any) -> str:
    return str(value)[:MAX_TEXT_LENGTH]


def serve(handle: Handler, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer each line of the requests with a line."""
    for line in requests:
        reply = run_in_fork(handle, json.loads(line))
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()


class OfficialPackage:
    """The multi-turn checker of the installed package `bfcl_eval`."""

    def __init__(self) -> None:
        from importlib.metadata import version

        import bfcl_eval  # type: ignore[import-not-found]
        from bfcl_eval.eval_checker.multi_turn_eval import (  # type: ignore[import-not-found]
            multi_turn_checker,
            multi_turn_utils,
        )

        self._checker = multi_turn_checker
        self._utils = multi_turn_utils
        self.version = version("bfcl-eval")
        self._data_folder = str(Path(bfcl_eval.__file__).parent / "data")

    def describe(self) -> Json:
        """Return the version, the public methods of each class, and all names that a call text
        can use.
        """
        # This function evaluates the text of a call, so the text can also use its local variables.
        execute = self._utils.execute_multi_turn_func_call
        visible_names = {*vars(self._utils), *execute.__code__.co_varnames, *dir(builtins)}
        return {
            "package": f"bfcl-eval {self.version}",
            "data": self._data_folder,
            "methods": {name: self._list_methods(name) for name in CLASSES},
            "visible_names": sorted(visible_names),
        }

    def _list_methods(self, class_name: str) -> list[str]:
        module = importlib.import_module(self._utils.CLASS_FILE_PATH_MAPPING[class_name])
        methods = inspect.getmembers(getattr(module, class_name), inspect.isfunction)
        return [name for name, _ in methods if not name.startswith("_")]

    def handle(self, request: Json) -> Json:
        reply: Json = {"turns": self._execute_turns(request)}
        if request["model"] is not None:
            reply["check"] = self._check(request)
        return reply

    def _check(self, request: Json) -> Json:
        """Return the official verdict. The checker stops at the first turn that fails."""
        result: Json = self._checker.multi_turn_checker(
            request["model"],
            request["golden"],
            request,
            request["id"],
            "checked",
        )
        return {
            "valid": result["valid"],
            "error_type": result.get("error_type"),
            "error_message": result.get("error_message"),
        }

    def _execute_turns(self, request: Json) -> list[Json]:
        """Execute the calls of all turns, with the states that differ after each turn."""
        turns = []
        model = request["model"]
        for turn, golden_calls in enumerate(request["golden"]):
            golden_outputs, golden_objects = self._execute(request, "golden", golden_calls)
            executed: Json = {"golden": golden_outputs}
            if model is not None and turn < len(model):
                outputs_of_steps = []
                for calls in model[turn]:
                    outputs, _ = self._execute(request, "model", calls)
                    outputs_of_steps.append(outputs)
                executed["model"] = outputs_of_steps
                # Without a call, this only returns the objects.
                _, model_objects = self._execute(request, "model", [])
                executed["differences"] = self._compare(model_objects, golden_objects)
            turns.append(executed)
        return turns

    def _execute(self, request: Json, side: str, calls: list[str]) -> tuple[list[str], Json]:
        """Execute the calls of a step for one side, `golden` or `model`.

        Return the outputs and the states of the classes after the calls. The package keeps the
        objects of each side, so the next step goes on with these states.
        """
        # As in the official checker, the id says whether the classes add long texts to their data.
        outputs, objects = self._utils.execute_multi_turn_func_call(
            func_call_list=calls,
            initial_config=request["initial_config"],
            involved_classes=request["involved_classes"],
            model_name=side,
            test_entry_id=request["id"],
            long_context="long_context" in request["id"] or "composite" in request["id"],
            is_evaL_run=True,
        )
        return outputs, objects

    def _compare(self, model_objects: Json, golden_objects: Json) -> Json:
        """Return `Class.attribute` -> both values, for the attributes that differ."""
        differences = {}
        for name, golden_object in golden_objects.items():
            _, found = self._checker._compare_instances(model_objects[name], golden_object)
            for attribute, values in found.items():
                differences[f"{name}.{attribute}"] = {
                    "golden": _to_text(values["ground_truth"]),
                    "model": _to_text(values["model"]),
                }
        return differences


def main() -> None:
    """Execute the requests that the parent process writes, one a line, and write the replies."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    # What the package prints must not mix with the replies.
    os.dup2(2, 1)
    try:
        package = OfficialPackage()
        greeting = package.describe()
    except Exception as error:
        greeting = {"failure": f"{type(error).__name__}: {error}"}
    greeting["network"] = block_network()
    replies.write(json.dumps(greeting).encode() + b"\n")
    replies.flush()
    if "failure" not in greeting:
        serve(package.handle, requests, replies)


if __name__ == "__main__":
    main()
