"""Kafka brokers as processes of our own, from Apache Kafka's own jars (Maven, KRaft, temporary directories).

The jars and a formatted data directory for each node are kept in `.cache`.
"""

import contextlib
import fcntl
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
POM = ROOT / "tools" / "kafka" / "pom.xml"
CACHE = ROOT / ".cache" / "kafka"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
CLUSTER_ID = "R3VpbGRoYWxsLXRlc3RzIQ"

_START_SECONDS = 180
# Java's options for a broker.
LONG_RUN = ("-Xmx512m", "-XX:+UseSerialGC")
"""What it does often is compiled as well as can be, which takes a minute of work."""
QUICK_START = (*LONG_RUN, "-XX:TieredStopAtLevel=1")
# Below what systems hand to outgoing connections, so that a broker that is down finds its ports free again.
_PORTS = range(20_000, 32_000)


class Missing(Exception):
    """No broker can be had here; the message says what to install."""


@dataclass(frozen=True)
class Secured:
    """A listener with TLS (the broker's key and certificate, PEM) for users with passwords (SASL PLAIN)."""

    key: str
    certificate: str
    users: Mapping[str, str]

    def properties(self, listener: str) -> str:
        """The broker's settings of a listener."""
        users = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        return f"""\
{listener}.ssl.keystore.type=PEM
{listener}.ssl.keystore.key={_one_line(self.key)}
{listener}.ssl.keystore.certificate.chain={_one_line(self.certificate)}
{listener}.sasl.enabled.mechanisms=PLAIN
{listener}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required {users};
"""


def _one_line(text: str) -> str:
    return text.strip().replace("\n", "\\n")


@dataclass(frozen=True)
class Line:
    """A listener of a broker, at `port`, whose clients are told to come to the port `advertised` instead: a proxy's."""

    port: int
    advertised: int
    secured: Secured | None = None


@dataclass(frozen=True)
class Node:
    """What tells one broker of a cluster from the others: its number (from 1), its ports, its lines."""

    number: int
    port: int
    controller: int
    lines: Sequence[Line] = ()


