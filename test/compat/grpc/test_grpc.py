"""Calls the server of examples/grpc with grpcio, the implementation of gRPC in C and Python.

The messages have one field, a text with the number 1, so that no generated code is needed.
"""

import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "grpc"
PATIENCE = 60  # seconds


def encode(text):
    """A message with a text of any length."""
    b = text.encode()
    n, size = len(b), b""
    while n > 127:
        size += bytes([n & 127 | 128])
        n >>= 7
    return b"\x0a" + size + bytes([n]) + b if b else b""


def decode(body):
    """The text of a message."""
    if not body:
        return ""
    at, size, shift = 1, 0, 0
    while True:
        size |= (body[at] & 127) << shift
        shift += 7
        at += 1
        if body[at - 1] < 128:
            return body[at : at + size].decode()


class GreeterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        program = os.path.join(cls.folder.name, "server")
        subprocess.run(["go", "build", "-o", program, "."], cwd=EXAMPLE, check=True)
        cls.server = subprocess.Popen([program, "-serve"], stdout=subprocess.PIPE, text=True)
        cls.address = cls.server.stdout.readline().split()[-1]
        cls.channel = grpc.insecure_channel(cls.address)
        cls.hello = cls.channel.unary_unary("/greeter.Greeter/Hello", encode, decode)
        cls.spell = cls.channel.unary_stream("/greeter.Greeter/Spell", encode, decode)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()
        cls.folder.cleanup()

    def test_unary(self):
        for n in (1, 100, 20_000, 1_000_000):
            self.assertEqual(self.hello("x" * n, timeout=PATIENCE), f"Hello, {'x' * n}!")

    def test_stream(self):
        self.assertEqual(list(self.spell("Ada Lovelace", timeout=PATIENCE)), list("Ada Lovelace"))

    def test_error(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.hello("", timeout=PATIENCE)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(caught.exception.details(), "the name is empty")

    def test_unknown_method(self):
        missing = self.channel.unary_unary("/greeter.Greeter/Missing", encode, decode)
        with self.assertRaises(grpc.RpcError) as caught:
            missing("x", timeout=PATIENCE)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_many_callers(self):
        wrong = []

        def call(name):
            for n in range(50):
                if self.hello(f"{name} {n}", timeout=PATIENCE) != f"Hello, {name} {n}!":
                    wrong.append((name, n))

        threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_metadata(self):
        reply, call = self.hello.with_call("Ada", timeout=PATIENCE, metadata=(("trace", "4711"), ("raw-bin", b"\x00\xff")))
        self.assertEqual(reply, "Hello, Ada!")
        self.assertEqual(call.code(), grpc.StatusCode.OK)

    def test_cancel(self):
        call = self.spell("x" * 500_000, timeout=PATIENCE)
        next(call)
        call.cancel()
        self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(self.hello("after", timeout=PATIENCE), "Hello, after!")

    def test_reflection(self):
        known = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertLessEqual({"Arith", "greeter.Greeter"}, set(known.get_services()))
        method = DescriptorPool(known).FindServiceByName("Arith").FindMethodByName("Multiply")
        args = message_factory.GetMessageClass(method.input_type)
        product = message_factory.GetMessageClass(method.output_type)
        multiply = self.channel.unary_unary("/Arith/Multiply", args.SerializeToString, product.FromString)
        self.assertEqual(multiply(args(a=6, b=7), timeout=PATIENCE).c, 42)


if __name__ == "__main__":
    unittest.main()
