"""Packets of a browser session are not mixed, whichever threads write them."""

from __future__ import annotations

import os
import threading

from fcreview.tui.terminal_output import PacketWriter

SIZE = 300_000  # more than a pipe holds
N_PACKETS = 20


def write_packets(writer: PacketWriter, letter: bytes) -> None:
    for _ in range(N_PACKETS):
        writer.write(letter * SIZE)


def test_large_packets_of_two_threads_are_not_mixed() -> None:
    back, to = os.pipe()
    writer = PacketWriter(to)
    threads = [
        threading.Thread(target=write_packets, args=(writer, letter)) for letter in (b"a", b"b")
    ]
    for thread in threads:
        thread.start()
    with os.fdopen(back, "rb") as reader:
        packets = [reader.read(SIZE) for _ in range(2 * N_PACKETS)]
    for thread in threads:
        thread.join()
    os.close(to)
    assert sorted(set(packets)) == [b"a" * SIZE, b"b" * SIZE]


def test_packet_for_a_server_that_has_ended_is_dropped() -> None:
    back, to = os.pipe()
    os.close(back)
    assert PacketWriter(to).write(b"x" * SIZE) == 0
    os.close(to)
