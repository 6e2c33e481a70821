"""A request of the child process has no network, no files, no processes, and little time and
memory.

These tests run the isolation of the real child with handlers of their own, which do on purpose what
no call text should reach. They do not need `bfcl-eval`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fcreview.importers.bfcl.execution import child

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux"),
]
PROGRAM = """
import importlib.util, json, os, socket, subprocess, sys, time
spec = importlib.util.spec_from_file_location("child", sys.argv[1])
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
child.MAX_CPU_SECONDS = 1
child.MAX_WALL_SECONDS = 2
child.MAX_REPLY_BYTES = 1 << 20

def endless(_):
    while True: pass

def sleep(_): time.sleep(60)
def memory(_): return {"n": len(bytearray(2 << 30))}
def reply(_): return {"text": "x" * (4 << 20)}
def read(_): return {"text": open("/etc/passwd").read()}
def read_relative(_): return {"text": open("secret.txt").read()}
def write(_): open("new.txt", "w").write("x")
def write_by_descriptor(_): os.write(os.open("new.txt", os.O_CREAT | os.O_WRONLY), b"x")
def remove(_): os.remove("secret.txt")
def connect(_): socket.create_connection(("127.0.0.1", int(sys.argv[2])), 1)
def run(_): return {"text": subprocess.run(["id"], capture_output=True).stdout.decode()}
def shell(_): return {"code": os.system("touch new.txt")}
def fork(_): return {"process": os.fork()}
def end(_): os._exit(3)
def kill(_): os.kill(os.getppid(), 9)
def fail(_): raise ValueError("no such folder")
def good(request): return {"echo": request}
def environment(_): return {"names": sorted(os.environ)}

network = child.block_network()
handlers = {name: value for name, value in globals().items() if callable(value)}
replies = {name: child.run_in_fork(handlers[name], {"a": 1}) for name in sys.argv[3:]}
print(json.dumps({"network": network, "replies": replies}))
"""
HARMFUL = [
    ("endless", "too long"),
    ("sleep", "too long"),
    ("memory", "too much memory"),
    ("reply", "too long"),
    ("read", "reading files is not allowed"),
    ("read_relative", "reading files is not allowed"),
    ("write", "writing files is not allowed"),
    ("write_by_descriptor", "writing files is not allowed"),
    ("remove", "os.remove is not allowed"),
    ("connect", "socket"),
    ("run", "not allowed"),
    ("shell", "os.system is not allowed"),
    ("fork", "os.fork is not allowed"),
    ("end", "ended"),
    ("kill", "os.kill is not allowed"),
    ("fail", "ValueError: no such folder"),
]
HARMLESS = ["good", "environment"]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """The replies to all handlers, in the order of HARMFUL and HARMLESS."""
    folder = tmp_path_factory.mktemp("isolation")
    (folder / "secret.txt").write_text("secret")
    names = [name for name, _ in HARMFUL] + HARMLESS
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, child.__file__, "9", *names],
        cwd=folder,
        env={},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert [path.name for path in folder.iterdir()] == ["secret.txt"]
    result = json.loads(done.stdout)
    assert result["network"] in (child.NAMESPACE, child.SOCKETS)
    replies: dict[str, dict[str, object]] = result["replies"]
    return replies


@pytest.mark.parametrize(("name", "reason"), HARMFUL)
def test_harmful_request_fails(
    answered: dict[str, dict[str, object]], name: str, reason: str
) -> None:
    assert list(answered[name]) == ["failure"]
    assert reason in str(answered[name]["failure"])


def test_request_after_harmful_ones_works(answered: dict[str, dict[str, object]]) -> None:
    assert answered["good"] == {"echo": {"a": 1}}


def test_environment_is_empty(answered: dict[str, dict[str, object]]) -> None:
    # Python itself may set LC_CTYPE.
    assert set(answered["environment"]["names"]) <= {"LC_CTYPE"}  # type: ignore[call-overload]


def test_child_imports_only_the_standard_library() -> None:
    """It can run in a Python without fcreview."""
    text = Path(child.__file__).read_text("utf-8")
    assert "fcreview." not in text.replace("fcreview starts", "")
