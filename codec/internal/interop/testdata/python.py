"""Packs values with Python's msgpack for TestPython, and reads what weft packed.

    pip install msgpack
    go test -run TestPython -update ..
    python3 python.py

It writes python.json, which TestPython reads, and fails unless weft.json, which
TestPython holds to what weft writes, has the same values. The first command writes
weft.json. test/compat/codec holds both files to Python's msgpack in every run of the tests.
"""

import datetime
import json
import pathlib

import msgpack

HERE = pathlib.Path(__file__).parent
AT = datetime.datetime(2026, 2, 3, 4, 5, 6, 789000, tzinfo=datetime.timezone.utc)

VALUES = {
    "shape": {
        "name": "square",
        "Color": 7,
        "Corners": [{"X": 1, "Y": -1}, {"X": 1 << 20, "Y": -(1 << 31)}],
        "Center": {"X": 0, "Y": 0},
        "Middle": None,
        "Within": {"none": None},
        "ByID": {1 << 40: "large"},
        "Grid": [[1.0, 0.5], [-2.0, 0.0]],
        "Any": ["x", 1, -1, 1.5, None, True, b"\x00\xff", {"k": "v"}],
        "At": AT,
        "Took": 3600 * 10**9,
        "Raw": b"\x00\xff",
        "Sum": b"\x01\x02\x03",
        "Flags": [True, False],
        "Big": (1 << 64) - 1,
        "Small": -(1 << 63),
        "Ratio": 0.1,
    },
    "integers": [0, 1, 127, 128, 255, 256, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1,
                 -1, -32, -33, -128, -129, -32768, -32769, -(1 << 31), -(1 << 31) - 1, -(1 << 63)],
    "texts": ["", "é" * 15, "x" * 32, "x" * 255, "x" * 256],
    "bytes": [b"", b"x" * 255, b"x" * 256],
    "times": [AT, datetime.datetime(1969, 12, 31, tzinfo=datetime.timezone.utc),
              datetime.datetime(2600, 1, 1, tzinfo=datetime.timezone.utc),
              datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)],
    "nested": [[[[[[]]]]], {"a": {"b": {"c": [{}]}}}],
}


def packed():
    """The values as Python's msgpack packs them, in hexadecimal."""
    return {name: msgpack.packb(value, datetime=True).hex() for name, value in VALUES.items()}


def unpacked():
    """The values as Python's msgpack reads them from what weft has packed."""
    weft = json.loads((HERE / "weft.json").read_text())
    return {name: msgpack.unpackb(bytes.fromhex(body), timestamp=3, strict_map_key=False) for name, body in weft.items()}


def main():
    (HERE / "python.json").write_text(json.dumps(packed(), indent=1) + "\n")
    got = unpacked()
    for name, value in VALUES.items():
        if got[name] != value:
            raise SystemExit(f"{name}: weft packed {got[name]!r:.500}, want {value!r:.500}")
    print(f"msgpack {msgpack.version} and weft agree on {len(VALUES)} values")


if __name__ == "__main__":
    main()
