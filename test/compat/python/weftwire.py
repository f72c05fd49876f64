"""The bytes of the weft protocol: frames and what is in them.

Written from docs/PROTOCOL.md alone. Nothing here touches a socket, a thread or a
clock. Functions called pack_* make bytes, functions called unpack_* read them and
raise WireError when they cannot.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import List, Sequence, Tuple

PREFACE = b"\xf7weft\r\n\x01"
HEADER_SIZE = 16
MAX_PAYLOAD = 16_384
MAX_STATUS = 65_536
MAX_PAIRS = 64
MAX_CREDIT = 2**30

# Frame types.
HELLO, BIND, REQUEST, REPLY, ERROR, CHUNK, DATA, CREDIT, CANCEL, PING, GOAWAY = range(1, 12)

# Flags. The top bit has a meaning of its own for each type.
META, COMPRESSED, MORE, ANSWER, END, STREAM, ONEWAY = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40
MILLIS = REFUSED = ACK = 0x80

# Features, as bits.
CHECKSUM = 1

Pair = Tuple[str, bytes]
"""A metadata pair. Key bytes that are not UTF-8 become surrogates (PEP 383)."""


class WireError(ValueError):
    """Bytes that cannot be read, or values that cannot be written."""


class TooLarge(WireError):
    """Something is over a limit, and otherwise well formed."""


# Frames


@dataclass(frozen=True)
class Header:
    """The fixed part of a frame, without the length of its payload."""

    type: int
    flags: int = 0
    code: int = 0
    slot: int = 0
    generation: int = 0
    arg: int = 0


_HEADER = struct.Struct("<IBBHHHI")


def pack_frame(header: Header, payload: bytes = b"", checksum: bool = False) -> bytes:
    """Returns a whole frame, with its checksum if one is in force."""
    if len(payload) > MAX_PAYLOAD:
        raise WireError(f"payload of {len(payload)} bytes, at most {MAX_PAYLOAD} are allowed")
    h = header
    frame = _HEADER.pack(len(payload), h.type, h.flags, h.code, h.slot, h.generation, h.arg) + payload
    return frame + pack_checksum(frame) if checksum else frame


def unpack_header(data: bytes) -> Tuple[Header, int]:
    """Reads a header and returns it with the length of its payload.

    A length over the limit, or a type that may not be skipped and is not known,
    is an error of the connection.
    """
    if len(data) < HEADER_SIZE:
        raise WireError(f"header of {len(data)} bytes")
    length, kind, flags, code, slot, generation, arg = _HEADER.unpack_from(data)
    if length > MAX_PAYLOAD:
        raise WireError(f"frame of type {kind} claims {length} bytes of payload, at most {MAX_PAYLOAD} are allowed")
    if not HELLO <= kind <= GOAWAY and kind < 0x80:
        raise WireError(f"unknown frame type {kind}")
    return Header(kind, flags, code, slot, generation, arg), length


def cut_message(head: Header, message: bytes) -> List[Tuple[Header, bytes]]:
    """Cuts a message into the frame that begins it and the chunks that follow."""
    first, rest = message[:MAX_PAYLOAD], message[MAX_PAYLOAD:]
    if not rest:
        return [(head, first)]
    begun = Header(head.type, head.flags | MORE, head.code, head.slot, head.generation, head.arg)
    frames = [(begun, first)]
    while rest:
        piece, rest = rest[:MAX_PAYLOAD], rest[MAX_PAYLOAD:]
        flags = head.flags & ANSWER | (MORE if rest else 0)
        frames.append((Header(CHUNK, flags, 0, head.slot, head.generation), piece))
    return frames


def cost(length: int) -> int:
    """What a message of a stream costs in credit, from its length as it travels."""
    return 16 + length


def pack_timeout(nanoseconds: int) -> Tuple[int, int]:
    """Returns Arg and flag of a REQUEST for a remaining time above zero."""
    micros = max(1, -(-nanoseconds // 1_000))
    if micros < 2**32:
        return micros, 0
    return min(-(-nanoseconds // 1_000_000), 2**32 - 1), MILLIS


# Names


def check_name(name: bytes) -> None:
    """Raises unless name can be that of a codec or a compressor."""
    if not 1 <= len(name) <= 32:
        raise WireError(f"name of {len(name)} bytes, want 1 to 32")
    if not set(name) <= set(b"abcdefghijklmnopqrstuvwxyz0123456789-."):
        raise WireError(f"name {name!r} has other characters than a-z, 0-9, '-' and '.'")


def check_method(name: bytes) -> None:
    """Raises unless name can be that of a method."""
    if not 1 <= len(name) <= 255:
        raise WireError(f"method name of {len(name)} bytes, want 1 to 255")
    if any(c <= 0x20 or c == 0x7F for c in name):
        raise WireError(f"method name {name!r} has a space or a control character")
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError(f"method name {name!r} is not UTF-8") from None


def pack_bind(codec: str, method: str) -> bytes:
    c, m = codec.encode("utf-8"), method.encode("utf-8")
    check_name(c)
    check_method(m)
    return bytes([len(c)]) + c + m


def unpack_bind(data: bytes) -> Tuple[str, str]:
    """Returns the names of codec and method."""
    if not data:
        raise WireError("empty binding")
    n = data[0]
    if len(data) < 1 + n:
        raise WireError("binding ends inside the codec's name")
    c, m = data[1 : 1 + n], data[1 + n :]
    check_name(c)
    check_method(m)
    return c.decode("ascii"), m.decode("utf-8")


# HELLO


@dataclass
class Hello:
    """What a side says of itself. All limits are on what it receives."""

    features: int = 0
    max_message: int = 0
    max_metadata: int = 0
    max_calls: int = 0
    max_bindings: int = 0
    stream_window: int = 0
    codecs: List[str] = field(default_factory=list)
    compressors: List[str] = field(default_factory=list)
    credential: str = ""
    software: str = ""


_LIMITS = {2: "max_message", 3: "max_metadata", 4: "max_calls", 5: "max_bindings", 6: "stream_window"}
_LARGEST = {"max_calls": 65_536, "max_bindings": 65_536, "stream_window": 2**30}
_TEXTS = {9: ("credential", 8_192), 10: ("software", 255)}


def pack_hello(hello: Hello) -> bytes:
    fields: List[Tuple[int, bytes]] = [(1, struct.pack("<Q", hello.features))]
    fields += [(tag, struct.pack("<I", getattr(hello, name))) for tag, name in _LIMITS.items()]
    fields += [(7, ",".join(hello.codecs).encode()), (8, ",".join(hello.compressors).encode())]
    fields += [(9, hello.credential.encode("utf-8")), (10, hello.software.encode("utf-8"))]
    data = b"".join(struct.pack("<HH", tag, len(v)) + v for tag, v in fields if v)
    unpack_hello(data)  # raises for what no other side would accept
    return data


def unpack_hello(data: bytes) -> Hello:
    hello, seen = Hello(), set()
    while data:
        if len(data) < 4:
            raise WireError("hello ends inside the head of a field")
        tag, n = struct.unpack_from("<HH", data)
        value, data = data[4 : 4 + n], data[4 + n :]
        if len(value) < n:
            raise WireError(f"hello field {tag} claims {n} bytes, {len(value)} are left")
        if tag > 10:
            continue
        if tag in seen:
            raise WireError(f"hello has field {tag} twice")
        seen.add(tag)
        _set_field(hello, tag, value)
    return hello


def _set_field(hello: Hello, tag: int, value: bytes) -> None:
    if tag == 1:
        hello.features = _integer("<Q", tag, value)
    elif tag in _LIMITS:
        name, n = _LIMITS[tag], _integer("<I", tag, value)
        if n > _LARGEST.get(name, n):
            raise WireError(f"hello has a {name} of {n}, at most {_LARGEST[name]} is allowed")
        setattr(hello, name, n)
    elif tag in (7, 8):
        names = value.split(b",") if value else []
        if len(names) > 64:
            raise WireError(f"hello field {tag} lists {len(names)} names, at most 64 are allowed")
        for name_ in names:
            check_name(name_)
        setattr(hello, "codecs" if tag == 7 else "compressors", [n_.decode() for n_ in names])
    elif tag in _TEXTS:
        name, most = _TEXTS[tag]
        if len(value) > most:
            raise WireError(f"hello has a {name} of {len(value)} bytes, at most {most} are allowed")
        setattr(hello, name, value.decode("utf-8", "replace"))


def _integer(layout: str, tag: int, value: bytes) -> int:
    if len(value) != struct.calcsize(layout):
        raise WireError(f"hello field {tag} has {len(value)} bytes, want {struct.calcsize(layout)}")
    return int(struct.unpack(layout, value)[0])


# Metadata


def pack_metadata(pairs: Sequence[Pair], limit: int) -> bytes:
    """Returns a metadata block, with its length, for a receiver with that limit."""
    if len(pairs) > MAX_PAIRS:
        raise TooLarge(f"metadata of {len(pairs)} pairs, at most {MAX_PAIRS} are allowed")
    inside = b""
    for key, value in pairs:
        k = key.encode("utf-8", "surrogateescape")
        if not 1 <= len(k) <= 255:
            raise WireError(f"metadata key of {len(k)} bytes, want 1 to 255")
        if len(value) > 65_535:
            raise TooLarge(f"metadata value of {len(value)} bytes for {key!r}")
        inside += bytes([len(k)]) + k + struct.pack("<H", len(value)) + value
    if len(inside) > min(limit, 65_535):
        raise TooLarge(f"metadata of {len(inside)} bytes, at most {min(limit, 65_535)} are allowed")
    return struct.pack("<H", len(inside)) + inside


def split_metadata(message: bytes, limit: int) -> Tuple[List[Pair], bytes]:
    """Cuts a message that begins with metadata into its pairs and its body."""
    if len(message) < 2:
        raise WireError("message ends inside the length of its metadata")
    (n,) = struct.unpack_from("<H", message)
    if n > limit:
        raise TooLarge(f"metadata of {n} bytes, at most {limit} are allowed")
    inside, body = message[2 : 2 + n], message[2 + n :]
    if len(inside) < n:
        raise WireError(f"metadata claims {n} bytes, {len(inside)} are left")
    pairs: List[Pair] = []
    while inside:
        if len(pairs) == MAX_PAIRS:
            raise TooLarge(f"metadata of more than {MAX_PAIRS} pairs")
        k = inside[0]
        if k == 0:
            raise WireError("metadata has an empty key")
        if len(inside) < 1 + k + 2:
            raise WireError("metadata ends inside the head of a pair")
        (v,) = struct.unpack_from("<H", inside, 1 + k)
        end = 1 + k + 2 + v
        if len(inside) < end:
            raise WireError("metadata ends inside a value")
        pairs.append((inside[1 : 1 + k].decode("utf-8", "surrogateescape"), inside[3 + k : end]))
        inside = inside[end:]
    return pairs, body


# Status


@dataclass
class Status:
    """The body of an ERROR. Details are pairs of a type's name and bytes."""

    message: str = ""
    reason: str = ""
    details: List[Tuple[str, bytes]] = field(default_factory=list)


