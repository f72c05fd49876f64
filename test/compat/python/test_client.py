"""Plays the client against the golden exchanges, and against servers that misbehave.

The server here is a script: it knows only which bytes to expect and which to send.
"""

import socket
import threading
import time
import unittest

import weft
import weftwire as wire
from test_vectors import load, pairs_of
from weft import Code, Error, Options, Outcome
from weftwire import Header, Hello

EXCHANGES = {v["name"]: v for v in load("exchanges")}


class Clock:
    """A clock that stands until it is told to go on, so that timeouts are exact."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Player(threading.Thread):
    """The server of an exchange: plays its steps, and compares the client's."""

    def __init__(self, exchange, sock, cut=None, slices=None):
        super().__init__(name="player", daemon=True)
        self.exchange, self.sock = exchange, sock
        self.cut = cut  # how many bytes of the server are sent, before it closes
        self.slices = slices  # how many bytes are sent at once
        self.problem = None
        self.reached = []  # what the steps said
        self.after = {}  # what to do after a step
        sock.settimeout(10)
        self.start()

    def run(self):
        try:
            for step in self.exchange["steps"]:
                data = bytes.fromhex(step["hex"])
                if step["from"] == "server":
                    if not self.send(data):
                        self.sock.close()
                        return
                else:
                    got = self.receive(len(data))
                    if got != data:
                        self.problem = f"{step['says']}: the client sent {got.hex()}, the vector has {data.hex()}"
                        self.sock.close()
                        return
                self.reached.append(step["says"])
                self.after.get(step["says"], lambda: None)()
            if self.exchange.get("server_closes"):
                self.sock.close()
        except OSError as e:
            self.problem = f"after {self.reached}: {e!r}"

    def send(self, data):
        for i in range(0, len(data), self.slices or len(data)):
            piece = data[i : i + (self.slices or len(data))]
            if self.cut is not None:
                piece, self.cut = piece[: self.cut], self.cut - len(piece)
            self.sock.sendall(piece)
            if self.cut is not None and self.cut <= 0:
                return False
        return True

    def receive(self, n):
        data = b""
        while len(data) < n:
            piece = self.sock.recv(n - len(data))
            if not piece:
                break
            data += piece
        return data


def client_options(exchange, **more):
    hello = next(s["frame"]["hello"] for s in exchange["steps"] if s["from"] == "client" and "frame" in s)
    more.setdefault("clock", Clock())
    return Options(
        max_message=hello["max_message"],
        max_metadata=hello["max_metadata"],
        stream_window=hello["stream_window"],
        codecs={name: weft.CODECS[name] for name in hello["codecs"]},
        checksum=bool(hello.get("features", 0) & wire.CHECKSUM),
        credential=hello.get("credential", ""),
        software=hello["software"],
        **more,
    )


