# SPDX-License-Identifier: Apache-2.0
"""A network between namespaces that delays and loses packets, for kernels without netem.

    relay.py --delay-ms 5 --loss 0.01 --pid-file FILE NETNS=ADDRESS…

Each namespace gets an interface eth0 with its address in a /24. What it sends is handed over to the namespace of the
destination after the delay, in order, or lost with that probability. Runs until SIGTERM, then says on standard output how many
packets and bytes passed and how many packets were lost.
"""

import argparse
import collections
import contextlib
import ctypes
import fcntl
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 0x0001, 0x1000
MTU = 9000
DESTINATION = slice(16, 20)  # of an IPv4 header
MOST_AT_ONCE = 64  # packets of one interface, before the others have their turn


def enter(netns: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(netns, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def open_interface(netns: str, address: str) -> int:
    """In a namespace of `ip netns`; this process stays in its own."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    enter(there)
    try:
        interface = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(interface, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TUN | IFF_NO_PI))
    finally:
        enter(here)
        os.close(here)
        os.close(there)
    for words in (f"addr add {address}/24 dev eth0", f"link set eth0 mtu {MTU} txqueuelen 100000 up"):
        subprocess.run(["ip", "-n", netns, *words.split()], check=True)
    return interface


class Relay:
    def __init__(self, interfaces: dict[bytes, int], delay_s: float, loss: float) -> None:
        self.interfaces, self.delay_s, self.loss = interfaces, delay_s, loss
        self.waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()  # due time, interface, packet
        self.passed = self.bytes = self.lost = 0
        self.random = random.Random(0)

    def run(self) -> None:
        while True:
            timeout = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            for interface in select.select(self.interfaces.values(), (), (), timeout)[0]:
                self._take(interface)
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, to, packet = self.waiting.popleft()
                with contextlib.suppress(OSError):  # a full queue loses it, as a switch does
                    os.write(to, packet)

    def _take(self, interface: int) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(MOST_AT_ONCE):
                packet = os.read(interface, MTU)
                to = self.interfaces.get(packet[DESTINATION])
                if to is None:  # to nobody here, or IPv6
                    continue
                if self.random.random() < self.loss:
                    self.lost += 1
                    continue
                self.passed += 1
                self.bytes += len(packet)
                self.waiting.append((time.monotonic() + self.delay_s, to, packet))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--loss", type=float, default=0, help="the probability that a packet is lost")
    parser.add_argument("--pid-file", type=Path, required=True, help="written when the network is up")
    parser.add_argument("nodes", nargs="+", metavar="NETNS=ADDRESS")
    given = parser.parse_args()
    nodes = dict(word.split("=") for word in given.nodes)
    interfaces = {socket.inet_aton(address): open_interface(netns, address) for netns, address in nodes.items()}
    Path("/proc/self/comm").write_text("relay")
    with contextlib.suppress(OSError):  # what it relays shall not wait for the processors that the nodes share
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    relay = Relay(interfaces, given.delay_ms / 1e3, given.loss)

    def end(*_: object) -> None:
        print(f"{relay.passed} packets, {relay.bytes} bytes passed, {relay.lost} packets lost", flush=True)
        sys.exit()

    signal.signal(signal.SIGTERM, end)
    given.pid_file.write_text(f"{os.getpid()}\n")
    relay.run()


main()