def pack_status(status: Status) -> bytes:
    message = _cut(status.message, 4_096)
    reason = _cut(status.reason, 255)
    head = struct.pack("<H", len(message)) + message + bytes([len(reason)]) + reason
    details: List[bytes] = []
    size = len(head) + 1
    for name, value in status.details:
        t = name.encode("utf-8")
        packed = bytes([len(t) & 0xFF]) + t + struct.pack("<I", len(value)) + value
        if len(t) <= 255 and len(details) < 16 and size + len(packed) <= MAX_STATUS:
            details.append(packed)
            size += len(packed)
    return head + bytes([len(details)]) + b"".join(details)


def _cut(text: str, most: int) -> bytes:
    return text.encode("utf-8")[:most].decode("utf-8", "ignore").encode("utf-8")


def unpack_status(data: bytes) -> Status:
    if len(data) > MAX_STATUS:
        raise TooLarge(f"error of {len(data)} bytes, at most {MAX_STATUS} are allowed")
    cursor = _Cursor(data)
    status = Status(cursor.text("<H"), cursor.text("<B"))
    count = cursor.integer("<B")
    if count > 16:
        raise WireError(f"error claims {count} details, at most 16 are allowed")
    for _ in range(count):
        name = cursor.text("<B")
        status.details.append((name, cursor.take(cursor.integer("<I"))))
    if cursor.left():
        raise WireError(f"error has {cursor.left()} bytes behind its end")
    return status