class ExchangeTest(unittest.TestCase):
    """One test for each exchange that a client can be made to have."""

    NOT_PLAYED = {"rebind", "server-calls"}

    def play(self, name, slices=None, cut=None, **options):
        exchange = EXCHANGES[name]
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        self.player = Player(exchange, theirs, cut, slices)
        conn = weft.Connection(ours, client_options(exchange, **options))
        self.addCleanup(conn.close)
        return conn

    def finish(self, conn, exchange_name):
        """Waits for the last step; every byte of the client must have been right."""
        self.player.join(10)
        self.assertIsNone(self.player.problem)
        self.assertEqual(len(self.player.reached), len(EXCHANGES[exchange_name]["steps"]), self.player.reached)

    def wait_until(self, condition):
        deadline = time.monotonic() + 10
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it never became true")
            time.sleep(0.001)

    def test_every_exchange_is_played(self):
        played = {name[len("test_") :].replace("_", "-") for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual(set(EXCHANGES) - self.NOT_PLAYED, played)

    def unary_ok(self, name, **options):
        conn = self.play(name, **options)
        reply = conn.call("Arith.Mul", {"A": 7, "B": 8}, timeout=1)
        self.assertEqual((reply.value, reply.metadata), ({"C": 56}, []))
        self.finish(conn, name)
        self.assertEqual(conn.open_calls, 0)

    def test_unary_ok(self):
        self.unary_ok("unary-ok")

    def test_in_slices_of_one_byte(self):
        self.unary_ok("unary-ok", slices=1)

    def test_checksum(self):
        self.unary_ok("checksum")

    def test_checksum_one_side(self):
        self.unary_ok("checksum-one-side")

    def test_future(self):
        self.unary_ok("future")

    def test_cut_at_every_byte(self):
        total = sum(len(s["hex"]) // 2 for s in EXCHANGES["unary-ok"]["steps"] if s["from"] == "server")
        hellos = total - (wire.HEADER_SIZE + len('{"C":56}'))
        for n in range(total):
            with self.subTest(cut=n), self.assertRaises(Error) as caught:
                self.play("unary-ok", cut=n).call("Arith.Mul", {"A": 7, "B": 8}, timeout=1)
            if n < hellos:
                self.assertEqual(caught.exception.outcome, Outcome.NOT_SENT)
            else:
                self.assertIn(caught.exception.outcome, (Outcome.UNKNOWN, Outcome.NOT_SENT))
            if n > hellos:  # the server had the request before it was cut
                self.assertEqual(caught.exception.outcome, Outcome.UNKNOWN)

    def test_unary_error(self):
        conn = self.play("unary-error")
        with self.assertRaises(Error) as caught:
            conn.call("Orders.Get", {"ID": 17}, timeout=1)
        e = caught.exception
        self.assertEqual((e.code, e.outcome), (Code.NOT_FOUND, Outcome.EXECUTED))
        self.assertEqual((e.message, e.reason), ("no such order: 17", "ORDER_NOT_FOUND"))
        self.assertEqual(e.details, [("app.Order", b"\x08\x11")])
        self.finish(conn, "unary-error")

    def test_unary_refused(self):
        conn = self.play("unary-refused")
        with self.assertRaises(Error) as caught:
            conn.call("Arith.Root", 1, timeout=1)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNIMPLEMENTED, Outcome.REFUSED))
        self.finish(conn, "unary-refused")

    def test_unary_metadata(self):
        conn = self.play("unary-metadata")
        sent = [("authorization", b"bearer t0ken"), ("tag", b"a"), ("tag", b"b")]
        reply = conn.call("Arith.Mul", {"A": 7, "B": 8}, metadata=sent, timeout=1)
        self.assertEqual((reply.value, reply.metadata), ({"C": 56}, [("served-by", b"node-3")]))
        self.finish(conn, "unary-metadata")

    def test_unary_oneway(self):
        conn = self.play("unary-oneway")
        call = conn.start("Log.Write", b"line", codec="raw", timeout=1, oneway=True)
        self.assertIsNone(call.result().value)
        self.finish(conn, "unary-oneway")

    def test_two_calls(self):
        conn = self.play("two-calls")
        self.assertEqual(conn.call("Arith.Mul", {"A": 7, "B": 8}, timeout=1).value, {"C": 56})
        self.assertEqual(conn.call("Arith.Mul", {"A": 2, "B": 3}, timeout=1).value, {"C": 6})
        self.finish(conn, "two-calls")

    def test_chunked(self):
        wanted = EXCHANGES["chunked"]["calls"][0]
        conn = self.play("chunked")
        reply = conn.call("Blob.Swap", bytes.fromhex(wanted["request"]["body"]), codec="raw", timeout=5)
        self.assertEqual(reply.value.hex(), wanted["reply"]["body"])
        self.finish(conn, "chunked")

    def test_interleaved(self):
        wanted = EXCHANGES["interleaved"]["calls"]
        conn = self.play("interleaved")
        calls = [conn.start("Blob.Get", body, codec="raw", timeout=1) for body in (b"a", b"b")]
        with self.assertRaises(Error) as caught:
            calls[1].result()
        self.assertEqual((caught.exception.code, caught.exception.message), (Code.INVALID_ARGUMENT, "bad"))
        reply = calls[0].result()
        self.assertEqual(reply.value.hex(), wanted[0]["reply"]["body"])
        self.assertEqual(reply.metadata, pairs_of(wanted[0]["reply"]["meta"]))
        self.finish(conn, "interleaved")

    def test_stream_bidi(self):
        conn = self.play("stream-bidi")
        with conn.stream("Echo.Chat", metadata=[("room", b"7")], timeout=2) as stream:
            for word in ("one", "two"):
                stream.send(word)
                self.assertEqual(stream.recv(), word.upper())
            stream.close_send()
            self.assertEqual(list(stream), [])
            self.assertEqual(stream.metadata, [("count", b"2")])
            with self.assertRaises(EOFError):
                stream.send("three")
        self.finish(conn, "stream-bidi")

    def test_stream_down(self):
        conn = self.play("stream-down")
        stream = conn.stream("Feed.Read", codec="raw", receive_only=True)
        self.assertEqual(list(stream), [b"message%d" % i for i in range(4)])
        self.finish(conn, "stream-down")

    def test_stream_up(self):
        conn = self.play("stream-up")
        stream = conn.stream("Sink.Write", codec="raw")
        for message in (b"0123456789abcdef0123456789abcdef", b"", b"", b"the last"):
            stream.send(message)
        stream.close_send()
        self.assertEqual(list(stream), [])
        self.finish(conn, "stream-up")

    def test_stream_chunked(self):
        wanted = EXCHANGES["stream-chunked"]["calls"][0]
        conn = self.play("stream-chunked")
        stream = conn.stream("Echo.Chat", codec="raw")
        stream.send(bytes.fromhex(wanted["sent"][0]))
        self.assertEqual(stream.recv(), b"great")
        stream.close_send()
        self.assertEqual(list(stream), [])
        self.finish(conn, "stream-chunked")

    def test_stream_error(self):
        conn = self.play("stream-error")
        stream = conn.stream("Echo.Chat", codec="raw")
        stream.send(b"a")
        self.assertEqual(stream.recv(), b"A")
        with self.assertRaises(Error) as caught:
            stream.recv()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.ABORTED, Outcome.EXECUTED))
        with self.assertRaises(Error):
            stream.send(b"b")
        self.finish(conn, "stream-error")
        self.assertEqual(conn.open_calls, 0)

    def test_stream_cancel(self):
        conn = self.play("stream-cancel")
        stream = conn.stream("Echo.Chat", codec="raw")
        self.assertEqual(stream.recv(), b"A")
        stream.cancel()
        with self.assertRaises(Error) as caught:
            stream.recv()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.CANCELED, Outcome.UNKNOWN))
        self.finish(conn, "stream-cancel")
        self.wait_until(lambda: conn.open_calls == 0)

    def test_cancel(self):
        conn = self.play("cancel")
        call = conn.start("Echo.Wait", b"", codec="raw", timeout=5)
        self.wait_until(lambda: "call" in self.player.reached)
        call.cancel()
        with self.assertRaises(Error) as caught:
            call.result()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.CANCELED, Outcome.UNKNOWN))
        self.wait_until(lambda: conn.open_calls == 0)
        self.assertEqual(conn.call("Echo.Wait", b"", codec="raw", timeout=5).value, b"ok")
        self.finish(conn, "cancel")

    def test_deadline(self):
        clock = Clock()
        conn = self.play("deadline", clock=clock)
        call = conn.start("Echo.Wait", b"", codec="raw", timeout=0.05)
        self.wait_until(lambda: "call, 50 ms" in self.player.reached)
        clock.now += 50_000_000
        with self.assertRaises(Error) as caught:
            call.result()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.DEADLINE_EXCEEDED, Outcome.UNKNOWN))
        self.finish(conn, "deadline")
        self.wait_until(lambda: conn.open_calls == 0)

    def test_ping(self):
        conn = self.play("ping")
        self.wait_until(lambda: "answer" in self.player.reached)
        self.assertGreaterEqual(conn.ping(payload=bytes.fromhex("8899aabbccddeeff")), 0)
        self.finish(conn, "ping")

    def test_drain(self):
        conn = self.play("drain")
        call = conn.start("Echo.Say", b"a", codec="raw", timeout=5)
        self.wait_until(lambda: conn.draining)
        with self.assertRaises(Error) as caught:
            conn.call("Echo.Say", b"b", codec="raw", timeout=5)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNAVAILABLE, Outcome.NOT_SENT))
        self.assertEqual(call.result().value, b"a")
        self.finish(conn, "drain")

    def test_goaway_error(self):
        conn = self.play("goaway-error")
        with self.assertRaises(Error) as caught:
            conn.call("Echo.Say", b"a", codec="raw", timeout=5)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.INTERNAL, Outcome.UNKNOWN))
        self.assertIn("just a test", caught.exception.message)
        self.finish(conn, "goaway-error")

    def test_lost(self):
        conn = self.play("lost")
        with self.assertRaises(Error) as caught:
            conn.call("Echo.Say", b"a", codec="raw", timeout=5)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNAVAILABLE, Outcome.UNKNOWN))
        with self.assertRaises(Error) as caught:
            conn.call("Echo.Say", b"b", codec="raw", timeout=5)
        self.assertEqual(caught.exception.outcome, Outcome.NOT_SENT)

    def test_refused_connection(self):
        with self.assertRaises(Error) as caught:
            self.play("refused-connection")
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNAUTHENTICATED, Outcome.NOT_SENT))
        self.assertEqual(caught.exception.message, "token is not valid")

    def test_first_flight(self):
        self.unary_ok("first-flight", first_flight=True)

    def test_first_flight_cut_at_every_byte(self):
        size = sum(len(s["hex"]) // 2 for s in EXCHANGES["first-flight"]["steps"] if s["from"] == "server")
        for cut in range(size):
            conn = self.play("first-flight", cut=cut, first_flight=True)
            with self.assertRaises(Error) as caught:
                conn.call("Arith.Mul", {"A": 7, "B": 8}, timeout=1)
            self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNAVAILABLE, Outcome.UNKNOWN), cut)
            conn.close()

    def test_refused_first_flight(self):
        conn = self.play("refused-first-flight", first_flight=True)
        with self.assertRaises(Error) as caught:
            conn.call("Arith.Mul", {"A": 7, "B": 8}, timeout=1)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNAUTHENTICATED, Outcome.NOT_SENT))
        self.finish(conn, "refused-first-flight")

    def test_compressed(self):
        conn = self.play("compressed")
        self.assertEqual(conn.call("Blob.Get", b"a", codec="raw", timeout=1).value, b"weft " * 200)
        self.finish(conn, "compressed")


