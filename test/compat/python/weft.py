"""A weft client in Python, with nothing but the standard library.

It was written from docs/PROTOCOL.md alone, to show that this can be done, and is
tested against the golden vectors and against the Go server.

    with weft.connect("127.0.0.1", 8972) as conn:
        reply = conn.call("Arith.Mul", {"A": 7, "B": 8})
        print(reply.value["C"])

        with conn.stream("Echo.Chat") as stream:
            stream.send("hello")
            stream.close_send()
            for message in stream:
                print(message)

A connection may be used by many threads at once. It has two threads of its own:
one reads and never waits for anything else, one writes.
"""

from __future__ import annotations

import enum
import heapq
import json
import os
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type

import weftwire as wire
from weftwire import Header, Hello, Pair

Clock = Callable[[], int]
"""Returns nanoseconds that only grow."""


class Code(enum.IntEnum):
    """The status codes; the same numbers as those of gRPC."""

    OK = 0
    CANCELED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @classmethod
    def of(cls, number: int) -> "Code":
        """The code with that number; UNKNOWN for 0 and for what is no code."""
        return cls(number) if 1 <= number <= 16 else cls.UNKNOWN


class Outcome(enum.Enum):
    """How far a failed call got, and with it whether it may be tried again."""

    NOT_SENT = "not sent"  # nothing left this process
    REFUSED = "refused"  # the server did not run the handler
    UNKNOWN = "unknown"  # bytes left, no verdict came back
    EXECUTED = "executed"  # the handler answered


class Error(Exception):
    """A call, or a connection, that failed."""

    def __init__(
        self,
        code: Code,
        message: str,
        outcome: Outcome,
        reason: str = "",
        details: Sequence[Tuple[str, bytes]] = (),
        metadata: Sequence[Pair] = (),
    ) -> None:
        super().__init__(f"{code.name}: {message} ({outcome.value})")
        self.code = code
        self.message = message
        self.outcome = outcome
        self.reason = reason
        self.details = list(details)
        self.metadata = list(metadata)


@dataclass(frozen=True)
class Codec:
    """Turns a value into the body of a message, and back."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _encode_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


CODECS: Mapping[str, Codec] = {
    "json": Codec(_encode_json, json.loads),
    "raw": Codec(bytes, bytes),
}


@dataclass(frozen=True)
class Options:
    """How a connection behaves. The limits are on what this side receives."""

    max_message: int = 4_194_304
    max_metadata: int = 16_384
    stream_window: int = 262_144
    codecs: Mapping[str, Codec] = field(default_factory=lambda: CODECS)
    compress: bool = False  # compress bodies of 1,024 bytes and more with gzip
    checksum: bool = False  # ask for a checksum behind every frame
    first_flight: bool = False  # send calls without waiting for the server's HELLO; not with checksum
    credential: str = ""  # "scheme token"
    software: str = "weft-python/1.0"
    clock: Clock = time.monotonic_ns


@dataclass(frozen=True)
class Reply:
    """What a unary call brought back."""

    value: Any
    metadata: List[Pair]


# What any server takes, before its HELLO is known. Nothing may be sent on a stream.
INITIAL_MESSAGE = 16_384
INITIAL = Hello(max_message=INITIAL_MESSAGE, max_metadata=INITIAL_MESSAGE, max_calls=16, max_bindings=16)

COMPRESS_FROM = 1_024
QUEUE = 64  # frames that may wait to be written before callers wait
CONTROL = 1_000  # answers to the server's frames that may wait besides
BATCH = 65_536  # bytes handed to the socket at once


def connect(host: str, port: int, timeout: float = 5.0, options: Optional[Options] = None) -> "Connection":
    """Connects and shakes hands within timeout, in seconds."""
    deadline = time.monotonic() + timeout
    try:
        sock = socket.create_connection((host, port), timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as e:
        raise Error(Code.UNAVAILABLE, f"connect to {host}:{port}: {e}", Outcome.NOT_SENT) from e
    return Connection(sock, options or Options(), max(0.001, deadline - time.monotonic()))


class _Violation(Exception):
    """The server broke the protocol: the connection must end."""

    def __init__(self, text: str, code: Code = Code.INTERNAL) -> None:
        super().__init__("protocol error: " + text)
        self.code = code


class _Source:
    """Reads from a socket, many frames with one system call."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()

    def take(self, n: int, deadline: Optional[float] = None) -> bytes:
        """Returns the next n bytes, or raises EOFError or OSError."""
        while len(self._buffer) < n:
            if deadline is not None:
                self._sock.settimeout(max(0.001, deadline - time.monotonic()))
            piece = self._sock.recv(65_536)
            if not piece:
                raise EOFError("the server closed the connection")
            self._buffer += piece
        taken = bytes(self._buffer[:n])
        del self._buffer[:n]
        return taken

    def frame(self, checksum: bool, deadline: Optional[float] = None) -> Tuple[Header, bytes]:
        head = self.take(wire.HEADER_SIZE, deadline)
        try:
            header, length = wire.unpack_header(head)
        except wire.WireError as e:
            raise _Violation(str(e)) from e
        payload = self.take(length, deadline)
        if checksum and self.take(4, deadline) != wire.pack_checksum(head + payload):
            raise _Violation(f"wrong checksum behind a frame of type {header.type}", Code.DATA_LOSS)
        return header, payload