class Broker:
    """A process of our own, with its data in `directory`; always on the same ports."""

    def __init__(
        self, jars: Path, directory: Path, node: Node, voters: Mapping[int, int], jvm: Sequence[str] = QUICK_START
    ) -> None:
        """`voters`: the controllers' ports by the node's number; `jvm`: options of Java."""
        self._jars = jars
        self._jvm = jvm
        self._directory = directory
        self._port = node.port
        self.number = node.number
        self.bootstrap = f"127.0.0.1:{node.port}"
        _write_properties(directory, node, voters)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when the broker takes requests. Raises RuntimeError with the end of its output if it doesn't."""
        with open(self._directory / "output", "ab") as output:
            self._process = subprocess.Popen(
                [
                    "java",
                    *self._jvm,
                    "-cp",
                    f"{self._jars}/*",
                    "kafka.Kafka",
                    str(self._directory / "server.properties"),
                ],
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

    @property
    def running(self) -> bool:
        """Whether there is a process, perhaps a stopped one."""
        return self._process is not None and self._process.poll() is None

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


class Cluster:
    """Brokers that are each broker and controller."""

    def __init__(self, brokers: Sequence[Broker]) -> None:
        self.brokers = brokers
        self.bootstrap = ",".join(broker.bootstrap for broker in brokers)

    def start(self) -> None:
        """Starts all together: none takes requests before most have met. Raises RuntimeError."""
        with ThreadPoolExecutor(len(self.brokers)) as threads:
            list(threads.map(Broker.start, self.brokers))

    def kill(self) -> None:
        """Ends all."""
        for broker in self.brokers:
            broker.kill()


@contextlib.contextmanager
def own_broker(jvm: Sequence[str] = QUICK_START) -> Iterator[Broker]:
    """A broker of one's own, to be stopped and started at will; `jvm`: options of Java. Raises `Missing`."""
    with own_cluster([()], jvm) as cluster:
        yield cluster.brokers[0]


@contextlib.contextmanager
def own_cluster(lines: Sequence[Sequence[Line]], jvm: Sequence[str] = QUICK_START) -> Iterator[Cluster]:
    """A cluster of one's own, running: a broker for each item of `lines`, with these lines. Raises `Missing`."""
    jars = _prepared(len(lines))
    ports = free_ports(2 * len(lines))
    nodes = [Node(number, ports.pop(), ports.pop(), own) for number, own in enumerate(lines, 1)]
    voters = {node.number: node.controller for node in nodes}
    with tempfile.TemporaryDirectory(prefix="guildhall-kafka-") as directory:
        brokers = []
        for node in nodes:
            own = Path(directory) / str(node.number)
            shutil.copytree(_formatted(node.number), own / "data")
            brokers.append(Broker(jars, own, node, voters, jvm))
        cluster = Cluster(brokers)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.kill()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on, and that no outgoing connection will take."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = random.choice(_PORTS)
            holder = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                holder.bind(("127.0.0.1", port))
                found.append(port)
    return found


def _prepared(nodes: int) -> Path:
    """The jars, with data directories as these many nodes start with; made once for all processes."""
    if shutil.which("java") is None:
        raise Missing("Kafka's jars need Java: apt-get install default-jre-headless")
    jars = CACHE / "jars"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CACHE / "pom.xml"
        if not stamp.exists() or stamp.read_bytes() != POM.read_bytes():
            for old in (jars, *CACHE.glob("formatted*")):
                shutil.rmtree(old, ignore_errors=True)
            _fetch(jars)
            shutil.copy(POM, stamp)
        for number in range(1, nodes + 1):
            if not _formatted(number).exists():
                _format(jars, number)
    return jars


def _formatted(number: int) -> Path:
    return CACHE / f"formatted-{number}"


def _fetch(jars: Path) -> None:
    if shutil.which("mvn") is None:
        raise Missing("Kafka's jars are fetched with Maven: apt-get install maven")
    command = ["mvn", "-q", "-B", "-f", str(POM), PLUGIN, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(
            f"Maven could not fetch Kafka's jars ({' '.join(command)}): {(done.stdout + done.stderr)[-2000:]}"
        )


def _format(jars: Path, number: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        port, controller = free_ports(2)
        _write_properties(Path(directory), Node(number, port, controller), {number: controller})
        properties = str(Path(directory) / "server.properties")
        tool = ["java", *QUICK_START, "-cp", f"{jars}/*", "kafka.tools.StorageTool"]
        subprocess.run([*tool, "format", "-t", CLUSTER_ID, "-c", properties], check=True, capture_output=True)
        shutil.copytree(Path(directory) / "data", _formatted(number))


def _write_properties(directory: Path, node: Node, voters: Mapping[int, int]) -> None:
    lines = [(f"LINE{number}", line) for number, line in enumerate(node.lines)]
    own = [("PLAINTEXT", node.port), *((name, line.port) for name, line in lines)]
    advertised = [("PLAINTEXT", node.port), *((name, line.advertised) for name, line in lines)]
    secured = {name: line.secured for name, line in lines if line.secured is not None}
    # With others that go on, a broker that is only slow (the tests' machine is small) should not count as gone.
    session_ms = 1000 if len(voters) == 1 else 4000
    replicas = min(3, len(voters))
    (directory / "server.properties").write_text(f"""\
process.roles=broker,controller
node.id={node.number}
controller.quorum.voters={",".join(f"{number}@127.0.0.1:{port}" for number, port in voters.items())}
controller.listener.names=CONTROLLER
listeners={_addresses([*own, ("CONTROLLER", node.controller)])}
advertised.listeners={_addresses(advertised)}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{
        ",".join(f"{name}:{'SASL_SSL' if name in secured else 'PLAINTEXT'}" for name, _ in own)
    }
inter.broker.listener.name=PLAINTEXT
log.dirs={directory}/data
auto.create.topics.enable=false
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=1
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={max(1, replicas - 1)}
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={max(1, replicas - 1)}
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms={session_ms}
broker.heartbeat.interval.ms=200
log.cleaner.backoff.ms=100
log.segment.delete.delay.ms=100
{"".join(each.properties(f"listener.name.{name.lower()}") for name, each in secured.items())}""")


def _addresses(listeners: Sequence[tuple[str, int]]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
