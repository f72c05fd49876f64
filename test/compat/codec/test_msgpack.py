"""Python's msgpack reads what weft packs, and packs what weft reads: TestPython holds weft to the same files."""

import importlib.util
import json
import pathlib
import unittest

VECTORS = pathlib.Path(__file__).resolve().parents[3] / "codec" / "internal" / "interop" / "testdata"


def script():
    spec = importlib.util.spec_from_file_location("vectors", VECTORS / "python.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class MessagePack(unittest.TestCase):
    maxDiff = None

    def test_weft_reads_what_python_packs(self):
        self.assertEqual(script().packed(), json.loads((VECTORS / "python.json").read_text()))

    def test_python_reads_what_weft_packs(self):
        vectors = script()
        self.assertEqual(vectors.unpacked(), vectors.VALUES)


if __name__ == "__main__":
    unittest.main()