class Connection:
    """One connection to a server. Every method may be called from any thread.

    One lock guards all that changes; the conditions of calls and of the writer
    share it.
    """

    def __init__(self, sock: socket.socket, options: Options, timeout: float = 5.0) -> None:
        """Shakes hands over a connected socket, which now belongs to the connection."""
        self.options = options
        self._sock = sock
        self._source = _Source(sock)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # the queue, or the end of the connection
        self._queue: Deque[Tuple[bytes, Optional[_Call]]] = deque()
        self._control = 0  # frames in the queue that no caller waits for
        self._bindings: Dict[Tuple[str, str], int] = {}
        self._slots: List[_Slot] = []
        self._free: List[int] = []  # a heap
        self._pings: Dict[bytes, threading.Event] = {}
        self._leaving = False  # the server asked for no more calls
        self._finish = False  # the writer ends when the queue is empty
        self._failed: Optional[Error] = None
        self._hello = self._own_hello()
        self._meet_by = time.monotonic() + timeout
        self._met = not options.first_flight or options.checksum
        if self._met:
            self.server = self._handshake(self._meet_by)
        else:
            self.server = INITIAL
            self._queue.append((self._greeting(), None))
            self._control += 1
        self._checksum = bool(self._hello.features & self.server.features & wire.CHECKSUM)
        self._threads = [
            threading.Thread(target=self._read, name="weft-read", daemon=True),
            threading.Thread(target=self._write, name="weft-write", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # What callers do

    def call(
        self,
        method: str,
        value: Any,
        *,
        codec: str = "json",
        metadata: Sequence[Pair] = (),
        timeout: Optional[float] = 10.0,
    ) -> Reply:
        """Calls a unary method and waits for its reply; raises Error."""
        return self.start(method, value, codec=codec, metadata=metadata, timeout=timeout).result()

    def start(
        self,
        method: str,
        value: Any,
        *,
        codec: str = "json",
        metadata: Sequence[Pair] = (),
        timeout: Optional[float] = 10.0,
        oneway: bool = False,
        order: Optional[bytes] = None,
    ) -> "PendingCall":
        """Sends a unary call and returns at once; see PendingCall.result.

        One-way calls with the same order run one after the other, as they were sent.
        """
        if order is not None:
            if not oneway or len(order) > 255:
                raise Error(Code.INVALID_ARGUMENT, "an order is for one-way calls and has at most 255 bytes", Outcome.NOT_SENT)
            metadata = [("weft-order", order), *metadata]
        call = PendingCall(self, method, codec, timeout, oneway)
        call._open(wire.ONEWAY if oneway else 0, metadata, self._body(call, value))
        return call

    def stream(
        self,
        method: str,
        *,
        codec: str = "json",
        metadata: Sequence[Pair] = (),
        timeout: Optional[float] = None,
        receive_only: bool = False,
    ) -> "Stream":
        """Opens a stream. With receive_only nothing can be sent on it."""
        stream = Stream(self, method, codec, timeout)
        stream._closed_send = receive_only
        stream._open(wire.STREAM | (wire.END if receive_only else 0), metadata, (b"", 0))
        return stream

    def ping(self, timeout: float = 5.0, payload: Optional[bytes] = None) -> float:
        """Asks for a sign of life and returns how many seconds it took."""
        payload = os.urandom(8) if payload is None else payload
        answered = threading.Event()
        began = time.monotonic()
        with self._lock:
            self._check()
            self._pings[payload] = answered
            self._enqueue(Header(wire.PING), payload)
        if not answered.wait(timeout):
            raise Error(Code.DEADLINE_EXCEEDED, f"no answer to a ping in {timeout} s", Outcome.UNKNOWN)
        with self._lock:
            self._pings.pop(payload, None)
            self._check()
        return time.monotonic() - began

    @property
    def open_calls(self) -> int:
        """How many slots are in use, by calls that were given up too."""
        with self._lock:
            return len(self._slots) - len(self._free)

    @property
    def draining(self) -> bool:
        """Whether the server asked for no more calls on this connection."""
        with self._lock:
            return self._leaving

    def close(self) -> None:
        """Ends the connection. Calls that are open fail; wait for them first."""
        with self._lock:
            self._finish = True
            self._changed.notify_all()
        self._threads[1].join(1)  # so that what is queued gets out
        self._fail(Code.UNAVAILABLE, "the connection was closed by its owner")
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5)
        self._sock.close()

    # Handshake

    def _own_hello(self) -> Hello:
        o = self.options
        return Hello(
            features=wire.CHECKSUM if o.checksum else 0,
            max_message=o.max_message,
            max_metadata=o.max_metadata,
            stream_window=o.stream_window,
            codecs=list(o.codecs),
            compressors=["gzip"],
            credential=o.credential,
            software=o.software,
        )

    def _greeting(self) -> bytes:
        return wire.PREFACE + wire.pack_frame(Header(wire.HELLO), wire.pack_hello(self._hello))

    def _handshake(self, deadline: float) -> Hello:
        try:
            self._sock.settimeout(max(0.001, deadline - time.monotonic()))
            self._sock.sendall(self._greeting())
            server = self._read_hello(deadline)
            self._sock.settimeout(None)
            return server
        except Exception as e:
            self._sock.close()
            if isinstance(e, Error):
                raise
            code = Code.DEADLINE_EXCEEDED if isinstance(e, socket.timeout) else Code.UNAVAILABLE
            raise Error(code, f"handshake: {e}", Outcome.NOT_SENT) from e

    def _read_hello(self, deadline: float) -> Hello:
        """Reads the server's HELLO. An Error says that the server has read no call."""
        preface = self._source.take(8, deadline)
        if preface[:7] != wire.PREFACE[:7]:
            raise Error(Code.UNAVAILABLE, f"the server does not speak weft, it sent {preface!r}", Outcome.NOT_SENT)
        if preface != wire.PREFACE:
            text = f"the server speaks version {preface[7]} of weft, this client version {wire.PREFACE[7]}"
            raise Error(Code.UNIMPLEMENTED, text, Outcome.NOT_SENT)
        header, payload = self._source.frame(False, deadline)
        if header.type == wire.GOAWAY:
            raise Error(Code.of(header.code), payload.decode("utf-8", "replace"), Outcome.NOT_SENT)
        if header.type != wire.HELLO:
            raise _Violation(f"the first frame has type {header.type}")
        try:
            return wire.unpack_hello(payload)
        except wire.WireError as e:
            raise _Violation(str(e)) from e

    def _meet(self) -> None:
        """Reads the HELLO of a server to which calls may have been sent already."""
        server = self._read_hello(self._meet_by)
        with self._lock:
            # The writer may be inside a write, whose time is the socket's too.
            self._sock.settimeout(None)
            self.server = server
            self._met = True
            for slot in self._slots:
                if isinstance(slot.call, Stream):
                    slot.call._credit(server.stream_window)
            self._changed.notify_all()

    # Writing

    def _enqueue(self, header: Header, payload: bytes = b"", call: Optional["_Call"] = None) -> None:
        """Queues a frame, with the lock held. call is the one that can still take it back."""
        if self._failed is None:
            self._queue.append((wire.pack_frame(header, payload, self._checksum), call))
            self._control += call is None
            self._changed.notify_all()

    def _write(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._finish and self._failed is None:
                    self._changed.wait()
                if self._failed is not None or not self._queue:
                    break
                batch = self._take_batch()
            try:
                self._sock.sendall(batch)
            except OSError as e:
                self._fail(Code.UNAVAILABLE, f"connection lost: {e}")
                return
        _shutdown(self._sock, socket.SHUT_WR)

    def _take_batch(self) -> bytes:
        frames, size = [], 0
        while self._queue and size < BATCH:
            frame, call = self._queue.popleft()
            if call is None:
                self._control -= 1
            else:
                call._sent = True
            frames.append(frame)
            size += len(frame)
        self._changed.notify_all()
        return b"".join(frames)

    # Reading

    def _read(self) -> None:
        try:
            if not self._met:
                self._meet()
            while True:
                self._frame(*self._source.frame(self._checksum))
        except _Violation as e:
            if self._met:
                self._say_goodbye(e)
            self._fail(e.code, str(e))
        except Error as e:
            self._fail(e.code, e.message, Outcome.NOT_SENT)
        except (EOFError, OSError) as e:
            self._fail(Code.UNAVAILABLE, f"connection lost: {e}")

    def _say_goodbye(self, e: _Violation) -> None:
        """Tells the server what it did wrong, and ends the connection."""
        with self._lock:
            self._queue.clear()
            self._control = 0
            self._enqueue(Header(wire.GOAWAY, code=e.code), str(e).encode("utf-8")[:1_024])
            self._finish = True
        self._threads[1].join(1)
        self._fail(e.code, str(e))

    def _frame(self, header: Header, payload: bytes) -> None:
        """Takes one frame. It waits for nothing but the lock."""
        with self._lock:
            if header.type == wire.PING:
                self._ping(header, payload)
            elif header.type == wire.GOAWAY:
                self._goaway(header, payload)
            elif header.type == wire.HELLO:
                raise _Violation("a second HELLO")
            elif header.type in (wire.BIND, wire.REQUEST):
                raise _Violation("a call to a client that takes none")
            elif header.type in (wire.REPLY, wire.ERROR) or header.flags & wire.ANSWER and header.type <= wire.CREDIT:
                self._answer(header, payload)
            # All else is for calls that the server opened, and there are none; or unknown.
            if self._control > CONTROL:
                raise _Violation("more frames to be answered than the server reads answers", Code.RESOURCE_EXHAUSTED)

    def _answer(self, header: Header, payload: bytes) -> None:
        slot = self._slots[header.slot] if header.slot < len(self._slots) else _Slot()
        if slot.call is not None and slot.generation == header.generation and header.flags & wire.ANSWER:
            slot.call._frame(header, payload)
        elif header.type in (wire.REPLY, wire.ERROR):
            raise _Violation(f"an answer to a call on slot {header.slot} that is not open")

    def _ping(self, header: Header, payload: bytes) -> None:
        if len(payload) != 8:
            raise _Violation(f"a PING of {len(payload)} bytes")
        if not header.flags & wire.ACK:
            self._enqueue(Header(wire.PING, wire.ACK), payload)
        elif payload in self._pings:
            self._pings.pop(payload).set()

    def _goaway(self, header: Header, payload: bytes) -> None:
        if header.flags & wire.ACK:
            raise _Violation("the answer to a GOAWAY that was not sent")
        if header.code not in (Code.OK, Code.UNAVAILABLE):
            self._fail(Code.of(header.code), "the server ended the connection: " + payload.decode("utf-8", "replace"))
            return
        if self._leaving:
            return
        # Calls are opened under this lock: none comes behind the ACK.
        self._leaving = True
        self._enqueue(Header(wire.GOAWAY, wire.ACK))
        self._leave()

    def _leave(self) -> None:
        """Ends a connection that is drained and has no open calls."""
        if self._leaving and len(self._slots) == len(self._free):
            self._finish = True
            self._changed.notify_all()

    # The end

    def _check(self) -> None:
        if self._failed is not None:
            e = self._failed
            raise Error(e.code, e.message, Outcome.NOT_SENT)

    def _fail(self, code: Code, text: str, outcome_of_sent: Outcome = Outcome.UNKNOWN) -> None:
        """Ends the connection; the first reason counts."""
        with self._lock:
            if self._failed is None:
                self._failed = Error(code, text, Outcome.UNKNOWN)
                self._queue.clear()
                for slot in self._slots:
                    if slot.call is not None:
                        outcome = outcome_of_sent if slot.call._sent else Outcome.NOT_SENT
                        slot.call._end(Error(code, text, outcome))
                for answered in self._pings.values():
                    answered.set()
                self._changed.notify_all()
        _shutdown(self._sock, socket.SHUT_RDWR)

    # Slots and bindings, with the lock held

    def _take_slot(self) -> int:
        if self._free and self._free[0] < self.server.max_calls:
            return heapq.heappop(self._free)
        if len(self._slots) >= self.server.max_calls:
            text = f"all {self.server.max_calls} calls that the server allows are open"
            raise Error(Code.RESOURCE_EXHAUSTED, text, Outcome.NOT_SENT)
        self._slots.append(_Slot())
        return len(self._slots) - 1

    def _free_slot(self, number: int) -> None:
        self._slots[number].call = None
        heapq.heappush(self._free, number)
        self._leave()

    def _bind(self, codec: str, method: str) -> int:
        """Returns the binding's number; makes it, or replaces the oldest, if needed."""
        number = self._bindings.get((codec, method))
        if number is None:
            payload = wire.pack_bind(codec, method)
            if self.server.max_bindings == 0:
                raise Error(Code.RESOURCE_EXHAUSTED, "the server allows no bindings", Outcome.NOT_SENT)
            number = len(self._bindings)
            if number >= self.server.max_bindings:
                number = self._bindings.pop(next(iter(self._bindings)))
            self._bindings[codec, method] = number
            self._enqueue(Header(wire.BIND, code=number), payload)
        return number

    # Bodies

    def _body(self, call: "_Call", value: Any) -> Tuple[bytes, int]:
        """Encodes a value; returns the body as it travels and its flags."""
        try:
            body = call._codec.encode(value)
        except Exception as e:
            raise Error(Code.INTERNAL, f"encode the request: {e}", Outcome.NOT_SENT) from e
        if len(body) > self.server.max_message and self._met:
            text = f"message of {len(body)} bytes, the server takes {self.server.max_message}"
            raise Error(Code.RESOURCE_EXHAUSTED, text, Outcome.NOT_SENT)
        if self.options.compress and len(body) >= COMPRESS_FROM and "gzip" in self.server.compressors:
            small = wire.compress(body, self.server.compressors, "gzip")
            if len(small) < len(body):
                return small, wire.COMPRESSED
        return body, 0


@dataclass
class _Slot:
    generation: int = -1
    call: Optional["_Call"] = None


@dataclass
class _Partial:
    """A message on its way in, of which more will come."""

    head: Header
    data: bytearray


class _Call:
    """What unary calls and streams have in common.

    It holds its slot until the final frame has arrived (_over), which may be
    long after its caller has its answer (_answered).
    """

    def __init__(self, conn: Connection, method: str, codec: str, timeout: Optional[float]) -> None:
        self.method = method
        self.metadata: List[Pair] = []
        self._conn = conn
        self._codec_name = codec
        self._clock = conn.options.clock
        self._deadline = None if timeout is None else self._clock() + int(timeout * 1e9)
        self._event = threading.Condition(conn._lock)
        self._slot = self._generation = -1
        self._sent = False  # a byte of the request was handed to the socket
        self._answered = False
        self._error: Optional[Error] = None
        self._partial: Optional[_Partial] = None
        if codec not in conn.options.codecs:
            raise Error(Code.UNIMPLEMENTED, f"this client has no codec {codec}", Outcome.NOT_SENT)
        if conn.server.codecs and codec not in conn.server.codecs:
            text = f"the server has no codec {codec}, it has {', '.join(conn.server.codecs)}"
            raise Error(Code.UNIMPLEMENTED, text, Outcome.NOT_SENT)
        self._codec = conn.options.codecs[codec]

    def cancel(self) -> None:
        """Gives up the call. Does nothing when it has ended."""
        self._give_up(Error(Code.CANCELED, "canceled by the caller", Outcome.UNKNOWN))

    # Sending

    def _open(self, flags: int, metadata: Sequence[Pair], body: Tuple[bytes, int]) -> None:
        conn = self._conn
        data, compressed = body
        try:
            block = wire.pack_metadata(metadata, conn.server.max_metadata) if metadata else b""
            flags |= compressed | (wire.META if block else 0)
            with conn._lock:
                self._wait_for_hello(len(block), len(data))
                self._wait_for_room()
                conn._check()
                if conn._leaving:
                    raise Error(Code.UNAVAILABLE, "the server is draining this connection", Outcome.NOT_SENT)
                remaining = self._remaining()
                if remaining is not None and remaining <= 0:
                    raise Error(Code.DEADLINE_EXCEEDED, "deadline passed before sending", Outcome.NOT_SENT)
                binding = conn._bind(self._codec_name, self.method)
                self._occupy()
                if isinstance(self, Stream):
                    self._credit_left = conn.server.stream_window
                arg, millis = (0, 0) if remaining is None else wire.pack_timeout(remaining)
                head = Header(wire.REQUEST, flags | millis, binding, self._slot, self._generation, arg)
                self._send(head, block + data)
        except wire.TooLarge as e:
            raise Error(Code.RESOURCE_EXHAUSTED, str(e), Outcome.NOT_SENT) from e
        except wire.WireError as e:
            raise Error(Code.INVALID_ARGUMENT, str(e), Outcome.NOT_SENT) from e

    def _wait_for_hello(self, metadata: int, body: int) -> None:
        """Waits for the server's HELLO where the call is more than any server takes."""
        conn = self._conn
        if conn._met:
            return
        while not conn._met and conn._failed is None and not self._answered:
            room = conn._free or len(conn._slots) < INITIAL.max_calls
            if metadata + body <= INITIAL_MESSAGE and room:
                return
            self._wait(conn._changed)
        if conn._met and body > conn.server.max_message:
            text = f"message of {body} bytes, the server takes {conn.server.max_message}"
            raise Error(Code.RESOURCE_EXHAUSTED, text, Outcome.NOT_SENT)

    def _occupy(self) -> None:
        self._slot = self._conn._take_slot()
        slot = self._conn._slots[self._slot]
        slot.generation = self._generation = (slot.generation + 1) % 65_536
        slot.call = self

    def _send(self, head: Header, message: bytes) -> None:
        """Queues a message, until the call ends. Frames of others may pass between its pieces."""
        for i, (header, piece) in enumerate(wire.cut_message(head, message)):
            if i > 0:
                self._wait_for_room()
            if self._answered:
                return
            self._conn._enqueue(header, piece, self)

    def _wait_for_room(self) -> None:
        conn = self._conn
        while len(conn._queue) >= QUEUE and conn._failed is None and not self._answered:
            self._wait(conn._changed)

    def _remaining(self) -> Optional[int]:
        return None if self._deadline is None else self._deadline - self._clock()

    def _wait(self, condition: threading.Condition) -> None:
        """Waits for a change, with the lock held; gives up at the deadline."""
        remaining = self._remaining()
        if remaining is not None and remaining <= 0:
            self._give_up(Error(Code.DEADLINE_EXCEEDED, "deadline exceeded", Outcome.UNKNOWN))
            if self._slot < 0 and self._error is not None:
                raise self._error
            return
        condition.wait(None if remaining is None else remaining / 1e9)

    def _give_up(self, error: Error) -> None:
        conn = self._conn
        with conn._lock:
            if self._answered:
                return
            # What is still in the queue is taken back: after CANCEL nothing more comes.
            conn._queue = deque(entry for entry in conn._queue if entry[1] is not self)
            conn._changed.notify_all()
            if self._sent:
                self._end(error)
                code = Code.DEADLINE_EXCEEDED if error.code == Code.DEADLINE_EXCEEDED else Code.CANCELED
                conn._enqueue(Header(wire.CANCEL, 0, code, self._slot, self._generation))
                return
            self._end(Error(error.code, error.message, Outcome.NOT_SENT))
            if self._slot >= 0:
                slot = conn._slots[self._slot]
                slot.generation -= 1
                conn._free_slot(self._slot)

    # Receiving, with the lock held

    def _end(self, error: Optional[Error]) -> None:
        """Gives the caller its answer; the first one counts."""
        if not self._answered:
            self._answered = True
            self._error = error
        self._event.notify_all()
        self._conn._changed.notify_all()

    def _frame(self, header: Header, payload: bytes) -> None:
        if header.type in (wire.DATA, wire.CREDIT) and not isinstance(self, Stream):
            return
        if header.type == wire.CREDIT:
            self._credit(header.arg)
            return
        if header.type == wire.CHUNK:
            if self._partial is None:
                return
            partial = self._partial
        elif self._partial is not None and header.type != wire.ERROR:
            raise _Violation(f"a message begins on slot {self._slot} before the last one has ended")
        else:
            if header.type == wire.DATA:
                self._begin_data(header)
            partial = _Partial(header, bytearray())
        more = bool(header.flags & wire.MORE)
        if more and not payload:
            raise _Violation("an empty frame that says that more follows")
        self._partial = partial if more else None
        self._add(partial, payload)
        if not more:
            self._complete(partial.head, bytes(partial.data))

    def _add(self, partial: _Partial, payload: bytes) -> None:
        """Keeps a piece, unless the message is wanted no more."""
        if self._answered:
            partial.data.clear()
            return
        partial.data += payload
        options = self._conn.options
        limit = wire.MAX_STATUS if partial.head.type == wire.ERROR else options.max_message
        if partial.head.flags & wire.META:
            limit += 2 + options.max_metadata
        if len(partial.data) > limit:
            self._unusable(partial.head, wire.TooLarge(f"the server sent a message of more than {limit} bytes"))
            partial.data.clear()

    def _unusable(self, head: Header, e: wire.WireError) -> None:
        """Ends the call for the caller, because what came cannot be used."""
        code = Code.RESOURCE_EXHAUSTED if isinstance(e, wire.TooLarge) else Code.INTERNAL
        error = Error(code, str(e), Outcome.EXECUTED)
        if head.type == wire.DATA:
            self._give_up(error)
        else:
            self._end(error)

    def _complete(self, head: Header, message: bytes) -> None:
        if head.type == wire.DATA:
            self._data(head, message)
            return
        self._partial = None
        if not self._answered:
            if head.type == wire.ERROR:
                self._end(self._read_error(head, message))
            else:
                try:
                    self._reply(self._split(head, message))
                except wire.WireError as e:
                    self._unusable(head, e)
        self._conn._free_slot(self._slot)

    def _split(self, head: Header, message: bytes) -> bytes:
        """Takes metadata and compression off a message and returns the body."""
        options = self._conn.options
        if head.flags & wire.META and head.type != wire.DATA:
            self.metadata, message = wire.split_metadata(message, options.max_metadata)
        if head.type == wire.ERROR:
            return message
        if len(message) > options.max_message:
            raise wire.TooLarge(f"the server sent a body of {len(message)} bytes, {options.max_message} are allowed")
        if head.flags & wire.COMPRESSED:
            message = wire.decompress(message, self._conn._hello.compressors, options.max_message)
        return message

    def _read_error(self, head: Header, message: bytes) -> Error:
        try:
            status = wire.unpack_status(self._split(head, message))
        except wire.WireError as e:
            status = wire.Status(f"an error that cannot be read: {e}")
        outcome = Outcome.REFUSED if head.flags & wire.REFUSED else Outcome.EXECUTED
        return Error(Code.of(head.code), status.message, outcome, status.reason, status.details, self.metadata)

    # What differs

    def _reply(self, body: bytes) -> None:
        raise NotImplementedError

    def _begin_data(self, header: Header) -> None:
        """Takes the first frame of a message of a stream."""

    def _data(self, head: Header, message: bytes) -> None:
        """Takes a whole message of a stream."""

    def _credit(self, n: int) -> None:
        """Takes credit for a stream."""

    def _decode(self, body: bytes) -> Any:
        try:
            return self._codec.decode(body)
        except Exception as e:
            raise Error(Code.INTERNAL, f"decode with {self._codec_name}: {e}", Outcome.EXECUTED) from e


class PendingCall(_Call):
    """A unary call that was sent."""

    def __init__(self, conn: Connection, method: str, codec: str, timeout: Optional[float], oneway: bool) -> None:
        super().__init__(conn, method, codec, timeout)
        self._oneway = oneway
        self._body = b""

    def result(self) -> Reply:
        """Waits for the reply, until the call's deadline; raises Error."""
        with self._conn._lock:
            while not self._answered:
                self._wait(self._event)
            if self._error is not None:
                raise self._error
        value = None if self._oneway else self._decode(self._body)
        return Reply(value, self.metadata)

    def _reply(self, body: bytes) -> None:
        self._body = body
        self._end(None)


class Stream(_Call):
    """A call with messages in both directions.

    One thread may send while another one receives.
    """

    def __init__(self, conn: Connection, method: str, codec: str, timeout: Optional[float]) -> None:
        super().__init__(conn, method, codec, timeout)
        self._credit_left = conn.server.stream_window  # what may be sent
        self._sending = False  # a message is under way
        self._closed_send = False
        self._messages: Deque[Tuple[bytes, int]] = deque()  # bodies and their costs
        self._allowed = conn.options.stream_window  # what the server may send
        self._owed = 0  # what was consumed and not given back

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: Any) -> None:
        self.cancel()

    def send(self, value: Any) -> None:
        """Sends a message; waits for credit. Raises EOFError when the server has ended the stream."""
        body, compressed = self._conn._body(self, value)
        with self._conn._lock:
            self._check_open()
            while self._sending or self._credit_left <= 0:
                self._wait(self._event)
                self._check_open()
            self._sending = True
            self._credit_left -= wire.cost(len(body))
            try:
                self._wait_for_room()
                self._send(Header(wire.DATA, compressed, 0, self._slot, self._generation), body)
                self._check_open()
            finally:
                self._sending = False
                self._event.notify_all()

    def close_send(self) -> None:
        """Says that nothing more will be sent. Does nothing the second time."""
        with self._conn._lock:
            while self._sending and not self._answered:
                self._wait(self._event)
            if self._closed_send or self._answered:
                return
            self._closed_send = True
            self._conn._enqueue(Header(wire.DATA, wire.END, 0, self._slot, self._generation), b"", self)

    def recv(self) -> Any:
        """Waits for a message; raises EOFError at the end, and Error."""
        with self._conn._lock:
            while not self._messages and not self._answered:
                self._wait(self._event)
            if not self._messages:
                if self._error is not None:
                    raise self._error
                raise EOFError("the stream has ended")
            body, cost = self._messages.popleft()
            self._give_back(cost)
        return self._decode(body)

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                yield self.recv()
            except EOFError:
                return

    def _check_open(self) -> None:
        if self._error is not None:
            raise self._error
        if self._answered:
            raise EOFError("the server has ended the stream")
        if self._closed_send:
            raise ValueError("send on a stream after close_send")

    def _give_back(self, cost: int) -> None:
        self._owed += cost
        if not self._answered and 2 * self._owed >= self._conn.options.stream_window:
            self._allowed += self._owed
            self._conn._enqueue(Header(wire.CREDIT, 0, 0, self._slot, self._generation, self._owed), b"", self)
            self._owed = 0

    def _credit(self, n: int) -> None:
        self._credit_left += n
        if self._credit_left > wire.MAX_CREDIT:
            raise _Violation(f"credit of {self._credit_left} bytes on slot {self._slot}")
        self._event.notify_all()

    def _begin_data(self, header: Header) -> None:
        if header.flags & wire.END:
            raise _Violation(f"END from the answerer on slot {self._slot}")
        if self._allowed <= 0 and not self._answered:
            raise _Violation(f"DATA without credit on slot {self._slot}")

    def _data(self, head: Header, message: bytes) -> None:
        if self._answered:
            return
        self._allowed -= wire.cost(len(message))
        try:
            self._messages.append((self._split(head, message), wire.cost(len(message))))
            self._event.notify_all()
        except wire.WireError as e:
            self._unusable(head, e)

    def _reply(self, body: bytes) -> None:
        self._end(None)


def _shutdown(sock: socket.socket, how: int) -> None:
    try:
        sock.shutdown(how)
    except OSError:
        pass  # it has ended already
