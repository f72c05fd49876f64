#!/usr/bin/env python3
"""The made-up framework "courier" as a peer of the comparison.

The smallest complete program that keeps ../../CONTRACT.md, with nothing but the
standard library: a model for a framework of another language.
The framework itself is frames with a length before them over TCP, one call at a
time on each connection; the message travels as bytes (codec "raw").
"""

import argparse
import json
import os
import socket
import struct
import sys
import threading
import time

# -- the framework -----------------------------------------------------------

HEAD = struct.Struct("!BI")  # method, or 0 in a reply; length of what follows
SAY, SLOW, SLEEP, MEDIUM, LARGE = range(1, 6)


def send(conn, method, body):
    conn.sendall(HEAD.pack(method, len(body)) + body)


def receive(conn):
    method, size = HEAD.unpack(exactly(conn, HEAD.size))
    return method, exactly(conn, size)


def exactly(conn, size):
    body = bytearray(size)
    view = memoryview(body)
    while view:
        n = conn.recv_into(view)
        if n == 0:
            raise ConnectionError("the peer closed the connection")
        view = view[n:]
    return body


# -- what the comparison says -------------------------------------------------

SIZES = {MEDIUM: 1 << 20, LARGE: 8 << 20}
PAUSES = {SLOW: 0.005, SLEEP: 0.010}

# For each workload: the main method, the method of side calls, which calls of a
# caller are side calls (0: none), and how many callers make nothing else.
WORKLOADS = {
    "echo": (SAY, SAY, 0, 0),
    "slow": (SAY, SLOW, 100, 0),
    "delay": (SLEEP, SLEEP, 0, 0),
    "mixed": (SAY, MEDIUM, 0, 1),
    "large": (SAY, LARGE, 0, 1),
}

# With the codec "raw" the message is not decoded: any 581 bytes will do. The
# real ones are those of ../../idl/benchmark.proto.
MESSAGE = bytes(i % 251 for i in range(581))


def answer(method, body):
    """What the server does with a request."""
    if method in PAUSES:
        time.sleep(PAUSES[method])
    if method in SIZES:
        return b"w" * SIZES[method]
    return body


def check(method, reply):
    """Raises if a reply is wrong. Every reply is checked."""
    want = SIZES.get(method, len(MESSAGE))
    first, last = (b"w", b"w") if method in SIZES else (MESSAGE[:1], MESSAGE[-1:])
    if len(reply) != want or reply[:1] != first or reply[-1:] != last:
        raise ValueError(f"method {method}: a wrong reply of {len(reply)} bytes, want {want}")


def say(**event):
    """Standard output is for events only, each on a line of its own."""
    print(json.dumps(event), flush=True)


class Distribution:
    """Counts in buckets that are right to three digits, as HdrHistogram's are:
    below 2048 each value is its own bucket; above, each doubling of the value has
    1024 buckets of equal width, and a bucket is named by its greatest value."""

    def __init__(self):
        self.buckets, self.count, self.sum = {}, 0, 0
        self.min, self.max = 0, 0

    def add(self, value):
        shift = max(value.bit_length() - 11, 0)
        bucket = (value >> shift << shift) + (1 << shift) - 1
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.min = min(self.min, value) if self.count else value
        self.max = max(self.max, value)
        self.count += 1
        self.sum += value

    def merge(self, other):
        if not other.count:
            return
        self.min = min(self.min, other.min) if self.count else other.min
        self.max = max(self.max, other.max)
        self.count += other.count
        self.sum += other.sum
        for bucket, n in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + n

    def line(self):
        return {"count": self.count, "sum_ns": self.sum, "min_ns": self.min, "max_ns": self.max,
                "histogram_ns": sorted(self.buckets.items())}


# -- describe -----------------------------------------------------------------

def describe():
    print(json.dumps({
        "peer": "courier", "language": "Python", "version": "courier 0.1, Python " + sys.version.split()[0],
        "settings": "a thread for each connection, a connection for each caller",
        "codecs": ["raw"], "workloads": list(WORKLOADS),
        "max_callers": 500, "max_callers_why": "a thread for each caller, and one runs at a time",
    }))


# -- serve --------------------------------------------------------------------

def serve(flags):
    host, port = flags.addr.rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=1024)

    def accept():
        while True:
            conn, _ = listener.accept()
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=handle, args=(conn,), daemon=True).start()

    def handle(conn):
        with conn:
            try:
                while True:
                    method, body = receive(conn)
                    send(conn, 0, answer(method, body))
            except OSError:
                pass  # the client is gone

    threading.Thread(target=accept, daemon=True).start()
    say(event="ready", addr="%s:%d" % listener.getsockname()[:2])
    for _ in sys.stdin:
        pass  # "usage" is only asked of a program that describes it


# -- load ---------------------------------------------------------------------

