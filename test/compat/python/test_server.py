"""Tests the client and the Go server against each other.

The server is built from ./server with the go command.
"""

import atexit
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import weft
import weftwire as wire
from test_vectors import load
from weft import Code, Error, Options, Outcome
from weftwire import Header

HERE = pathlib.Path(__file__).resolve().parent


class Server:
    """The Go program, with its servers by name."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        program = pathlib.Path(self.folder.name) / "server"
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "server", check=True)
        self.process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.ports = {}
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            name, address = line.split()
            self.ports[name] = int(address.rsplit(":", 1)[1])

    def command(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        self.folder.cleanup()
        return code


server = None


def setUpModule():
    global server
    server = Server()
    atexit.register(server.process.kill)


def tearDownModule():
    atexit.unregister(server.process.kill)
    code = server.stop()
    if code:
        raise AssertionError(f"the server ended with {code}")


class ServerTest(unittest.TestCase):
    def connect(self, name="plain", **options):
        conn = weft.connect("127.0.0.1", server.ports[name], options=Options(**options))
        self.addCleanup(conn.close)
        return conn

    def fails(self, code, outcome, call):
        with self.assertRaises(Error) as caught:
            call()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (code, outcome), str(caught.exception))
        return caught.exception

    def idle(self, conn):
        """Waits until every call has had its final frame."""
        deadline = time.monotonic() + 10
        while conn.open_calls:
            self.assertLess(time.monotonic(), deadline, f"{conn.open_calls} calls never ended")
            time.sleep(0.001)


class FirstFlightTest(ServerTest):
    """The same by a client that does not wait for the server's HELLO."""

    def connect(self, name="plain", **options):
        return super().connect(name, first_flight=True, **options)


