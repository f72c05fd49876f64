"""Apache Thrift's libraries for C++ and Java against the program of examples/thrift, in both directions.

Their programs take long to build: 'make test-long' runs this.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[2] / "examples" / "thrift"
IDL = str(EXAMPLE / "shop.thrift")
PATIENCE = 120  # seconds

PLAIN = [(f, p) for f in ("framed", "unframed") for p in ("binary", "compact", "json")]
CPP = PLAIN + [("theader", "binary"), ("theader", "compact")]
KINDS = ("plain", "multiplexed")


def run(*args, **options):
    done = subprocess.run(args, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{args}\n{done.stdout}{done.stderr}")
    return done.stdout


class PeersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "program")
        run("go", "build", "-o", cls.program, ".", cwd=EXAMPLE)
        cls.server = subprocess.Popen([cls.program, "-serve"], stdout=subprocess.PIPE, text=True)
        cls.port = cls.server.stdout.readline().split(":")[-1].strip()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()
        cls.folder.cleanup()

    def new_folder(self, name):
        path = os.path.join(self.folder.name, name)
        os.mkdir(path)
        return path

    def call(self, port, framing, protocol, kind):
        """Has the program call a server of another language."""
        flags = ["-multiplexed"] if kind == "multiplexed" else []
        out = run(self.program, "-call", f"thrift://127.0.0.1:{port}", "-framing", framing, "-protocol", protocol, *flags, timeout=PATIENCE)
        self.assertEqual(out, "by thrift: 15, seven, no order 8\n")

    def test_cpp(self):
        out = self.new_folder("cpp")
        run("thrift", "--gen", "cpp:no_skeleton", "-out", out, IDL)
        peer = os.path.join(out, "peer")
        sources = [os.path.join(out, name) for name in ("Shop.cpp", "shop_types.cpp")]
        run("g++", "-std=c++17", "-O0", "-w", "-I", out, "-o", peer, str(HERE / "peers" / "peer.cpp"), *sources, "-lthriftnb", "-lthriftz", "-lthrift", "-levent", "-lpthread")
        for framing, protocol in CPP:
            for kind in KINDS:
                with self.subTest("client", framing=framing, protocol=protocol, kind=kind):
                    run(peer, "client", self.port, framing, protocol, kind, timeout=PATIENCE)
                    self.assertEqual(self.server.stdout.readline(), "from C++\n")
                servers = ("threaded", "nonblocking") if framing == "framed" else ("threaded",)
                for server in servers:
                    with self.subTest("server", server=server, framing=framing, protocol=protocol, kind=kind):
                        process = subprocess.Popen([peer, "server", server, framing, protocol, kind], stdout=subprocess.PIPE, text=True)
                        try:
                            self.call(process.stdout.readline().strip(), framing, protocol, kind)
                        finally:
                            process.kill()
                            process.wait()
                            process.stdout.close()

    def test_java(self):
        sources, out = self.new_folder("java-sources"), self.new_folder("java")
        run("thrift", "--gen", "java:generated_annotations=suppress", "-out", sources, IDL)
        shutil.copy(HERE / "peers" / "Peer.java", sources)
        run("mvn", "-q", "-B", "-f", str(HERE / "peers" / "pom.xml"), f"-Dsources={sources}", f"-Dout={out}", "package")
        java = ["java", "-cp", os.path.join(out, "classes") + ":" + os.path.join(out, "lib", "*"), "Peer"]
        dialects = [f"{framing}/{protocol}/{kind}" for framing, protocol in PLAIN + [("framed", "old"), ("unframed", "old")] for kind in KINDS]
        run(*java, "client", self.port, *dialects, timeout=PATIENCE)
        for _ in dialects:
            self.assertEqual(self.server.stdout.readline(), "from Java\n")
        process = subprocess.Popen([*java, "server", *dialects], stdout=subprocess.PIPE, text=True)
        try:
            servers = []
            while (line := process.stdout.readline()) != "serving\n":
                self.assertTrue(line, "the server ended")
                servers.append(line.split())
            self.assertGreater(len(servers), len(dialects))
            for dialect, port in servers:
                with self.subTest("server", dialect=dialect):
                    self.call(port, *dialect.split("/"))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    unittest.main()
