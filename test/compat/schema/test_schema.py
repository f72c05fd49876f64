"""The schema of a weft server, and those in the golden files, given to the tools of other languages."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import google.protobuf.json_format
import grpc_tools
import grpc_tools.protoc
import jsonschema
import openapi_spec_validator

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parents[2] / "schema" / "export" / "testdata"
INCLUDE = str(pathlib.Path(grpc_tools.__file__).parent / "_proto")


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.holder.name)
        program = cls.root / "server"
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "server", check=True)
        cls.process = subprocess.Popen([str(program), str(cls.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.url = "http://" + cls.process.stdout.readline().strip()
        cls.folders = [cls.root / "Shop", cls.root / "stock.Apis"] + sorted(f for f in GOLDEN.iterdir() if f.name != "fuzz")

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        cls.process.wait(30)
        cls.process.stdout.close()
        cls.holder.cleanup()

    def post(self, path, body, kind="application/json"):
        request = urllib.request.Request(self.url + path, data=body, headers={"Content-Type": kind, "Accept": kind})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def call(self, path):
        return json.loads(self.post(path, b"{}"))

    def test_proto_compiles_and_reads_what_weft_writes(self):
        for folder in self.folders:
            files = sorted(str(f.relative_to(folder)) for f in folder.rglob("*.proto"))
            self.assertTrue(files, folder)
            out = tempfile.mkdtemp(dir=self.root)
            self.assertEqual(grpc_tools.protoc.main(["protoc", f"-I{folder}", f"-I{INCLUDE}", f"--python_out={out}", f"--grpc_python_out={out}", *files]), 0, folder)
            if folder.name == "Shop":
                shop = out
        sys.path.insert(0, shop)
        self.addCleanup(sys.path.remove, shop)
        import schema_pb2

        body = (self.root / "order.bin").read_bytes()
        order = schema_pb2.Order.FromString(body)
        self.assertEqual((order.id, order.limit, order.small, order.flag, order.level, order.Odd), (1 << 40, 7, -8, True, 3, "o"))
        self.assertEqual((order.lines[0].article, order.lines[0].pieces, order.lines[0].price, order.by["k"].article), ("a", -3, 9, "b"))
        self.assertEqual((order.counts[-1], order.took.ToMilliseconds(), order.at.ToNanoseconds(), order.place.y), (5, 1500, 1_700_000_000_000_000_005, -2))
        self.assertEqual((order.blob, order.next.id), (b"\xff\x00", 2))
        self.assertEqual(google.protobuf.json_format.MessageToDict(order.loose), {"a": [1.5, None]})
        self.assertEqual((list(order.grid), order.code, order.addr, order.whole, order.price), ([0, -1], b"\x01\x02\x03", b"\x0a\x00\x00\x01", "-12", b"\xf4\x03"))
        self.assertFalse(order.next.HasField("limit"))
        # Nothing came that the file does not have, so that the same comes out, and goes through the server.
        self.assertEqual(len(order.SerializeToString()), len(body))
        again = schema_pb2.Order.FromString(self.post("/Shop/Echo", order.SerializeToString(), "application/protobuf"))
        self.assertEqual(again, order)
        self.assertEqual(google.protobuf.json_format.MessageToDict(order)["sizes-of-it"], "o")
        method = schema_pb2.DESCRIPTOR.services_by_name["Shop"].methods_by_name["Full"]
        self.assertEqual(method.GetOptions().idempotency_level, 2)

    def test_json_schema_takes_the_values(self):
        for folder in self.folders:
            jsonschema.Draft202012Validator.check_schema(json.loads((folder / "jsonschema.json").read_text()))
        document = json.loads((self.root / "Shop" / "jsonschema.json").read_text())

        def wrong(value, name):
            ref = {"$schema": document["$schema"], "$ref": f"#/$defs/{name}", "$defs": document["$defs"]}
            return [e.json_path for e in jsonschema.Draft202012Validator(ref, format_checker=jsonschema.FormatChecker()).iter_errors(value)]

        for method in ("Full", "Empty"):
            value = self.call(f"/Shop/{method}")
            self.assertEqual(set(value) | {"by"}, set(document["$defs"]["main.Order"]["properties"]))
            self.assertEqual(wrong(value, f"Shop.{method}.reply"), [])
            self.assertEqual(wrong(value, "Shop.Echo.request"), [])
            value["id"], value["at"], value["lines"] = "1", "now", [{"pieces": 0.5}]
            self.assertEqual(sorted(wrong(value, "Shop.Echo.request")), ["$.at", "$.id", "$.lines[0]"])
        api = {"name": "a", "methods": [{"requestStreaming": True, "options": [{"name": "o"}]}], "sourceContext": {"fileName": "f"}, "syntax": "SYNTAX_PROTO3"}
        document = json.loads((self.root / "stock.Apis" / "jsonschema.json").read_text())
        self.assertEqual(json.loads(self.post("/stock.Apis/Echo", json.dumps(api).encode())), api)
        self.assertEqual(wrong(api, "stock.Apis.Echo.reply"), [])
        self.assertEqual(wrong({"syntax": "PROTO3"}, "stock.Apis.Echo.reply"), ["$.syntax"])

    def test_openapi_is_valid(self):
        for folder in self.folders:
            openapi_spec_validator.validate(json.loads((folder / "openapi.json").read_text()))
        document = json.loads((self.root / "Shop" / "openapi.json").read_text())
        self.assertEqual(sorted(document["paths"]), [f"/Shop/{m}" for m in ("Add", "Echo", "Empty", "Full", "Many")])

    def test_typescript_checks(self):
        compiler = pathlib.Path(os.environ["NODE_PATH"]) / "typescript" / "bin" / "tsc"
        files = [str(folder / "schema.ts") for folder in self.folders]
        use = self.root / "use.ts"
        lines = ['import type { Order, Shop } from "./Shop/schema";']
        for method in ("Full", "Empty"):
            lines.append(f"export const {method}: Order = {json.dumps(self.call('/Shop/' + method))};")
        lines += [
            "export async function use(shop: Shop): Promise<number> {",
            "  const order = await shop.Echo(Full);",
            "  for await (const one of shop.Many({ article: '', pieces: 1, price: 2 })) order.next = one;",
            "  // @ts-expect-error",
            "  const wrong: string = order.id;",
            "  // @ts-expect-error",
            "  order.lines = [{ article: 1 }];",
            "  return (order.lines?.[0]?.pieces ?? 0) + wrong.length;",
            "}",
        ]
        use.write_text("\n".join(lines))
        done = subprocess.run(["node", str(compiler), "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", str(use), *files], cwd=self.root, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_python_checks(self):
        files = []
        for folder in self.folders:
            module = self.root / ("types_" + folder.name.replace(".", "_") + ".py")
            module.write_text((folder / "schema.py").read_text())
            files.append(str(module))
            spec = importlib.util.spec_from_file_location(module.stem, module)
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        lines = ["import types_Shop"]
        for method in ("Full", "Empty"):
            lines.append(f"{method}: types_Shop.Order = {self.call('/Shop/' + method)!r}")
        lines += [
            "def use(shop: types_Shop.Shop) -> int:",
            "    order = shop.Echo(Full)",
            "    for one in shop.Many({'article': '', 'pieces': 1, 'price': 2}):",
            "        order['next'] = one",
            "    wrong: str = order['id']  # type: ignore[assignment]",
            "    return order['id'] + len(wrong)",
        ]
        use = self.root / "use.py"
        use.write_text("\n".join(lines) + "\n")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.root / "mypy"), str(use), *files], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