class Caller:
    """One connection, and the thread that calls through it."""

    def __init__(self, index, flags, addr):
        self.main_method, self.side_method, self.every, _ = WORKLOADS[flags.workload]
        if index >= flags.callers:
            self.every = 1  # side calls only
        self.index, self.flags = index, flags
        self.made = 0  # of both phases: which call is a side call goes on from the warm-up
        self.failures, self.first_error = 0, ""
        host, port = addr.rsplit(":", 1)
        self.conn = socket.create_connection((host, int(port)), timeout=60)
        self.conn.settimeout(None)
        self.conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method):
        send(self.conn, method, MESSAGE)
        check(method, receive(self.conn)[1])

    def phase(self, begin, phase, quota, rate):
        """Calls until the phase ends, or until quota main calls are made."""
        self.main, self.side, self.late = Distribution(), Distribution(), 0
        done, in_a_row, k = 0, 0, 0
        while in_a_row < 100 and not phase.over() and (quota is None or done < quota):
            self.made += 1
            aside = self.every > 0 and self.made % self.every == 0
            start = time.monotonic_ns()
            if rate > 0:  # latency counts from when the call was meant to begin
                start = begin + int((self.index / self.flags.callers + k) * self.flags.callers / rate * 1e9)
                k += 1
                if start >= phase.deadline:
                    break
                time.sleep(max(start - time.monotonic_ns(), 0) / 1e9)
            try:
                self.call(self.side_method if aside else self.main_method)
            except (OSError, ValueError) as error:
                self.failures += 1
                self.first_error = self.first_error or str(error)
                in_a_row += 1
                time.sleep(0.001)
                continue
            end = time.monotonic_ns()
            in_a_row = 0
            if aside:
                self.side.add(end - start)
                continue
            self.main.add(end - start)
            done += 1
            self.late += end > phase.deadline


class Phase:
    """A time in which all callers call. The deadline may be moved while they do."""

    def __init__(self, deadline):
        self.deadline = deadline

    def over(self):
        return time.monotonic_ns() >= self.deadline


FOREVER = 1 << 62


def start(callers, begin, phase, quotas, rate=0.0):
    threads = []
    for i, caller in enumerate(callers):
        paced = rate if i < caller.flags.callers else 0.0
        threads.append(threading.Thread(target=caller.phase, args=(begin, phase, quotas[i], paced), daemon=True))
    for thread in threads:
        thread.start()
    return threads


def join(threads, limit):
    """Waits for threads, but not for ever: a lost reply must not hang the comparison."""
    end = time.monotonic() + limit
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
        if thread.is_alive():
            raise TimeoutError(f"some calls did not end within {limit:.0f} s")


def warm_up(callers, flags):
    """Until two quarters of the time differ by less than a tenth, three times as
    long as asked for at most."""
    begin, phase = time.monotonic_ns(), Phase(FOREVER)
    threads = start(callers, begin, phase, [None] * len(callers))
    part, before, previous, elapsed = max(flags.warmup / 4, 0.001), 0, 0, 0.0
    while True:
        time.sleep(part)
        elapsed = (time.monotonic_ns() - begin) / 1e9
        count = sum(c.main.count for c in callers)
        rate, before = count - before, count
        steady, previous = abs(rate - previous) < 0.1 * previous, rate
        if elapsed >= flags.warmup and steady or elapsed >= 3 * flags.warmup:
            break
    phase.deadline = 0
    join(threads, 10)
    if before == 0:
        raise ConnectionError("no call succeeded while warming up: " + next(c.first_error for c in callers))
    return elapsed


def measure(callers, flags):
    """The measured phase, as the fields of the result."""
    bound = max(flags.seconds, 120) if flags.calls else flags.seconds
    quotas = [None] * len(callers)
    if flags.calls:
        for i in range(flags.callers):
            quotas[i] = flags.calls // flags.callers + (i < flags.calls % flags.callers)
    cpu, begin = time.process_time_ns(), time.monotonic_ns()
    phase = Phase(begin + int(bound * 1e9))
    threads = start(callers, begin, phase, quotas, flags.rate)
    join(threads[:flags.callers], bound + 10)
    seconds = min((time.monotonic_ns() - begin) / 1e9, bound)
    if len(threads) > flags.callers:  # those of side calls have no quota
        phase.deadline = 0
        join(threads[flags.callers:], 10)
    main, side = Distribution(), Distribution()
    cpu = time.process_time_ns() - cpu
    for caller in callers:
        main.merge(caller.main)
        side.merge(caller.side)
    return {
        "conns": len(callers), "seconds": seconds, "calls": main.count, "late": sum(c.late for c in callers),
        "failures": sum(c.failures for c in callers),
        "first_error": next((c.first_error for c in callers if c.first_error), ""),
        "cpu_ns": cpu, "main": main.line(), "side": side.line(),
    }


def load(flags):
    if flags.workload not in WORKLOADS:
        raise ValueError(f"unknown workload {flags.workload!r}; there are {list(WORKLOADS)}")
    addrs = flags.addr.split(",")
    total = flags.callers + WORKLOADS[flags.workload][3]
    callers = [Caller(i, flags, addrs[i % len(addrs)]) for i in range(total)]
    warmup = warm_up(callers, flags)
    say(event="warm")
    if sys.stdin.readline().strip() != "go":
        raise ValueError("the input ended, or was not 'go'")
    say(event="result", warmup_s=warmup, **measure(callers, flags))
    sys.stdin.read()  # idle, until the parent has read what this process used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["describe", "serve", "load"])
    for name in "peer", "codec", "addr", "workload":
        parser.add_argument("-" + name, default="")
    for name in "callers", "conns", "calls":  # a connection for each caller, whatever -conns says
        parser.add_argument("-" + name, type=int, default=0)
    for name in "warmup", "seconds", "rate":
        parser.add_argument("-" + name, type=float, default=0)
    flags = parser.parse_args()
    if flags.command == "describe":
        return describe()
    try:
        if flags.peer != "courier" or flags.codec != "raw":
            raise ValueError(f"no peer {flags.peer!r} with codec {flags.codec!r} here, only 'courier' with 'raw'")
        serve(flags) if flags.command == "serve" else load(flags)
    except (OSError, ValueError) as error:
        say(event="failed", error=f"{flags.command}: {error}")
        os._exit(1)  # without waiting for the threads
    os._exit(0)


if __name__ == "__main__":
    main()