class Script:
    """A server that a test drives by hand."""

    def __init__(self, test, hello=None, **options):
        ours, self.sock = socket.socketpair()
        self.sock.settimeout(10)
        self.source = weft._Source(self.sock)
        self.checksum = False
        self.hello = hello or Hello(
            max_message=1_000_000, max_metadata=1_000, max_calls=2, max_bindings=2, stream_window=1_000,
            compressors=["gzip"],
        )
        test.addCleanup(self.sock.close)
        self.send_raw(wire.PREFACE + wire.pack_frame(Header(wire.HELLO), wire.pack_hello(self.hello)))
        self.conn = weft.Connection(ours, Options(**options))
        test.addCleanup(self.conn.close)
        assert self.source.take(8) == wire.PREFACE
        assert self.source.frame(False)[0].type == wire.HELLO
        self.checksum = options.get("checksum", False)

    def send_raw(self, data):
        self.sock.sendall(data)

    def send(self, header, payload=b""):
        self.send_raw(wire.pack_frame(header, payload, self.checksum))

    def get(self):
        return self.source.frame(self.checksum)


class MisbehaviourTest(unittest.TestCase):
    """What the client does about a server that breaks the rules."""

    def expect_goaway(self, script, code=Code.INTERNAL):
        while True:
            header, payload = script.get()
            if header.type == wire.GOAWAY:
                break
        self.assertEqual(header.code, code, payload)
        with self.assertRaises(EOFError):
            script.get()

    def test_violations_without_a_call(self):
        for what, header, payload in (
            ("short ping", Header(wire.PING), b"1234567"),
            ("second hello", Header(wire.HELLO), b""),
            ("call to a client", Header(wire.REQUEST), b""),
            ("binding at a client", Header(wire.BIND), wire.pack_bind("raw", "A.B")),
            ("unknown type", Header(12), b""),
            ("reply to no call", Header(wire.REPLY, wire.ANSWER), b""),
            ("error for no call", Header(wire.ERROR, wire.ANSWER, 13), b""),
            ("reply to its own call", Header(wire.REPLY), b""),
            ("ack of no goaway", Header(wire.GOAWAY, wire.ACK), b""),
        ):
            with self.subTest(what):
                script = Script(self)
                script.send(header, payload)
                self.expect_goaway(script)

    def test_frame_too_long(self):
        script = Script(self)
        script.send_raw(bytes.fromhex("01400000") + bytes([wire.PING]) + bytes(11))
        self.expect_goaway(script)

    def test_wrong_checksum(self):
        hello = Hello(features=wire.CHECKSUM, max_message=1_000, max_calls=2, max_bindings=2)
        script = Script(self, hello, checksum=True)
        frame = wire.pack_frame(Header(wire.PING), b"12345678", True)
        script.send_raw(frame[:-1] + bytes([frame[-1] ^ 1]))
        self.expect_goaway(script, Code.DATA_LOSS)

    def test_violations_on_a_call(self):
        answer = wire.ANSWER
        for what, frames in (
            ("other generation", [(Header(wire.REPLY, answer, generation=1), b"")]),
            ("reply without answer", [(Header(wire.REPLY), b"")]),
            ("reply in a reply", [(Header(wire.REPLY, answer | wire.MORE), b"x"), (Header(wire.REPLY, answer), b"")]),
            ("empty piece", [(Header(wire.REPLY, answer | wire.MORE), b"")]),
        ):
            with self.subTest(what):
                script = Script(self)
                call = script.conn.start("A.B", b"", codec="raw")
                for header, payload in frames:
                    script.send(header, payload)
                self.expect_goaway(script)
                with self.assertRaises(Error) as caught:
                    call.result()
                self.assertEqual(caught.exception.code, Code.INTERNAL)

    def test_violations_on_a_stream(self):
        answer = wire.ANSWER
        for what, frames in (
            ("end of the answerer", [(Header(wire.DATA, answer | wire.END), b"")]),
            ("no credit", [(Header(wire.DATA, answer), b"x" * 84), (Header(wire.DATA, answer), b"")]),
            ("no credit for empty ones", [(Header(wire.DATA, answer), b"")] * 8),
            ("too much credit", [(Header(wire.CREDIT, answer, arg=2**30), b"")]),
        ):
            with self.subTest(what):
                script = Script(self, stream_window=100)
                script.conn.stream("A.B", codec="raw")
                for header, payload in frames:
                    script.send(header, payload)
                self.expect_goaway(script)

    def test_credit_is_enough_for(self):
        script = Script(self, stream_window=100)
        stream = script.conn.stream("A.B", codec="raw")
        for _ in range(7):  # 7 times 16 is 112: the last one begins with 4
            script.send(Header(wire.DATA, wire.ANSWER))
        script.send(Header(wire.REPLY, wire.ANSWER))
        self.assertEqual(list(stream), [b""] * 7)

    def test_reply_that_cannot_be_used(self):
        flags = wire.ANSWER
        for what, header, payload, code in (
            ("not json", Header(wire.REPLY, flags), b"{", Code.INTERNAL),
            ("too long", Header(wire.REPLY, flags), b"x" * 101, Code.RESOURCE_EXHAUSTED),
            ("metadata", Header(wire.REPLY, flags | wire.META), b"\xff\x00", Code.RESOURCE_EXHAUSTED),
            ("broken metadata", Header(wire.REPLY, flags | wire.META), b"\x05\x00", Code.INTERNAL),
            ("compressor", Header(wire.REPLY, flags | wire.COMPRESSED), b"\x07", Code.INTERNAL),
            ("bomb", Header(wire.REPLY, flags | wire.COMPRESSED), wire.compress(bytes(9_999), ["gzip"], "gzip"),
             Code.RESOURCE_EXHAUSTED),
        ):
            with self.subTest(what):
                script = Script(self, max_message=100, max_metadata=100)
                call = script.conn.start("A.B", 1)
                script.send(header, payload)
                with self.assertRaises(Error) as caught:
                    call.result()
                self.assertEqual((caught.exception.code, caught.exception.outcome), (code, Outcome.EXECUTED))
                again = script.conn.start("A.B", 1)
                script.send(Header(wire.REPLY, flags, generation=1), b"2")
                self.assertEqual(again.result().value, 2)

    def test_chunked_reply_too_long(self):
        script = Script(self, max_message=100)
        call = script.conn.start("A.B", b"", codec="raw")
        script.send(Header(wire.REPLY, wire.ANSWER | wire.MORE), b"x" * 60)
        script.send(Header(wire.CHUNK, wire.ANSWER | wire.MORE), b"x" * 60)
        with self.assertRaises(Error) as caught:
            call.result()
        self.assertEqual(caught.exception.code, Code.RESOURCE_EXHAUSTED)
        self.assertEqual(script.conn.open_calls, 1)  # until the last piece
        script.send(Header(wire.CHUNK, wire.ANSWER), b"x")
        script.send(Header(wire.PING, 0), b"12345678")
        while script.get()[0].type != wire.PING:
            pass
        self.assertEqual(script.conn.open_calls, 0)

    def test_error_that_cannot_be_read(self):
        script = Script(self)
        call = script.conn.start("A.B", b"", codec="raw")
        script.send(Header(wire.ERROR, wire.ANSWER | wire.REFUSED, 99), b"\xff")
        with self.assertRaises(Error) as caught:
            call.result()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.UNKNOWN, Outcome.REFUSED))

    def test_data_that_cannot_be_used(self):
        script = Script(self, max_message=100)
        stream = script.conn.stream("A.B", codec="raw")
        self.assertEqual([script.get()[0].type for _ in range(2)], [wire.BIND, wire.REQUEST])
        script.send(Header(wire.DATA, wire.ANSWER), b"x" * 101)
        with self.assertRaises(Error) as caught:
            stream.recv()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.RESOURCE_EXHAUSTED, Outcome.EXECUTED))
        self.assertEqual(script.get()[0].type, wire.CANCEL)
        self.assertEqual(script.conn.open_calls, 1)

    def test_not_weft(self):
        for said in (b"HTTP/1.1 400 Bad Request\r\n\r\n", wire.PREFACE[:7] + b"\x02"):
            ours, theirs = socket.socketpair()
            theirs.sendall(said)
            with self.assertRaises(Error) as caught:
                weft.Connection(ours, Options())
            self.assertEqual(caught.exception.outcome, Outcome.NOT_SENT)
            theirs.close()

    def test_silent_server(self):
        ours, theirs = socket.socketpair()
        with self.assertRaises(Error) as caught:
            weft.Connection(ours, Options(), timeout=0.05)
        self.assertEqual((caught.exception.code, caught.exception.outcome), (Code.DEADLINE_EXCEEDED, Outcome.NOT_SENT))
        theirs.close()


