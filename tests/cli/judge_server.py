"""A local endpoint for chat completions that answers as a test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[BaseHTTPRequestHandler, int], None]
"""Answers the request with this number, from 0."""


def reply_json(
    handler: BaseHTTPRequestHandler, body: Any, status: int = 200, **headers: str
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def completion(text: str, finish: str = "stop") -> dict[str, Any]:
    return {
        "model": "oak-1",
        "choices": [{"message": {"content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


def reply_pass(handler: BaseHTTPRequestHandler, number: int) -> None:
    reply_json(handler, completion(json.dumps({"verdict": "pass", "reason": f"zork {number}"})))


def reply_with(body: Any, status: int = 200, **headers: str) -> Behaviour:
    return lambda handler, _: reply_json(handler, body, status, **headers)


def reply_late(seconds: float) -> Behaviour:
    def reply(handler: BaseHTTPRequestHandler, number: int) -> None:
        time.sleep(seconds)
        reply_pass(handler, number)

    return reply


def reply_endlessly(handler: BaseHTTPRequestHandler, _: int) -> None:
    """Send a body without an end, quickly."""
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        for _ in range(1000):
            handler.wfile.write(b" " * 65536)


def reply_drop_by_drop(handler: BaseHTTPRequestHandler, _: int) -> None:
    """Send a byte from time to time, so that no single read takes long."""
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        for _ in range(300):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)


def hang_up(handler: BaseHTTPRequestHandler, _: int) -> None:
    handler.connection.close()


def reply_with_negative_length(handler: BaseHTTPRequestHandler, _: int) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc")
    handler.close_connection = True


@dataclass
class JudgeServer:
    url: str
    behave: Behaviour = reply_pass
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Body of each request."""
    headers: list[dict[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][0]["content"] for request in self.requests]


@contextmanager
def serve(behave: Behaviour = reply_pass) -> Iterator[JudgeServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with server.lock:
                number = len(server.requests)
                server.requests.append(json.loads(body))
                server.headers.append(dict(self.headers))
            with suppress(OSError):
                server.behave(self, number)

        def do_GET(self) -> None:
            with server.lock:
                server.headers.append({"method": "GET", **dict(self.headers)})
            reply_json(self, {})

        def log_message(self, *_: Any) -> None:
            pass

    http_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http_server.daemon_threads = True
    server = JudgeServer(f"http://127.0.0.1:{http_server.server_port}/v1", behave)
    thread = threading.Thread(target=http_server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http_server.shutdown()
        http_server.server_close()
