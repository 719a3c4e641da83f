"""The daemon as a process: its arguments, its signals, its folder."""
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from tests.support.node import BINARY, Node
from tests.support.waiting import wait_until


def run(*arguments, timeout=30):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=timeout, check=False)


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="shardd_test_")
        self.addCleanup(self.folder.cleanup)

    def write(self, text):
        path = pathlib.Path(self.folder.name) / "c.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_version_and_help(self):
        self.assertRegex(run("--version").stdout, r"^shardd version \d+\.\d+\.\d+ ")
        self.assertEqual(run("server", "--version").stdout, run("-V").stdout)
        self.assertIn("check-config FILE", run("--help").stdout)
        self.assertIn("--config-file=FILE", run("server", "--help").stdout)
        self.assertEqual(run("nonsense").returncode, 64)

    def test_check_config_tells_every_mistake(self):
        path = self.write("tcp_prt: 1\nlogger: {level: loud}\nmysql_port: 9004\n")
        done = run("check-config", path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines(), [
            f"warning: {path}:3:13: mysql_port: known to ClickHouse, of no effect here",
            f"{path}:2:17: logger.level: wanted one of none, fatal, critical, error, warning, notice, information, "
            "debug, trace, test, found 'loud'",
            f"{path}:1:10: tcp_prt: unknown key; the nearest known key is tcp_port",
        ])

    def test_check_config_of_a_good_file(self):
        path = self.write("tcp_port: 9001\n")
        self.assertEqual(run("check-config", path).returncode, 0)
        self.assertEqual(run("check-config", path, "--", "--tcp_port=x").returncode, 1)

    def test_a_wrong_configuration_does_not_start(self):
        done = run("server", "-C", self.write("tcp_prt: 1\n"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("tcp_prt: unknown key", done.stderr)

    def test_a_setting_of_users_stops_the_start(self):
        done = run("server", "-C", self.write("max_threads: 3\n"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a setting of users stands among those of the server", done.stderr)


class LifecycleTest(unittest.TestCase):
    def test_starts_in_under_a_second_and_ends_with_zero(self):
        with Node() as node:
            node.stop()
            began = time.monotonic()
            node.start()
            self.assertLess(time.monotonic() - began, 1.0)
            for number in (signal.SIGTERM, signal.SIGINT):
                if node.process is None:
                    node.start()
                began = time.monotonic()
                self.assertEqual(node.stop(number), 0)
                self.assertLess(time.monotonic() - began, 2.0)

    def test_two_daemons_do_not_share_a_folder(self):
        with Node() as node:
            other = Node(home=node.home, name="other")
            with self.assertRaisesRegex(RuntimeError, "Another server instance in same directory is already running"):
                other.start()

    def test_the_folder_is_free_again_after_a_kill(self):
        with Node() as node:
            node.stop(signal.SIGKILL)
            node.start()
            self.assertEqual(node.stop(), 0)

    def test_pid_file_lives_as_long_as_the_daemon(self):
        with Node() as node:
            node.stop()
            pid_file = node.home / "shardd.pid"
            node.start(arguments=["--pid-file", str(pid_file)])
            self.assertEqual(int(pid_file.read_text()), node.process.pid)
            node.stop()
            self.assertFalse(pid_file.exists())

    def test_hangup_reads_the_configuration_again(self):
        with Node() as node:
            with open(node.config_file, "a", encoding="utf-8") as file:
                file.write("tcp_prt: 3\n")
            node.process.send_signal(signal.SIGHUP)
            self.assertTrue(self.wait_for(node, "the configuration is not taken over"))
            node.write_config("macros: {shard: '01'}\n")
            node.process.send_signal(signal.SIGHUP)
            self.assertTrue(self.wait_for(node, "configuration read again"))
            self.assertEqual(node.stop(), 0)

    @staticmethod
    def wait_for(node, text):
        log = node.home / "shardd.log"
        return wait_until(lambda: log.exists() and text in log.read_text(errors="replace"), seconds=5)


if __name__ == "__main__":
    unittest.main()
