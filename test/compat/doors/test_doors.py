"""Clients of HTTP and JSON-RPC in Python, JavaScript, TypeScript and PHP against the doors of a weft server, and a weft client against
servers of JSON-RPC in Python and JavaScript."""

import json
import os
import pathlib
import socket
import socketserver
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

import jsonrpc_requests
import jsonrpcclient
import jsonrpclib
import jsonrpclib.SimpleJSONRPCServer
import openapi_spec_validator
import websockets
import websockets.sync.client

HERE = pathlib.Path(__file__).resolve().parent


class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        program = pathlib.Path(cls.folder.name) / "server"
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "server", check=True)
        cls.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.address = cls.process.stdout.readline().strip()
        cls.url = "http://" + cls.address

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        cls.process.wait(30)
        cls.process.stdout.close()
        cls.folder.cleanup()

    def get(self, path, data=None, kind="application/json", verb=None):
        request = urllib.request.Request(self.url + path, data=data, method=verb)
        if data is not None:
            request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def test_http(self):
        self.assertEqual(self.get("/Arith/Mul", b'{"a":7,"b":8}'), (200, 56))
        self.assertEqual(self.get("/mul/7/8"), (200, 56))
        self.assertEqual(self.get("/div?a=9", b"2"), (200, 4.5))
        status, problem = self.get("/Arith/Div", b'{"a":1}')
        self.assertEqual((status, problem["code"], problem["reason"], problem["outcome"]), (400, "InvalidArgument", "ZERO", "Executed"))
        self.assertEqual(self.get("/trees/oak", b'{"next":[{"name":"leaf"}]}', verb="PUT"), (200, {"name": "oak", "next": [{"name": "leaf"}]}))
        self.assertEqual(self.get("/v1/forests/7/trees/oak", b"{}", verb="PUT"), (200, {"name": "forests/7/trees/oak"}))

    def test_openapi_document_is_valid(self):
        status, document = self.get("/openapi.json")
        self.assertEqual(status, 200)
        openapi_spec_validator.validate(document)
        for path in ("/Arith/Mul", "/mul/{a}/{b}", "/div", "/trees/{name}", "/v1/forests/{name.1}/trees/{name.2}", "/Bytes/Echo", "/Tree/Count", "/Tree/Sum"):
            self.assertIn(path, document["paths"])
        self.assertEqual(document["paths"]["/Arith/Mul"]["get"]["summary"], "Mul multiplies.")

    def test_jsonrpcclient(self):
        def post(value):
            return self.get("/rpc", json.dumps(value).encode())[1]

        answer = jsonrpcclient.parse(post(jsonrpcclient.request("Arith.Mul", params=(7, 8))))
        self.assertEqual(answer, jsonrpcclient.Ok(56, answer.id))
        answers = list(jsonrpcclient.parse(post([jsonrpcclient.request("Arith.Mul", params={"a": n, "b": 2}) for n in range(20)])))
        self.assertEqual(sorted(a.result for a in answers), [2 * n for n in range(20)])
        error = jsonrpcclient.parse(post(jsonrpcclient.request("Arith.None")))
        self.assertEqual((error.code, error.message), (-32601, "Method not found"))
        error = jsonrpcclient.parse(post(jsonrpcclient.request("Arith.Div", params={"a": 1})))
        self.assertEqual((error.code, error.data["reason"]), (-32003, "ZERO"))

    def test_jsonrpclib(self):
        server = jsonrpclib.ServerProxy(self.url + "/rpc")
        self.assertEqual(server.Arith.Mul(7, 8), 56)
        self.assertEqual(server.Arith.Mul(a=7, b=8), 56)
        batch = jsonrpclib.MultiCall(server)
        for n in range(5):
            batch.Arith.Mul(n, n)
        self.assertEqual(sorted(batch()), [0, 1, 4, 9, 16])
        with self.assertRaises(jsonrpclib.ProtocolError):
            server.Arith.Div(1, 0)
        server("close")()

    def test_jsonrpc_requests(self):
        server = jsonrpc_requests.Server(self.url + "/rpc")
        self.assertEqual(server.send_request("Arith.Mul", False, (7, 8)), 56)
        with self.assertRaises(jsonrpc_requests.ProtocolError):
            server.send_request("Arith.Div", False, (1, 0))
        server.session.close()

    def test_jsonrpc_over_tcp(self):
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=60) as sock:
            lines = sock.makefile("r")
            for n in range(50):
                sock.sendall(jsonrpcclient.request_json("Arith.Mul", params=[n, 3]).encode())
            results = {jsonrpcclient.parse_json(lines.readline()).result for _ in range(50)}
            lines.close()
        self.assertEqual(results, {3 * n for n in range(50)})

    def socket(self, path, **options):
        return websockets.sync.client.connect("ws://" + self.address + path, compression="deflate", **options)

    def test_jsonrpc_over_websocket(self):
        with self.socket("/rpc", subprotocols=["jsonrpc"], additional_headers={"Weft-Meta-Color": "red"}) as ws:
            self.assertEqual(ws.subprotocol, "jsonrpc")
            for n in range(50):
                ws.send(jsonrpcclient.request_json("Arith.Mul", params=[n, 3]))
            self.assertEqual({jsonrpcclient.parse_json(ws.recv(60)).result for _ in range(50)}, {3 * n for n in range(50)})
            ws.send(json.dumps([jsonrpcclient.request("Arith.Mul", params={"a": n, "b": 2}) for n in range(20)]))
            self.assertEqual(sorted(a.result for a in jsonrpcclient.parse_json(ws.recv(60))), [2 * n for n in range(20)])
            ws.send(jsonrpcclient.notification_json("Arith.Mul", params=[1, 2]))
            ws.send(["{", '"broken'])  # in two frames
            self.assertEqual(jsonrpcclient.parse_json(ws.recv(60)).code, -32700)
            ws.send(jsonrpcclient.request_json("Arith.Div", params={"a": 1}))
            self.assertEqual(jsonrpcclient.parse_json(ws.recv(60)).data["reason"], "ZERO")
            self.assertTrue(ws.ping().wait(60))

    def test_streams_over_websocket(self):
        with self.socket("/Tree/Count") as ws:
            ws.send('{"a":3}')
            self.assertEqual([json.loads(m)["result"]["name"] for m in ws], ["0", "1", "2"])
            self.assertEqual(ws.close_code, 1000)
        with self.socket("/Tree/Count?a=2") as ws:
            self.assertEqual([json.loads(m)["result"]["name"] for m in ws], ["0", "1"])
        with self.socket("/Tree/Sum") as ws:
            for n in range(100):
                ws.send(json.dumps({"a": n}))
            ws.send("")
            self.assertEqual([json.loads(m) for m in ws], [{"result": 4950}])
        with self.socket("/Tree/Talk") as ws:
            for name in ("oak", "x" * 300000):
                ws.send(json.dumps({"name": name}))
                self.assertEqual(json.loads(ws.recv(60)), {"result": {"name": name}})
            ws.send("{}")
            self.assertEqual(json.loads(ws.recv(60))["error"]["reason"], "NAMELESS")
            with self.assertRaises(websockets.ConnectionClosedError) as closed:
                ws.recv(60)
            self.assertEqual((closed.exception.rcvd.code, closed.exception.rcvd.reason), (4003, "a node without a name"))

    def test_websocket_of_another_origin(self):
        for path in ("/rpc", "/Tree/Talk"):
            with self.assertRaises(websockets.InvalidStatus) as refused:
                with self.socket(path, origin="https://evil.example"):
                    pass
            self.assertEqual(refused.exception.response.status_code, 403)
            with self.socket(path, origin=self.url):
                pass

    def test_node(self):
        environment = dict(os.environ)
        done = subprocess.run(["node", str(HERE / "client.js"), self.address], env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_client_from_openapi_document(self):
        modules = pathlib.Path(os.environ["NODE_PATH"])
        folder = pathlib.Path(self.folder.name) / "openapi"
        folder.mkdir()
        (folder / "node_modules").symlink_to(modules)
        (folder / "client.mts").write_text((HERE / "client.mts").read_text())

        def node(*words):
            done = subprocess.run(["node", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        node(modules / "openapi-typescript" / "bin" / "cli.js", self.url + "/openapi.json", "-o", "paths.d.ts")
        node(modules / "typescript" / "bin" / "tsc", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "client.mts")
        node("client.mjs", self.address)

    def test_php(self):
        done = subprocess.run(["php", str(HERE / "client.php"), self.address], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class PelixServer(socketserver.ThreadingMixIn, jsonrpclib.SimpleJSONRPCServer.SimpleJSONRPCServer):
    """That of jsonrpclib-pelix, which closes each connection behind an answer, as HTTP/1.0 does."""

    daemon_threads = True
    request_queue_size = 128  # of 5, the default, the system drops connections that come together, after the client has seen them made


class Servers(unittest.TestCase):
    """A weft client calls servers of other libraries."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = str(pathlib.Path(cls.folder.name) / "client")
        subprocess.run(["go", "build", "-o", cls.program, "."], cwd=HERE / "client", check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def call(self, port):
        done = subprocess.run([self.program, f"jsonrpc+http://127.0.0.1:{port}"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_jsonrpclib(self):
        notes = []

        def mul(a, b):
            return a * b

        def div(a, b):
            return jsonrpclib.jsonrpc.Fault(7, "division by zero")

        server = PelixServer(("127.0.0.1", 0), logRequests=False)
        for name, function in (("mul", mul), ("Arith.Mul", mul), ("div", div), ("note", notes.append)):
            server.register_function(function, name)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            lines = self.call(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        self.assertEqual(lines[0], "56 63 70")
        self.assertEqual(lines[2], "shop.none -32601 Unimplemented Refused")
        self.assertEqual(notes, ["a line"] * 5)

    def test_jayson(self):
        server = subprocess.Popen(["node", str(HERE / "server.js")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            lines = self.call(server.stdout.readline().strip())
        finally:
            notes, _ = server.communicate(timeout=60)
        self.assertEqual(lines, ["56 63 70", "shop.div 7 Unknown Executed", "shop.none -32601 Unimplemented Refused"])
        self.assertEqual(notes.splitlines(), ["a line"] * 5)


if __name__ == "__main__":
    unittest.main()