class LimitTest(unittest.TestCase):
    """The client keeps to what the server's HELLO allows."""

    def refused(self, code, call, outcome=Outcome.NOT_SENT):
        with self.assertRaises(Error) as caught:
            call()
        self.assertEqual((caught.exception.code, caught.exception.outcome), (code, outcome))

    def test_calls(self):
        script = Script(self)
        calls = [script.conn.start("A.B", b"", codec="raw") for _ in range(2)]
        self.refused(Code.RESOURCE_EXHAUSTED, lambda: script.conn.call("A.B", b"", codec="raw"))
        script.send(Header(wire.REPLY, wire.ANSWER, slot=1))
        calls[1].result()
        again = script.conn.start("A.B", b"", codec="raw")
        script.send(Header(wire.REPLY, wire.ANSWER, slot=1, generation=1))
        again.result()

    def test_no_calls(self):
        script = Script(self, Hello())
        self.refused(Code.RESOURCE_EXHAUSTED, lambda: script.conn.call("A.B", b"", codec="raw"))

    def test_sizes_and_names(self):
        conn = Script(self).conn
        self.refused(Code.RESOURCE_EXHAUSTED, lambda: conn.call("A.B", b"x" * 1_000_001, codec="raw"))
        self.refused(Code.RESOURCE_EXHAUSTED, lambda: conn.call("A.B", b"", codec="raw", metadata=[("k", b"x" * 1_000)]))
        self.refused(Code.INVALID_ARGUMENT, lambda: conn.call("A.B", b"", codec="raw", metadata=[("", b"")]))
        self.refused(Code.INVALID_ARGUMENT, lambda: conn.call("A B", b"", codec="raw"))
        self.refused(Code.UNIMPLEMENTED, lambda: conn.call("A.B", b"", codec="x-none"))
        self.refused(Code.INTERNAL, lambda: conn.call("A.B", object()))
        self.refused(Code.DEADLINE_EXCEEDED, lambda: conn.call("A.B", b"", codec="raw", timeout=0))
        self.assertEqual(conn.open_calls, 0)

    def test_codec_missing_at_the_server(self):
        script = Script(self, Hello(max_message=10, max_calls=1, max_bindings=1, codecs=["json"]))
        self.refused(Code.UNIMPLEMENTED, lambda: script.conn.call("A.B", b"", codec="raw"))

    def test_bindings_are_replaced(self):
        script = Script(self)
        numbers = []
        for generation, method in enumerate(("A", "B", "A", "C", "B", "A")):
            call = script.conn.start(method, b"", codec="raw")
            header, payload = script.get()
            if header.type == wire.BIND:
                numbers.append((header.code, wire.unpack_bind(payload)[1]))
                header, _ = script.get()
            script.send(Header(wire.REPLY, wire.ANSWER, slot=header.slot, generation=generation))
            call.result()
        # C takes the place of A, the oldest; then A takes that of B.
        self.assertEqual(numbers, [(0, "A"), (1, "B"), (0, "C"), (1, "A")])

    def test_compressed_request(self):
        script = Script(self, compress=True)
        script.conn.start("A.B", b"weft " * 1_000, codec="raw")
        script.get()
        header, payload = script.get()
        self.assertTrue(header.flags & wire.COMPRESSED)
        self.assertLess(len(payload), 200)
        self.assertEqual(wire.decompress(payload, ["gzip"], 10_000), b"weft " * 1_000)
        script.conn.start("A.B", b"short", codec="raw")
        self.assertEqual(script.get()[1], b"short")

    def test_very_well_compressed_request(self):
        script = Script(self, compress=True)
        script.conn.start("A.B", bytes(900_000), codec="raw")
        script.get()
        header, payload = script.get()
        self.assertTrue(header.flags & wire.COMPRESSED)
        self.assertEqual(wire.decompress(payload, ["gzip"], 900_000), bytes(900_000))

    def test_large_and_small_calls_mix(self):
        script = Script(self)
        large = script.conn.start("A.B", b"x" * 900_000, codec="raw")
        small = script.conn.start("A.B", b"y", codec="raw")
        seen, size = [], 0
        while size < 900_000 or len(seen) < 1:
            header, payload = script.get()
            size += len(payload) if header.type != wire.BIND and header.slot == 0 else 0
            if header.slot == 1:
                seen.append(payload)
                script.send(Header(wire.REPLY, wire.ANSWER, slot=1), b"z")
        script.send(Header(wire.REPLY, wire.ANSWER), b"x")
        self.assertEqual((seen, small.result().value, large.result().value), ([b"y"], b"z", b"x"))

    def test_cancel_of_a_request_that_is_not_sent_whole(self):
        script = Script(self)
        # More than the socket takes while the server does not read.
        worker = threading.Thread(target=lambda: self.refused(
            Code.DEADLINE_EXCEEDED,
            lambda: script.conn.call("A.B", b"x" * 1_000_000, codec="raw", timeout=0.2), Outcome.UNKNOWN))
        worker.start()
        worker.join(10)
        self.assertFalse(worker.is_alive())
        sizes = []
        while True:
            header, payload = script.get()
            if header.type == wire.CANCEL:
                break
            sizes.append(len(payload))
        self.assertEqual(header.code, Code.DEADLINE_EXCEEDED)
        self.assertLess(sum(sizes), 1_000_000)
        script.send(Header(wire.ERROR, wire.ANSWER | wire.REFUSED, 4), wire.pack_status(wire.Status("late")))
        script.send(Header(wire.PING), b"12345678")
        self.assertEqual(script.get()[0].type, wire.PING)  # and no piece of the message
        self.assertEqual(script.conn.open_calls, 0)

    def test_stream_waits_for_credit(self):
        script = Script(self)
        stream = script.conn.stream("A.B", codec="raw", timeout=0.1)
        stream.send(b"x" * 984)  # 1,000 with its 16
        self.refused(Code.DEADLINE_EXCEEDED, lambda: stream.send(b""), Outcome.UNKNOWN)
        self.assertEqual([script.get()[0].type for _ in range(4)], [wire.BIND, wire.REQUEST, wire.DATA, wire.CANCEL])

    def test_many_threads(self):
        hello = Hello(max_message=1_000_000, max_metadata=1_000, max_calls=64, max_bindings=8)
        script = Script(self, hello)

        def serve():
            try:
                while True:
                    header, payload = script.get()
                    if header.type == wire.REQUEST:
                        script.send(Header(wire.REPLY, wire.ANSWER, 0, header.slot, header.generation), payload[::-1])
            except (EOFError, OSError):
                pass

        server = threading.Thread(target=serve)
        server.start()
        wrong = []

        def work(n):
            for i in range(50):
                body = b"%d-%d" % (n, i)
                if script.conn.call("A.B", body, codec="raw").value != body[::-1]:
                    wrong.append(body)

        workers = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
        self.assertEqual((wrong, script.conn.open_calls), ([], 0))
        script.conn.close()
        server.join(5)


if __name__ == "__main__":
    unittest.main()
