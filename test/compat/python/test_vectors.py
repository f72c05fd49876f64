"""Checks weftwire against all golden vectors, in both directions."""

import json
import pathlib
import unittest

import weftwire as wire
from weftwire import Header, Hello, Status

VECTORS = pathlib.Path(__file__).resolve().parents[3] / "testdata" / "vectors"

TYPES = {
    "HELLO": wire.HELLO, "BIND": wire.BIND, "REQUEST": wire.REQUEST, "REPLY": wire.REPLY, "ERROR": wire.ERROR,
    "CHUNK": wire.CHUNK, "DATA": wire.DATA, "CREDIT": wire.CREDIT, "CANCEL": wire.CANCEL, "PING": wire.PING,
    "GOAWAY": wire.GOAWAY,
}
FLAGS = {
    "META": wire.META, "COMPRESSED": wire.COMPRESSED, "MORE": wire.MORE, "ANSWER": wire.ANSWER, "END": wire.END,
    "STREAM": wire.STREAM, "ONEWAY": wire.ONEWAY, "MILLIS": wire.MILLIS, "REFUSED": wire.REFUSED, "ACK": wire.ACK,
}


def load(name):
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


def number(names, name):
    return names[name] if name in names else int(name, 0)


def pairs_of(vector):
    return [(bytes.fromhex(p["key"]).decode("utf-8", "surrogateescape"), bytes.fromhex(p["value"])) for p in vector]


def hello_of(vector):
    return Hello(**vector)


def status_of(vector):
    details = [(d["type"], bytes.fromhex(d["value"])) for d in vector.get("details", [])]
    return Status(vector.get("message", ""), vector.get("reason", ""), details)


def header_of(frame):
    flags = 0
    for name in filter(None, frame.get("flags", "").split("|")):
        flags |= number(FLAGS, name)
    fields = [frame.get(name, 0) for name in ("code", "slot", "generation", "arg")]
    return Header(number(TYPES, frame["type"]), flags, *fields)


def payload_of(frame):
    """Makes the payload of a frame from its meaning."""
    meta = b""
    if "meta" in frame:
        meta = wire.pack_metadata(pairs_of(frame["meta"]), 65_535)
    if "hello" in frame:
        return wire.pack_hello(hello_of(frame["hello"]))
    if "bind" in frame:
        return wire.pack_bind(frame["bind"]["codec"], frame["bind"]["method"])
    if "text" in frame:
        return frame["text"].encode("utf-8")
    if "status" in frame:
        return meta + wire.pack_status(status_of(frame["status"]))
    return meta + bytes.fromhex(frame["body"] if "body" in frame else frame["payload"])


class VectorTest(unittest.TestCase):
    maxDiff = None

    def check_frame(self, frame, data, checksum=False):
        """Compares bytes with the meaning of a frame, both ways."""
        self.assertEqual(wire.pack_frame(header_of(frame), payload_of(frame), checksum).hex(), data.hex())
        header, length = wire.unpack_header(data)
        self.assertEqual(header, header_of(frame))
        end = wire.HEADER_SIZE + length
        self.assertEqual(len(data), end + (4 if checksum else 0))
        if checksum:
            self.assertEqual(wire.pack_checksum(data[:end]), data[end:])
        payload = data[wire.HEADER_SIZE : end]
        if "meta" in frame:
            pairs, payload = wire.split_metadata(payload, 65_535)
            self.assertEqual(pairs, pairs_of(frame["meta"]))
        if "hello" in frame:
            self.assertEqual(wire.unpack_hello(payload), hello_of(frame["hello"]))
        elif "bind" in frame:
            self.assertEqual(wire.unpack_bind(payload), (frame["bind"]["codec"], frame["bind"]["method"]))
        elif "status" in frame:
            self.assertEqual(wire.unpack_status(payload), status_of(frame["status"]))
        elif "text" in frame:
            self.assertEqual(payload.decode("utf-8"), frame["text"])
        else:
            self.assertEqual(payload.hex(), frame["body"] if "body" in frame else frame["payload"])

    def test_frames(self):
        for v in load("frames"):
            with self.subTest(v["name"]):
                self.check_frame(v["frame"], bytes.fromhex(v["hex"]))

    def test_hellos(self):
        for v in load("hellos"):
            with self.subTest(v["name"]):
                self.assertEqual(wire.unpack_hello(bytes.fromhex(v["hex"])), hello_of(v["hello"]))
                if not v.get("parse_only"):
                    self.assertEqual(wire.pack_hello(hello_of(v["hello"])).hex(), v["hex"])

    def test_metadata(self):
        for v in load("metadata"):
            with self.subTest(v["name"]):
                pairs, rest = wire.split_metadata(bytes.fromhex(v["hex"]), 65_535)
                self.assertEqual((pairs, rest.hex()), (pairs_of(v["pairs"]), v["rest"]))
                self.assertEqual(wire.pack_metadata(pairs, 65_535).hex() + v["rest"], v["hex"])

    def test_status(self):
        for v in load("status"):
            with self.subTest(v["name"]):
                self.assertEqual(wire.unpack_status(bytes.fromhex(v["hex"])), status_of(v["status"]))
                self.assertEqual(wire.pack_status(status_of(v["status"])).hex(), v["hex"])

    def test_checksums(self):
        for v in load("checksums"):
            with self.subTest(v["name"]):
                self.assertEqual(wire.pack_checksum(bytes.fromhex(v["hex"])).hex(), v["checksum"])

    def test_compression(self):
        for v in load("compression"):
            with self.subTest(v["name"]):
                restored = wire.decompress(bytes.fromhex(v["hex"]), v["compressors"], 4_194_304)
                self.assertEqual(restored.hex(), v["restored"])
                again = wire.compress(restored, v["compressors"], "gzip")
                self.assertEqual(wire.decompress(again, v["compressors"], 4_194_304), restored)

    def test_invalid(self):
        def refuse_preface(data):
            if data != wire.PREFACE:
                raise wire.WireError("another preface")

        for v in load("invalid"):
            limit = v.get("limit", 16_384)
            unpack = {
                "preface": refuse_preface,
                "header": wire.unpack_header,
                "hello": wire.unpack_hello,
                "bind": wire.unpack_bind,
                "metadata": lambda data, limit=limit: wire.split_metadata(data, limit),
                "status": wire.unpack_status,
            }[v["kind"]]
            with self.subTest(v["kind"] + "/" + v["name"]), self.assertRaises(wire.WireError):
                unpack(bytes.fromhex(v["hex"]))

    def test_exchanges(self):
        for v in load("exchanges"):
            hellos = set()
            for step in v["steps"]:
                with self.subTest(v["name"] + ": " + step["says"]):
                    data = bytes.fromhex(step["hex"])
                    if step.get("preface"):
                        self.assertEqual(data, wire.PREFACE)
                        continue
                    self.check_frame(step["frame"], data, v.get("checksum", False) and len(hellos) == 2)
                    if step["frame"]["type"] == "HELLO":
                        hellos.add(step["from"])

    def test_violations(self):
        for v in load("violations")["vectors"]:
            with self.subTest(v["name"]):
                data = bytes.fromhex(v["preface"]) if "preface" in v else wire.PREFACE
                for i, frame in enumerate(v["frames"]):
                    payload = payload_of_broken(frame)
                    data += wire.pack_frame(header_of(frame), payload, v.get("wrong_checksum", False) and i > 0)
                if v.get("wrong_checksum"):
                    data = data[:-1] + bytes([data[-1] ^ 0xFF])
                self.assertEqual((data + bytes.fromhex(v.get("raw", ""))).hex(), v["hex"])


