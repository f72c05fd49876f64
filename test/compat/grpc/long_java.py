"""gRPC's library for Java against the program of examples/grpc, in both directions.

Its program takes long to build: 'make test-long' runs this.
"""

import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[2] / "examples" / "grpc"
PATIENCE = 300  # seconds


def run(*args, **options):
    done = subprocess.run(args, capture_output=True, text=True, timeout=PATIENCE, **options)
    if done.returncode:
        raise AssertionError(f"{args}\n{done.stdout}{done.stderr}")
    return done.stdout


class JavaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "program")
        run("go", "build", "-o", cls.program, ".", cwd=EXAMPLE)
        out = os.path.join(cls.folder.name, "java")
        run("mvn", "-q", "-B", "-f", str(HERE / "peers" / "pom.xml"), f"-Dout={out}", "package")
        cls.java = ["java", "-cp", os.path.join(out, "classes") + ":" + os.path.join(out, "lib", "*"), "Peer"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def serving(self, *args):
        """Starts a server, and returns the end of its first line."""
        process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        timer = threading.Timer(PATIENCE, process.kill)  # ends the line below
        timer.start()
        try:
            return process.stdout.readline().strip().split(":")[-1]
        finally:
            timer.cancel()

    def test_client(self):
        run(*self.java, "client", self.serving(self.program, "-serve"))

    def test_server(self):
        port = self.serving(*self.java, "server")
        self.assertEqual(run(self.program, "-call", "grpc://127.0.0.1:" + port), "by grpc: Hello, Ada! A d a\n")


if __name__ == "__main__":
    unittest.main()
