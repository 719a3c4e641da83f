"""The container files, read without a container engine: what they name is there, and they agree with each other."""
import pathlib
import re
import shutil
import subprocess
import unittest

from tests.support.node import BINARY, CACHE

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"


def instructions():
    """(instruction, text) of each line of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (DOCKER / "Dockerfile").read_text(encoding="utf-8"))
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


class DockerfileTest(unittest.TestCase):
    def test_what_is_copied_is_there(self):
        for word, rest in instructions():
            if word == "COPY" and not rest.startswith("--from"):
                self.assertTrue((ROOT / rest.split()[0]).exists(), rest)

    def test_it_runs_as_a_user_and_stops_by_a_signal(self):
        words = dict(instructions())
        self.assertEqual(words["USER"], "shardd")
        self.assertEqual(words["STOPSIGNAL"], "SIGTERM")
        self.assertIn("--config-file=/etc/shardd/shardd.yaml", words["ENTRYPOINT"])

    def test_its_configuration_has_no_mistakes(self):
        for name in ("shardd.yaml", "cluster.yaml"):
            done = subprocess.run([BINARY, "check-config", str(DOCKER / name)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_dockerfilelint(self):
        lint = CACHE / "node_modules/.bin/dockerfilelint"
        if not lint.exists() or not shutil.which("node"):
            self.skipTest("dockerfilelint is not installed")
        done = subprocess.run([str(lint), str(DOCKER / "Dockerfile")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class ComposeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.compose = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))

    def test_three_shards_and_an_initiator(self):
        self.assertEqual(sorted(self.compose["services"]), ["initiator", "shard1", "shard2", "shard3"])

    def test_services_have_the_known_keys_only(self):
        known = {"image", "build", "restart", "stop_grace_period", "hostname", "volumes", "ports", "depends_on"}
        for name, service in self.compose["services"].items():
            self.assertLessEqual(set(service), known, name)
            self.assertTrue((DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).exists())
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                if source.startswith("."):
                    self.assertTrue((DOCKER / source).exists(), volume)
                else:
                    self.assertIn(source, self.compose["volumes"])

    def test_the_cluster_names_the_services(self):
        cluster = yaml.safe_load((DOCKER / "cluster.yaml").read_text(encoding="utf-8"))
        shards = cluster["remote_servers"]["shards"]["shard"]
        self.assertEqual([shard["replica"]["host"] for shard in shards], ["shard1", "shard2", "shard3"])

    def test_only_loopback_is_published(self):
        for service in self.compose["services"].values():
            for port in service.get("ports", []):
                self.assertTrue(str(port).startswith("127.0.0.1:"), port)


if __name__ == "__main__":
    unittest.main()
