"""A real Kafka broker for tests.

In this order (design section 7): the one at `GUILDHALL_KAFKA`; else one that is started here from Apache Kafka's own
jars (Maven, KRaft, one node, one temporary directory). The jars and a formatted data directory are kept in `.cache`.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
POM = ROOT / "tools" / "kafka" / "pom.xml"
CACHE = ROOT / ".cache" / "kafka"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
ENVIRONMENT = "GUILDHALL_KAFKA"
CLUSTER_ID = "R3VpbGRoYWxsLXRlc3RzIQ"

_START_SECONDS = 60
_JVM = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


class Missing(Exception):
    """No broker can be had here; the message says what to install."""


class Broker:
    """A process of our own, with its data in `directory`; always on the same port."""

    def __init__(self, jars: Path, formatted: Path, directory: Path) -> None:
        self._jars = jars
        self._directory = directory
        shutil.copytree(formatted, directory / "data")
        self._port, controller = _free_ports()
        self.bootstrap = f"127.0.0.1:{self._port}"
        _write_properties(directory, self._port, controller)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when the broker takes requests. Raises RuntimeError with the end of its output if it doesn't."""
        with open(self._directory / "output", "ab") as output:
            self._process = subprocess.Popen(
                ["java", *_JVM, "-cp", f"{self._jars}/*", "kafka.Kafka", str(self._directory / "server.properties")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + _START_SECONDS
        while not _listens(self._port):
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError((self._directory / "output").read_text()[-4000:])
            time.sleep(0.05)

    def send(self, number: signal.Signals) -> None:
        """Sends the process a signal, such as SIGSTOP or SIGCONT."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends the process at once (also a stopped one); what it wrote stays, and `start` goes on from there."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def own_broker() -> Iterator[Broker]:
    """A broker of one's own, to be stopped and started at will. Raises `Missing`."""
    jars, formatted = _prepared()
    with tempfile.TemporaryDirectory(prefix="guildhall-kafka-") as directory:
        broker = Broker(jars, formatted, Path(directory))
        try:
            broker.start()
            yield broker
        finally:
            broker.kill()


@contextlib.contextmanager
def bootstrap() -> Iterator[str]:
    """The address of a broker, which others may use too. Raises `Missing`."""
    if address := os.environ.get(ENVIRONMENT):
        yield address
    else:
        with own_broker() as broker:
            yield broker.bootstrap


def give_up(missing: Missing) -> None:
    """Fails where CI must have a broker (`CI=true`); elsewhere skips, saying what to install."""
    if os.environ.get("CI") == "true":
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


def _prepared() -> tuple[Path, Path]:
    """The jars, and a data directory as a broker starts with; made once for all processes."""
    if shutil.which("java") is None:
        raise Missing(f"Kafka needs Java: apt-get install default-jre-headless, or set {ENVIRONMENT}=host:port")
    jars, formatted = CACHE / "jars", CACHE / "formatted"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CACHE / "pom.xml"
        if not stamp.exists() or stamp.read_bytes() != POM.read_bytes():
            shutil.rmtree(jars, ignore_errors=True)
            shutil.rmtree(formatted, ignore_errors=True)
            _fetch(jars)
            _format(jars, formatted)
            shutil.copy(POM, stamp)
    return jars, formatted


def _fetch(jars: Path) -> None:
    if shutil.which("mvn") is None:
        raise Missing(f"Kafka's jars are fetched with Maven: apt-get install maven, or set {ENVIRONMENT}=host:port")
    command = ["mvn", "-q", "-B", "-f", str(POM), PLUGIN, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(
            f"Maven could not fetch Kafka's jars ({' '.join(command)}): {(done.stdout + done.stderr)[-2000:]}"
        )


def _format(jars: Path, formatted: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        _write_properties(Path(directory), *_free_ports())
        properties = str(Path(directory) / "server.properties")
        tool = ["java", *_JVM, "-cp", f"{jars}/*", "kafka.tools.StorageTool"]
        subprocess.run([*tool, "format", "-t", CLUSTER_ID, "-c", properties], check=True, capture_output=True)
        shutil.copytree(Path(directory) / "data", formatted)


def _write_properties(directory: Path, port: int, controller: int) -> None:
    (directory / "server.properties").write_text(f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={directory}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
log.cleaner.backoff.ms=100
log.segment.delete.delay.ms=100
""")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