class CallTest(ServerTest):
    def test_json(self):
        conn = self.connect()
        self.assertEqual(conn.call("Arith.Mul", {"A": 7, "B": 8}).value, {"C": 56})
        self.assertIn("json", conn.server.codecs)
        self.assertTrue(conn.server.software)

    def test_raw(self):
        conn = self.connect()
        for size in (0, 1, 1_000, 16_384, 16_385, 100_000, 4_194_304):
            body = bytes(i * 31 % 256 for i in range(size % 70_000)) * (size // max(1, size % 70_000))
            self.assertEqual(conn.call("Echo.Say", body, codec="raw").value, body)

    def test_checksum(self):
        conn = self.connect(checksum=True)
        self.assertEqual(conn.server.features & wire.CHECKSUM, wire.CHECKSUM)
        for body in (b"", b"x" * 20_000):
            self.assertEqual(conn.call("Echo.Say", body, codec="raw").value, body)

    def test_compression(self):
        conn = self.connect("gzip", compress=True)
        for body in (b"weft " * 10_000, b"short", bytes(i * i % 251 for i in range(5_000)), bytes(4_000_000)):
            self.assertEqual(conn.call("Echo.Say", body, codec="raw").value, body)

    def test_metadata(self):
        sent = [("tag", b"a"), ("tag", b"b"), ("bytes", b"\x00\xff"), ("empty", b"")]
        reply = self.connect().call("Orders.Tags", {"ID": 1}, metadata=sent)
        self.assertEqual(reply.metadata, sent)

    def test_error(self):
        e = self.fails(Code.NOT_FOUND, Outcome.EXECUTED, lambda: self.connect().call("Orders.Get", {"ID": 17}))
        self.assertEqual((e.message, e.reason, e.details), ("no such order: 17", "ORDER_NOT_FOUND", [("app.Order", b"\x08\x11")]))
        self.assertEqual(e.metadata, [("shard", b"7")])

    def test_panic_tells_nothing(self):
        conn = self.connect()
        e = self.fails(Code.INTERNAL, Outcome.EXECUTED, lambda: conn.call("Echo.Panic", b"", codec="raw"))
        self.assertNotIn("as asked", e.message)
        self.assertEqual(conn.call("Echo.Say", b"x", codec="raw").value, b"x")

    def test_unknown_method(self):
        conn = self.connect()
        e = self.fails(Code.UNIMPLEMENTED, Outcome.REFUSED, lambda: conn.call("Arith.Root", 1))
        self.assertIn("Arith.Root", e.message)
        self.assertEqual(conn.call("Arith.Mul", {"A": 2, "B": 3}).value, {"C": 6})

    def test_body_that_cannot_be_decoded(self):
        self.fails(Code.INVALID_ARGUMENT, Outcome.REFUSED, lambda: self.connect().call("Arith.Mul", "not a pair"))

    def test_deadline(self):
        conn = self.connect()
        began = time.monotonic()
        with self.assertRaises(Error) as caught:
            conn.call("Echo.Wait", b"", codec="raw", timeout=0.1)
        self.assertEqual(caught.exception.code, Code.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - began, 5)
        self.idle(conn)

    def test_cancel(self):
        conn = self.connect()
        call = conn.start("Echo.Wait", b"", codec="raw", timeout=None)
        conn.ping()  # the server has the call by now
        call.cancel()
        self.fails(Code.CANCELED, Outcome.UNKNOWN, call.result)
        self.idle(conn)

    def test_rapid_cancels(self):
        conn = self.connect()
        for _ in range(500):
            conn.start("Echo.Wait", b"x" * 20_000, codec="raw").cancel()
        self.idle(conn)
        self.assertEqual(conn.call("Echo.Say", b"x", codec="raw").value, b"x")

    def test_oneway(self):
        conn = self.connect()
        before = conn.call("Log.Read", b"", codec="raw").value[0]
        for _ in range(3):
            self.assertIsNone(conn.start("Log.Write", b"line", codec="raw", oneway=True).result().value)
        self.assertEqual(conn.call("Log.Read", b"", codec="raw").value[0], before + 3)

    def test_ordered(self):
        conn = self.connect()
        calls = []
        for n in range(400):
            body = bytes([n % 256]) + b"x" * (40_000 if n % 50 == 3 else 0)
            calls.append(conn.start("Log.Note", body, codec="raw", oneway=True, order=b"account-7", metadata=[("trace", b"1")]))
        for call in calls:
            self.assertIsNone(call.result().value)
        self.assertEqual(conn.call("Log.Notes", b"", codec="raw").value, bytes(n % 256 for n in range(400)))
        self.fails(Code.INVALID_ARGUMENT, Outcome.NOT_SENT, lambda: conn.start("Log.Note", b"x", codec="raw", order=b"k"))

    def test_too_long(self):
        conn = self.connect()
        self.fails(Code.RESOURCE_EXHAUSTED, Outcome.NOT_SENT, lambda: conn.call("Echo.Say", b"x" * 4_194_305, codec="raw"))
        small = self.connect(max_message=100)
        self.fails(Code.RESOURCE_EXHAUSTED, Outcome.EXECUTED, lambda: small.call("Echo.Say", b"x" * 101, codec="raw"))
        self.assertEqual(small.call("Echo.Say", b"x" * 100, codec="raw").value, b"x" * 100)

    def test_ping(self):
        conn = self.connect()
        for _ in range(10):
            self.assertLess(conn.ping(), 5)

    def test_many_threads(self):
        conn = self.connect()
        wrong = []

        def work(n):
            for i in range(100):
                body = b"%d-%d" % (n, i) * (1 if i % 10 else 5_000)
                if conn.call("Echo.Say", body, codec="raw").value != body:
                    wrong.append(body[:20])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual((wrong, conn.open_calls), ([], 0))


class StreamTest(ServerTest):
    def test_bidi(self):
        stream = self.connect().stream("Echo.Chat", codec="raw")
        for message in (b"one", b"", b"x" * 100_000, b"four"):
            stream.send(message)
            self.assertEqual(stream.recv(), message)
        stream.close_send()
        self.assertEqual(list(stream), [])

    def test_order_of_large_and_small(self):
        conn = self.connect()
        stream = conn.stream("Echo.Chat", codec="raw")
        messages = [bytes([i]) * (100_000 if i % 2 else 10) for i in range(60)]

        def send():
            for message in messages:
                stream.send(message)
            stream.close_send()

        sender = threading.Thread(target=send)
        sender.start()
        self.assertEqual([(m[0], len(m)) for m in stream], [(m[0], len(m)) for m in messages])
        sender.join(10)

    def test_order_when_the_client_reads_late(self):
        """Frames wait in the server for long; those of one call keep their order all the same."""
        hello = wire.Hello(max_message=1_000_000, max_metadata=1_000, stream_window=1_000_000, codecs=["json"])
        said = wire.PREFACE + wire.pack_frame(Header(wire.HELLO), wire.pack_hello(hello))
        said += wire.pack_frame(Header(wire.BIND), wire.pack_bind("json", "Feed.Blocks"))
        calls = 50
        for slot in range(calls):
            said += wire.pack_frame(Header(wire.REQUEST, wire.STREAM, slot=slot))
            said += wire.pack_frame(Header(wire.DATA, slot=slot), b'{"ID":4}')
            said += wire.pack_frame(Header(wire.DATA, wire.END, slot=slot))
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            sock.settimeout(10)
            sock.connect(("127.0.0.1", server.ports["plain"]))
            sock.sendall(said)
            time.sleep(0.5)
            source = weft._Source(sock)
            self.assertEqual(source.take(8), wire.PREFACE)
            self.assertEqual(source.frame(False)[0].type, wire.HELLO)
            unfinished, ended = set(), set()
            while len(ended) < calls:
                header, _ = source.frame(False)
                if header.type not in (wire.DATA, wire.REPLY, wire.CHUNK):
                    continue
                self.assertNotIn(header.slot, ended, "a frame behind the REPLY")
                self.assertEqual(header.slot in unfinished, header.type == wire.CHUNK, "a message begins inside another one")
                (unfinished.add if header.flags & wire.MORE else unfinished.discard)(header.slot)
                if header.type == wire.REPLY:
                    ended.add(header.slot)

    def test_more_than_the_window(self):
        conn = self.connect(stream_window=1_000)
        stream = conn.stream("Echo.Chat", codec="raw")
        messages = [b"%d" % i * 100 for i in range(2_000)]

        def send():
            for message in messages:
                stream.send(message)
            stream.close_send()

        sender = threading.Thread(target=send)
        sender.start()
        self.assertEqual(list(stream), messages)
        sender.join(10)
        self.assertEqual(conn.open_calls, 0)

    def test_server_stream(self):
        conn = self.connect()
        stream = conn.stream("Feed.Blocks")
        stream.send({"ID": 40})
        stream.close_send()
        self.assertEqual([(m["N"], len(m["Data"])) for m in stream], [(i, i % 2 * 200_000) for i in range(40)])
        self.assertEqual(stream.metadata, [("blocks", b"sent")])

    def test_client_stream(self):
        stream = self.connect().stream("Sink.Sum")
        for i in range(1_000):
            stream.send({"ID": i})
        stream.close_send()
        self.assertEqual(list(stream), [{"ID": 499_500}])

    def test_compressed_stream(self):
        stream = self.connect("gzip", compress=True).stream("Echo.Chat", codec="raw")
        for message in (b"weft " * 20_000, b"short", bytes(1_000_000)):
            stream.send(message)
            self.assertEqual(stream.recv(), message)
        stream.close_send()
        self.assertEqual(list(stream), [])

    def test_error_while_sending(self):
        conn = self.connect()
        stream = conn.stream("Echo.Quit", codec="raw")
        with self.assertRaises(Error) as caught:
            for _ in range(100_000):
                stream.send(b"x" * 100)
        self.assertEqual((caught.exception.code, caught.exception.reason), (Code.ABORTED, "CLOSED"))
        self.assertEqual(stream.recv(), b"x" * 100)
        self.fails(Code.ABORTED, Outcome.EXECUTED, stream.recv)
        self.idle(conn)

    def test_large_message_before_an_error(self):
        conn = self.connect()
        stream = conn.stream("Echo.Quit", codec="raw")
        stream.send(b"x" * 1_000_000)
        try:
            self.assertEqual(len(stream.recv()), 1_000_000)
            self.fails(Code.ABORTED, Outcome.EXECUTED, stream.recv)
        except Error as e:  # an ERROR may overtake the rest of a message
            self.assertEqual(e.code, Code.ABORTED)
        self.idle(conn)
        self.assertEqual(conn.call("Echo.Say", b"x", codec="raw").value, b"x")

    def test_cancel(self):
        conn = self.connect()
        stream = conn.stream("Echo.Chat", codec="raw")
        stream.send(b"x")
        self.assertEqual(stream.recv(), b"x")
        stream.cancel()
        self.fails(Code.CANCELED, Outcome.UNKNOWN, stream.recv)
        self.idle(conn)

    def test_deadline(self):
        conn = self.connect()
        stream = conn.stream("Echo.Stall", codec="raw", timeout=0.2)
        with self.assertRaises(Error) as caught:
            for _ in range(100):
                stream.send(b"x" * 10_000)  # until the server's window is full
        self.assertEqual(caught.exception.code, Code.DEADLINE_EXCEEDED)
        self.idle(conn)

    def test_wrong_kind(self):
        conn = self.connect()
        self.fails(Code.UNIMPLEMENTED, Outcome.REFUSED, lambda: conn.call("Echo.Chat", b"", codec="raw"))
        self.fails(Code.UNIMPLEMENTED, Outcome.REFUSED, lambda: list(conn.stream("Echo.Say", codec="raw")))


class ConnectionTest(ServerTest):
    def test_authentication(self):
        e = self.fails(Code.UNAUTHENTICATED, Outcome.NOT_SENT, lambda: self.connect("auth", credential="bearer wrong"))
        self.assertIn("not valid", e.message)
        conn = self.connect("auth", credential="bearer connection")
        right, wrong = [("authorization", b"bearer call")], [("authorization", b"bearer wrong")]
        self.assertEqual(conn.call("Arith.Mul", {"A": 7, "B": 8}, metadata=right).value, {"C": 56})
        for metadata in (wrong, []):
            self.fails(Code.PERMISSION_DENIED, Outcome.REFUSED, lambda m=metadata: conn.call("Arith.Mul", {}, metadata=m))

    def test_drain(self):
        conn = self.connect("drain")
        stream = conn.stream("Echo.Chat", codec="raw")
        stream.send(b"before")
        self.assertEqual(stream.recv(), b"before")
        server.command("drain")
        deadline = time.monotonic() + 10
        while not conn.draining:
            self.assertLess(time.monotonic(), deadline, "no GOAWAY came")
            time.sleep(0.001)
        self.fails(Code.UNAVAILABLE, Outcome.NOT_SENT, lambda: conn.call("Arith.Mul", {"A": 1, "B": 1}))
        stream.send(b"after")
        self.assertEqual(stream.recv(), b"after")
        stream.close_send()
        self.assertEqual(list(stream), [])
        self.assertEqual(server.answer(), "drained")

    def test_many_bindings(self):
        conn = self.connect("strict")
        for _ in range(3):
            for method in ("Echo.Say", "Log.Read", "No.Such", "No.Other", "Echo.Say", "Never.Was"):
                if method.startswith("N"):
                    self.fails(Code.UNIMPLEMENTED, Outcome.REFUSED, lambda m=method: conn.call(m, b"", codec="raw"))
                else:
                    conn.call(method, b"", codec="raw")


class ViolationTest(unittest.TestCase):
    """What the server answers to a client that breaks the rules."""

    def test_vectors(self):
        for v in load("violations")["vectors"]:
            with self.subTest(v["name"], doc=v["doc"]):
                self.violate(v)

    def violate(self, v):
        with socket.create_connection(("127.0.0.1", server.ports["strict"]), 5) as sock:
            sock.sendall(bytes.fromhex(v["hex"]))
            source = weft._Source(sock)
            frames = self.frames(source, any(f.get("hello", {}).get("features", 0) & 1 for f in v["frames"]))
            want = v["expect"]
            if want.get("close"):
                with self.assertRaises(EOFError):
                    source.take(1)
            elif "goaway" in want:
                header, payload = self.find(frames, wire.GOAWAY)
                self.assertEqual(header.code, want["goaway"], payload)
                self.assertEqual(list(frames), [], "frames behind the GOAWAY")
            elif "pong" in want:
                header, payload = self.find(frames, wire.PING)
                self.assertEqual((header.flags & wire.ACK, payload.hex()), (wire.ACK, want["pong"]))
            else:
                self.check_error(want["error"], *self.find(frames, wire.ERROR))

    def frames(self, source, checksum):
        """Yields the frames of the server, behind its preface, until the end."""
        try:
            if source.take(8)[:7] != wire.PREFACE[:7]:
                self.fail("no preface")
            header, payload = source.frame(False)
            yield header, payload
            while True:
                yield source.frame(checksum)
        except (EOFError, ConnectionError):
            return

    def find(self, frames, kind):
        seen = []
        for header, payload in frames:
            if header.type == kind:
                return header, payload
            seen.append(header)
        self.fail(f"no frame of type {kind}, but {seen}")

    def check_error(self, want, header, payload):
        self.assertEqual((header.slot, header.generation), (want.get("slot", 0), want.get("generation", 0)))
        message = wire.unpack_status(payload).message
        self.assertEqual(header.code, want["code"], message)
        if not want.get("either"):
            self.assertEqual(bool(header.flags & wire.REFUSED), want.get("refused", False), message)
        self.assertTrue(header.flags & wire.ANSWER)


if __name__ == "__main__":
    unittest.main()
