"""Apache Thrift's libraries for Python and Node.js against the program of examples/thrift, that for Python
in both directions.

The code is generated from shop.thrift, of which "weft generate" has made the code of the program. The description that
the program prints of itself is compiled for other languages too.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from thrift.Thrift import TApplicationException
from thrift.TMultiplexedProcessor import TMultiplexedProcessor
from thrift.protocol import TBinaryProtocol, TCompactProtocol, THeaderProtocol, TJSONProtocol, TMultiplexedProtocol
from thrift.server import THttpServer, TServer
from thrift.transport import THttpClient, TSocket, TTransport

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[2] / "examples" / "thrift"
PATIENCE = 60_000  # milliseconds


class Dialect:
    def __init__(self, framing, protocol):
        self.framing, self.protocol = framing, protocol

    def __str__(self):
        return f"{self.framing} {self.protocol}"

    def transport(self):
        """The factory of transports."""
        if self.framing == "framed":
            return TTransport.TFramedTransportFactory()
        if self.framing == "unframed":
            return TTransport.TBufferedTransportFactory()
        return TTransport.TTransportFactoryBase()

    def factory(self):
        """The factory of protocols."""
        if self.framing == "theader":
            kind = THeaderProtocol.THeaderSubprotocolID
            return THeaderProtocol.THeaderProtocolFactory(default_protocol=kind.COMPACT if self.protocol == "compact" else kind.BINARY)
        if self.protocol == "compact":
            return TCompactProtocol.TCompactProtocolFactory()
        if self.protocol == "json":
            return TJSONProtocol.TJSONProtocolFactory()
        return TBinaryProtocol.TBinaryProtocolFactory(strictRead=False, strictWrite=self.protocol != "old")


DIALECTS = [
    Dialect("framed", "binary"),
    Dialect("framed", "old"),
    Dialect("framed", "compact"),
    Dialect("framed", "json"),
    Dialect("unframed", "binary"),
    Dialect("unframed", "old"),
    Dialect("unframed", "compact"),
    Dialect("unframed", "json"),
    Dialect("theader", "binary"),
    Dialect("theader", "compact"),
]


class ThriftTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "program")
        subprocess.run(["go", "build", "-o", cls.program, "."], cwd=EXAMPLE, check=True)
        described = os.path.join(cls.folder.name, "described.thrift")
        with open(described, "wb") as f:
            subprocess.run([cls.program, "-idl"], stdout=f, check=True)
        # Other languages have words of their own that are no names.
        for language in ("py", "cpp", "java", "go", "rb", "php", "js:node,es6", "netstd", "rs"):
            for name, idl in (("", str(EXAMPLE / "shop.thrift")), ("described-", described)):
                out = os.path.join(cls.folder.name, name + language.split(":")[0])
                os.mkdir(out)
                subprocess.run(["thrift", "-r", "--gen", language, "-out", out, idl], check=True)
        sys.path.insert(0, os.path.join(cls.folder.name, "py"))
        import shop.Shop
        import shop.ttypes

        cls.shop, cls.types = shop.Shop, shop.ttypes
        cls.server = subprocess.Popen([cls.program, "-serve"], stdout=subprocess.PIPE, text=True)
        cls.address = cls.server.stdout.readline().split()[-1]

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()
        cls.folder.cleanup()

    def order(self):
        line = self.types.Line
        return self.types.Order(
            id=-1 << 63, name="caf\u00e9", price=-0.25, paid=True, picture=bytes(range(256)), lines=[line("a", -1), line("b", 2)] * 10,
            tags={"x", "y"}, notes={"k": "v", "": ""}, parent=self.types.Order(id=1, lines=[], tags=set(), notes={}, name="", price=0.0, paid=False, picture=b"", marks={}),
            gift=False, state=self.types.OrderState.SENT, payment=self.types.Payment(cents=-5), marks={1: {2, 3}, -1: set()})  # fmt: skip

    def exercise(self, client):
        for n in range(20):
            self.assertEqual(client.add(n, -7), n - 7)
        self.assertEqual(client.echo(self.order()), self.order())
        self.assertEqual(client.find(7).name, "seven")
        with self.assertRaises(self.types.NotFound) as caught:
            client.find(8)
        self.assertEqual(caught.exception.id, 8)
        with self.assertRaises(TApplicationException) as caught:
            client.find(-1)
        self.assertEqual(caught.exception.message, "InvalidArgument: the number -1 is negative")
        self.assertEqual(client.states(), {self.types.OrderState.OPEN, self.types.OrderState.SENT})
        with self.assertRaises(TApplicationException) as caught:
            client.echo(self.types.Order(payment=self.types.Payment(card="x", cents=1)))
        self.assertIn("set exactly one", caught.exception.message)
        client.log("from Python")
        client.ping()
        self.assertEqual(self.server.stdout.readline(), "from Python\n")

    def test_client(self):
        host, port = self.address.rsplit(":", 1)
        for dialect in DIALECTS:
            for multiplexed in (False, True):
                with self.subTest(dialect=str(dialect), multiplexed=multiplexed):
                    socket = TSocket.TSocket(host, int(port))
                    socket.setTimeout(PATIENCE)
                    transport = dialect.transport().getTransport(socket)
                    protocol = dialect.factory().getProtocol(transport)
                    if multiplexed:
                        protocol = TMultiplexedProtocol.TMultiplexedProtocol(protocol, "Shop")
                    transport.open()
                    self.exercise(self.shop.Client(protocol))
                    transport.close()

    def test_http_client(self):
        for dialect in DIALECTS:
            if dialect.framing == "theader":
                continue
            for multiplexed in (False, True):
                with self.subTest(dialect=str(dialect), multiplexed=multiplexed):
                    http = THttpClient.THttpClient(f"http://{self.address}/thrift")
                    http.setTimeout(PATIENCE)
                    transport = dialect.transport().getTransport(http)
                    protocol = dialect.factory().getProtocol(transport)
                    if multiplexed:
                        protocol = TMultiplexedProtocol.TMultiplexedProtocol(protocol, "Shop")
                    transport.open()
                    self.exercise(self.shop.Client(protocol))
                    transport.close()

    def test_node(self):
        generated = os.path.join(self.folder.name, "js")
        for dialect in DIALECTS:
            if dialect.framing == "theader" or dialect.protocol == "old":
                continue  # which the library does not have
            with self.subTest(dialect=str(dialect)):
                done = subprocess.run(
                    ["node", str(HERE / "client.js"), generated, self.address, dialect.framing, dialect.protocol],
                    capture_output=True, text=True, timeout=PATIENCE / 1000)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def handler(self, told):
        """A handler of the service, which notes what it is told."""
        types = self.types

        class Handler:
            def add(self, a, b):
                return a + b

            def echo(self, order):
                return order

            def find(self, id):
                if id == 7:
                    return types.Order(id=7, name="seven")
                raise types.NotFound(id)

            def states(self):
                return {types.OrderState.OPEN}

            def log(self, line):
                told.append(line)

            def ping(self):
                pass

        return Handler()

    def processor(self, told, multiplexed):
        processor = self.shop.Processor(self.handler(told))
        if not multiplexed:
            return processor
        many = TMultiplexedProcessor()
        many.registerProcessor("Shop", processor)
        return many

    def test_http_server(self):
        told = []
        dialects = [d for d in DIALECTS if d.framing == "unframed"]
        for dialect in dialects:
            for multiplexed in (False, True):
                with self.subTest(dialect=str(dialect), multiplexed=multiplexed):
                    server = THttpServer.THttpServer(self.processor(told, multiplexed), ("127.0.0.1", 0), dialect.factory())
                    server.httpd.RequestHandlerClass.log_message = lambda *_: None
                    thread = threading.Thread(target=server.serve)
                    thread.start()
                    port = server.httpd.server_address[1]
                    self.call(f"thrift+http://127.0.0.1:{port}/any", dialect, multiplexed)
                    server.httpd.shutdown()
                    thread.join()
                    server.httpd.server_close()
        self.assertEqual(told, ["by thrift+http"] * 2 * len(dialects))

    def test_server(self):
        told = []
        for dialect in DIALECTS:
            for multiplexed in (False, True):
                with self.subTest(dialect=str(dialect), multiplexed=multiplexed):
                    self.serve(self.processor(told, multiplexed), dialect, multiplexed)
        self.assertEqual(told, ["by thrift"] * 2 * len(DIALECTS))

    def test_node_server(self):
        generated = os.path.join(self.folder.name, "js")
        for dialect in DIALECTS:
            if dialect.framing == "theader" or dialect.protocol == "old":
                continue  # which the library does not have
            with self.subTest(dialect=str(dialect)):
                server = subprocess.Popen(["node", str(HERE / "server.js"), generated, dialect.framing, dialect.protocol], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                timer = threading.Timer(PATIENCE / 1000, server.kill)  # ends the lines below
                timer.start()
                try:
                    self.call(f"thrift://127.0.0.1:{server.stdout.readline().strip()}", dialect, False)
                    self.assertEqual(server.stdout.readline(), "by thrift\n")
                finally:
                    timer.cancel()
                    server.stdin.close()
                    server.wait(PATIENCE / 1000)
                    server.stdout.close()

    def serve(self, processor, dialect, multiplexed):
        """Serves one connection, which the program makes."""
        socket = TSocket.TServerSocket("127.0.0.1", 0)
        socket.listen()
        port = socket.handle.getsockname()[1]
        server = TServer.TSimpleServer(processor, socket, dialect.transport(), dialect.factory())

        thread = threading.Thread(target=lambda: self.one(server, socket))
        thread.start()
        self.call(f"thrift://127.0.0.1:{port}", dialect, multiplexed)
        thread.join()
        socket.close()

    def call(self, address, dialect, multiplexed):
        """Has the program call a server."""
        flags = ["-multiplexed"] if multiplexed else []
        done = subprocess.run(
            [self.program, "-call", address, "-framing", dialect.framing, "-protocol", dialect.protocol, *flags],
            capture_output=True, text=True, timeout=PATIENCE / 1000)  # fmt: skip
        self.assertEqual(done.stdout, f"by {address.split(':')[0]}: 15, seven, no order 8\n", done.stderr)

    @staticmethod
    def one(server, socket):
        client = socket.accept()
        itrans = server.inputTransportFactory.getTransport(client)
        iprot = server.inputProtocolFactory.getProtocol(itrans)
        if isinstance(server.inputProtocolFactory, THeaderProtocol.THeaderProtocolFactory):
            otrans, oprot = None, iprot
        else:
            otrans = server.outputTransportFactory.getTransport(client)
            oprot = server.outputProtocolFactory.getProtocol(otrans)
        try:
            while True:
                server.processor.process(iprot, oprot)
        except TTransport.TTransportException:
            pass
        itrans.close()
        if otrans:
            otrans.close()


if __name__ == "__main__":
    unittest.main()