def payload_of_broken(frame):
    """Like payload_of, also for names and metadata that pack_* refuses to make."""
    if "bind" in frame:
        codec, method = frame["bind"]["codec"].encode(), frame["bind"]["method"].encode()
        return bytes([len(codec)]) + codec + method
    if "meta" in frame:
        inside = b""
        for key, value in pairs_of(frame["meta"]):
            inside += bytes([len(key)]) + key.encode() + len(value).to_bytes(2, "little") + value
        return len(inside).to_bytes(2, "little") + inside + bytes.fromhex(frame["body"])
    return payload_of(frame)


class LimitTest(unittest.TestCase):
    """What no vector shows: that what is made keeps to the limits."""

    def test_message_is_cut(self):
        for length, frames in ((0, 1), (1, 1), (16_384, 1), (16_385, 2), (40_000, 3)):
            message = bytes(i % 251 for i in range(length))
            head = Header(wire.REPLY, wire.ANSWER, 0, 3, 4)
            cut = wire.cut_message(head, message)
            self.assertEqual(len(cut), frames)
            self.assertEqual(b"".join(piece for _, piece in cut), message)
            for i, (header, _) in enumerate(cut):
                self.assertEqual(header.type, wire.CHUNK if i else wire.REPLY)
                self.assertEqual(bool(header.flags & wire.MORE), i < frames - 1)
                self.assertEqual((header.flags & wire.ANSWER, header.slot, header.generation), (wire.ANSWER, 3, 4))

    def test_timeout(self):
        for nanoseconds, arg, flag in (
            (1, 1, 0),
            (1_000, 1, 0),
            (1_001, 2, 0),
            ((2**32 - 1) * 1_000, 2**32 - 1, 0),
            ((2**32 - 1) * 1_000 + 1, 4_294_968, wire.MILLIS),
            (10**30, 2**32 - 1, wire.MILLIS),
        ):
            self.assertEqual(wire.pack_timeout(nanoseconds), (arg, flag))

    def test_status_is_shortened(self):
        long = Status("ä" * 4_000, "R" * 300, [("t", b"x" * 40_000), ("u", b"x" * 40_000), ("v" * 256, b""), ("w", b"y")])
        short = wire.unpack_status(wire.pack_status(long))
        self.assertEqual((len(short.message), len(short.reason)), (2_048, 255))
        self.assertEqual([name for name, _ in short.details], ["t", "w"])

    def test_metadata_limits(self):
        for pairs, error in (
            ([("k", b"")] * 65, wire.TooLarge),
            ([("k", b"x" * 20_000)], wire.TooLarge),
            ([("k", b"x" * 70_000)], wire.TooLarge),
            ([("", b"")], wire.WireError),
            ([("k" * 256, b"")], wire.WireError),
        ):
            with self.assertRaises(error):
                wire.pack_metadata(pairs, 16_384)

    def test_decompression_is_bounded(self):
        body = wire.compress(bytes(300_000), ["gzip"], "gzip")
        with self.assertRaises(wire.TooLarge):
            wire.decompress(body, ["gzip"], 299_999)
        self.assertEqual(wire.decompress(body, ["gzip"], 300_000), bytes(300_000))
        for broken in (b"", b"\x01" + body[1:], body[:-1], body + b"x", b"\x00abc"):
            with self.assertRaises(wire.WireError):
                wire.decompress(broken, ["gzip"], 4_194_304)


if __name__ == "__main__":
    unittest.main()