class _Cursor:
    """Reads bytes from front to back and raises when they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, n: int) -> bytes:
        if n > self.left():
            raise WireError(f"error claims {n} bytes, {self.left()} are left")
        self._at += n
        return self._data[self._at - n : self._at]

    def integer(self, layout: str) -> int:
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def text(self, layout: str) -> str:
        return self.take(self.integer(layout)).decode("utf-8", "replace")


# Compression


def compress(body: bytes, receiver: Sequence[str], name: str) -> bytes:
    """Compresses a body for a receiver that lists those compressors.

    It is of use only if it is shorter than body.
    """
    if name != "gzip" or name not in receiver:
        raise WireError(f"no compressor {name} that both sides have, the receiver has {list(receiver)}")
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return bytes([list(receiver).index(name)]) + packer.compress(body) + packer.flush()


def decompress(body: bytes, listed: Sequence[str], max_message: int) -> bytes:
    """Restores a compressed body for the side that listed those compressors."""
    if not body or body[0] >= len(listed) or listed[body[0]] != "gzip":
        raise WireError(f"body is compressed with something that is not in {list(listed)}")
    limit = max_message
    unpacker = zlib.decompressobj(31)
    try:
        # One byte more than allowed is enough to see that there is too much.
        restored = unpacker.decompress(body[1:], limit + 1)
    except zlib.error as e:
        raise WireError(f"body cannot be restored: {e}") from None
    if len(restored) > limit:
        raise TooLarge(f"body becomes more than {limit} bytes when it is restored")
    if not unpacker.eof or unpacker.unused_data:
        raise WireError("body cannot be restored: the compressed bytes end too soon or too late")
    return restored


# Checksum


def _table() -> List[int]:
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def pack_checksum(data: bytes) -> bytes:
    return struct.pack("<I", crc32c(data))
