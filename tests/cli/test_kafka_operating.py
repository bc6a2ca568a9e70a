"""Operators at the command line, with the log on a real broker that asks for TLS and passwords: topics, processes, bad
input of every kind, what is told of it and what mends it.
"""

import asyncio
import contextlib
import datetime
import ipaddress
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner, Result

from guildhall.cli.client import Client
from guildhall.cli.main import command_line
from guildhall.cli.tokens import dev_token
from guildhall.kernel.v1.structs import CommandRef, Record, encode_Record
from guildhall.log.kafka import open_kafka
from guildhall.log.kafka_home import CLUSTER_KEY, FILE
from guildhall.log.port import CLAIM_KEY, Entry, partition_of
from guildhall.log.values import encode_entry
from guildhall.rpc.identity import own_key
from tests import kafka_broker
from tests.cli.hall import GUILDHALL, RunningHall, following, serving
from tests.cli.operating_document import commands
from tests.kafka_jars import CLUSTER_ID, Line, Secured, free_ports
from tests.log.test_kafka import alter

WHY = "the cat is on the table"
EVENTS = "guildhall.arcane_alley.events"
SINGLE = "--single-broker-not-durable"


@dataclass(frozen=True)
class Place:
    """A broker: open to this machine at `plain`, secured at `bootstrap`; the properties file that gets one in."""

    plain: str
    bootstrap: str
    config: Path

    @property
    def there(self) -> list[str]:
        """The options that lead a command to it."""
        return ["--kafka", self.bootstrap, "--kafka-config", str(self.config), SINGLE]


def certificate() -> tuple[str, str]:
    """A key and a certificate that it signs itself, for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "guildhall tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private.decode(), made.public_bytes(pem).decode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("kafka")
    key, made = certificate()
    (directory / "ca.pem").write_text(made)
    config = directory / "client.properties"
    config.write_text(f"""\
# How to get in.
security.protocol=SASL_SSL
sasl.mechanism = PLAIN
sasl.username = hall
sasl.password = open sesame
ssl.ca.location = {directory}/ca.pem
""")
    [port] = free_ports(1)
    try:
        with kafka_broker.own_cluster([[Line(port, port, Secured(key, made, {"hall": "open sesame"}))]]) as cluster:
            yield Place(cluster.bootstrap, f"127.0.0.1:{port}", config)
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


@pytest.fixture(scope="module")
def topics(place: Place) -> Place:
    """The broker with the hall's topics."""
    apply = ("topics", "apply", *place.there, "--partitions", "2")
    # On a busy machine a broker that has just started may be slow, and count as gone for a moment.
    while re.search("brokers are currently fenced|Timed out", (result := ran(*apply)).output):
        time.sleep(1.0)
    assert "topics are as they should be" in result.output, result.output
    return place


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    own_key(directory)
    return directory


def ran(*words: str) -> Result:
    return CliRunner().invoke(command_line(words[0]), words)


def done(*words: str) -> str:
    result = ran(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: str) -> str:
    result = ran(*words)
    assert result.exit_code in (1, 2) and isinstance(result.exception, SystemExit), result.output
    return re.sub(r"[\s│]+", " ", result.stderr)


@contextlib.contextmanager
def rules(place: Place, data: Path, *more: str, game: str = "arcane-alley") -> Iterator[RunningHall]:
    """A process of a game on this broker."""
    words = ("rules", "--game", game, "--port", "0", *place.there, *more)
    with serving(data, *words) as running:
        yield running


def begun(hall: RunningHall, players: int = 2, game: str = "arcane_alley") -> str:
    """The id of a game in which nobody has done anything yet."""

    async def create() -> str:
        token = dev_token(hall.data, "Zoe", ["play", "seat"])
        async with Client(game, hall.server, token, patience=60.0) as client:
            return await client.create(subjects=("Zoe", "Yan", "Xu")[:players])

    return asyncio.run(create())


def of_olga(hall: RunningHall) -> list[str]:
    return ["--name", "olga", *hall.there]


def until(said: str, *words: str) -> str:
    """What a command prints, once it says that; a partition may be between two owners."""
    while said not in (printed := ran(*words).stdout):
        time.sleep(0.2)
    return printed


# --- before anything is there


def test_a_start_makes_no_topics_and_says_which_are_missing(place: Place, data: Path) -> None:
    """Before the topics are made: an empty cluster is not to pass for an empty hall."""
    admin = AdminClient({"bootstrap.servers": place.plain})
    present = set(admin.list_topics(timeout=10).topics)
    assert EVENTS not in present, "the module's first test"
    durable = [word for word in place.there if word != SINGLE]
    said = refused("serve", "rules", "--game", "arcane-alley", "--port", "0", *durable, "--data", str(data))
    assert "guildhall.operations: is missing. Make it with `guildhall topics apply`" in said
    assert "guildhall.operations is missing" in refused("topics", "check", *place.there)
    for words in (("log", "stats"), ("log", "show"), ("log", "verify"), ("owners", "--from-log")):
        assert "is missing" in refused(*words, *place.there)
    assert set(admin.list_topics(timeout=10).topics) == present


# --- getting in


def test_without_its_password_nobody_gets_in(place: Place, tmp_path: Path) -> None:
    for change in ("sasl.password = open sesame", "ssl.ca.location"):
        wrong = tmp_path / "wrong.properties"
        lines = place.config.read_text().splitlines()
        wrong.write_text("\n".join("sasl.password = wrong" if line.startswith(change) else line for line in lines))
        said = refused("topics", "check", "--kafka", place.bootstrap, "--kafka-config", str(wrong))
        assert said.strip() and "sesame" not in said
    assert refused("topics", "check", "--kafka", place.bootstrap).strip()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "line 1: not name=value"),
        ("acks=1", "line 1: acks is not to be set here"),
        ("request.required.acks=1", "line 1: request.required.acks is not to be set here"),
        ("group.instance.id=one", "line 1: group.instance.id is not to be set here"),
        ("session.timeout.ms=60000", "line 1: session.timeout.ms is not to be set here"),
        ("transactional.id=one", "line 1: transactional.id is not to be set here"),
        ("metadata.broker.list=elsewhere:9092", "line 1: metadata.broker.list is not to be set here"),
        ("retries=0", "line 1: retries is not to be set here"),
        ("bootstrap.servers=elsewhere:9092", "line 1: bootstrap.servers is not to be set here"),
        ("sasl.jaas.config=x", "is for Java clients; here it is one of sasl.username"),
        ("no.such.setting=1", "no.such.setting"),
        ("client.id=a\\\n  b\n# c\n\nclient.id=d", "line 5: client.id is there twice"),
    ],
)
def test_settings_that_make_no_sense_are_named(place: Place, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "file").write_text(line)
    for words in (("log", "stats"), ("owners", "--from-log")):
        assert said in refused(*words, "--kafka", place.bootstrap, "--kafka-config", str(tmp_path / "file"))
    assert "No such file" in refused("log", "stats", "--kafka", place.bootstrap, "--kafka-config", str(tmp_path / "no"))


def test_settings_come_from_the_environment(topics: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/operating.md says; its commands for Kafka work as they stand."""
    monkeypatch.setenv("GUILDHALL_KAFKA_BOOTSTRAP", topics.bootstrap)
    monkeypatch.setenv("GUILDHALL_KAFKA_CONFIG", str(topics.config))
    assert len(commands("kafka")) == 2
    for words in commands("kafka"):
        assert "topics are as they should be" in done(*words, SINGLE)
    assert f"Kafka at {topics.bootstrap}" in done("log", "stats", SINGLE)


# --- topics and clusters that are not right


def test_topics_that_can_lose_events_are_refused_until_set_right(topics: Place, data: Path) -> None:
    alter(topics.plain, EVENTS, retention_ms="1000")
    said = refused("serve", "rules", "--game", "arcane-alley", "--port", "0", *topics.there, "--data", str(data))
    assert f"{EVENTS} has retention.ms=1000: set retention.ms=-1" in said
    assert "set retention.ms=-1" in refused("topics", "check", *topics.there)
    assert f"{EVENTS} was changed: retention.ms=-1 (was 1000)." in done("topics", "apply", *topics.there)
    assert "as they should be" in done("topics", "check", *topics.there)


def test_another_cluster_is_refused(topics: Place, tmp_path: Path) -> None:
    own_key(tmp_path)
    serve = ("serve", "rules", "--game", "arcane-alley", "--port", "0", "--data", str(tmp_path))
    for words in (serve, ("log", "stats"), ("owners", "--from-log"), ("topics", "check"), ("topics", "apply")):
        said = refused(*words, *topics.there, "--kafka-cluster", "another")
        assert f"this is the cluster {CLUSTER_ID}, not another" in said
    with rules(topics, tmp_path, "--kafka-cluster", CLUSTER_ID) as running:
        assert (tmp_path / FILE).read_text().strip() == CLUSTER_ID
        running.stop()
    (tmp_path / FILE).write_text("another\n")
    said = refused(*serve, *topics.there)
    assert f"this is the cluster {CLUSTER_ID}, but the log lies on another" in said and FILE in said


def test_a_copy_of_a_log_is_refused(topics: Place, tmp_path: Path) -> None:
    own_key(tmp_path)
    produce(topics, "guildhall.operations", 0, CLUSTER_KEY, b"another")
    try:
        said = refused("serve", "rules", "--game", "arcane-alley", "--data", str(tmp_path), *topics.there)
        assert f"this is the cluster {CLUSTER_ID}, and its topics are copies of those on another" in said
        alter(topics.plain, EVENTS, retention_ms="1000")
        for command in ("apply", "check"):
            assert "its topics are copies of those on another" in refused("topics", command, *topics.there)
    finally:
        produce(topics, "guildhall.operations", 0, CLUSTER_KEY, CLUSTER_ID.encode())
    # Nor was anything changed there.
    assert f"{EVENTS} was changed: retention.ms=-1 (was 1000)." in done("topics", "apply", *topics.there)


def test_a_check_writes_nothing(topics: Place) -> None:
    """Not even which cluster it is: that is for `apply`, and for a start."""
    produce(topics, "guildhall.operations", 0, CLUSTER_KEY, None)
    assert "as they should be" in done("topics", "check", *topics.there)
    assert asyncio.run(cluster_of(topics)) is None
    assert "as they should be" in done("topics", "apply", *topics.there)
    assert asyncio.run(cluster_of(topics)) == CLUSTER_ID.encode()


async def cluster_of(place: Place) -> bytes | None:
    """What the topics say of their cluster."""
    log = open_kafka(place.plain, single_broker_not_durable=True)
    try:
        return await (await log.compacted("guildhall.operations", 1)).get(0, CLUSTER_KEY)
    finally:
        await log.close()


def produce(place: Place, topic: str, partition: int, key: str, value: bytes | None) -> None:
    """Write as a stranger."""
    producer = Producer({"bootstrap.servers": place.plain})
    producer.produce(topic, value, key, partition)
    assert producer.flush(10) == 0


# --- a hall of several processes


def test_owners_orders_and_drain_with_two_processes(topics: Place, data: Path) -> None:
    with rules(topics, data) as one, rules(topics, data) as other:
        games = [begun(one) for _ in range(6)]
        told = until("2 of 2 partitions are served, by 2 processes; no game in trouble", "owners", *of_olga(one))
        assert one.server in told and other.server in told
        by_log = done("owners", "--from-log", *topics.there)
        assert by_log.count(" answers") == 2 and one.server in by_log and other.server in by_log
        for game in games:  # any process takes an order for any game
            for hall in (one, other):
                done("game", "status", game, *of_olga(hall))
            done("game", "pause", game, "--why", WHY, *of_olga(one))
            done("game", "resume", game, "--why", WHY, *of_olga(other))
        done("game", "pause", games[0], "--why", WHY, *of_olga(one))
        assert done("game", "list", *of_olga(other)).count("paused") == 1
        assert "drains" in done("drain", "--why", "a new version", *of_olga(one))
        assert one.process.wait() == 0
        told = until("2 of 2 partitions are served, by 1 process; 1 paused", "owners", *of_olga(other))
        assert one.server not in told
        assert "resumed" in done("game", "resume", games[0], "--why", WHY, *of_olga(other))
        other.process.kill()
        other.process.wait()
        assert done("owners", "--from-log", *topics.there).count("does not answer") == 2
    assert "is whole" in done("log", "verify", *topics.there)
    shown = done("log", "show", games[0], *topics.there)
    assert shown.count(f"because: {WHY}") == 4 and "olga (" in shown


SPOILT: dict[str, Callable[[Entry], bytes]] = {
    "truncated": lambda entry: encode_entry(entry)[:-7],
    "of an unknown kind": lambda entry: b"\x1a" + encode_entry(entry)[1:],
    "with a field that is not known": lambda entry: b"\x12\x03\x2a\x01x",
    "empty": lambda entry: b"",
    "with an event that is not known": encode_entry,
}
"""Values of records that no hall of this version writes; the last one is effective, the others cannot be decoded."""


def bad_entry(claim: int, game: str) -> Entry:
    """Version 2 of a game, as a newer hall may write it."""
    record = Record(game, 2, (CommandRef("Zoe", "c", b""),), 0, 1, "9", (b"\xfa\x07\x02\x08\x01",))
    return Entry(claim, b"h" * 32, encode_Record(record), 2)


def test_bad_records_quarantine_their_games_alone_until_they_are_put_back(topics: Place, data: Path) -> None:
    """Written into the partitions while a hall serves them; then found again by a start, and by the log's own tools."""
    (data / "said").unlink(missing_ok=True)
    with rules(topics, data) as hall:
        olga = of_olga(hall)
        games = {how: begun(hall) for how in SPOILT}
        whole = [begun(hall) for _ in range(4)]
        claims = dict(re.findall(r"arcane-alley/(\d) +claim (\d+)", done("owners", *olga)))
        for how, game in games.items():
            partition = partition_of(game, 2)
            produce(topics, EVENTS, partition, game, SPOILT[how](bad_entry(int(claims[str(partition)]), game)))
        listed = until(f"{len(games)} quarantined", "owners", *olga)
        assert listed.count(hall.server) == 2
        told = done("game", "list", *olga)
        assert all(game in told for game in games.values()) and not any(game in told for game in whole)
        assert hall.said.count("game quarantined") == len(games)
        for game in whole:
            done("game", "pause", game, "--why", WHY, *olga)
            done("game", "resume", game, "--why", WHY, *olga)
        hall.stop()
    result = ran("log", "verify", *topics.there)
    assert result.exit_code == 1 and f"{len(games)} problems" in result.stderr, result.output
    for game in games.values():
        assert result.stderr.count(f"game {game}: ") == 1
    stats = done("log", "stats", *topics.there)
    assert f"{len(games)} quarantined" in stats and f"{len(games) - 1} damaged," in stats
    with rules(topics, data) as hall:
        olga = of_olga(hall)
        until(f"{len(games)} quarantined", "owners", *olga)
        for game in games.values():
            assert "with the state of version 1" in done("game", "repair", game, "--why", WHY, *olga)
            assert "is resumed" in done("game", "resume", game, "--why", WHY, *olga)
        until("no game in trouble", "owners", *olga)
        hall.stop()
    assert done("log", "verify", *topics.there).count("olga put it back at version") == len(games)


def test_a_game_of_another_kind_is_found_through_any_process(topics: Place, data: Path) -> None:
    """Two processes, each of another game: all of it is told, and mended, through the one that has no part in it."""
    tricks = {"game": "trickerion"}
    with rules(topics, data) as asked, rules(topics, data, **tricks) as other:
        olga = of_olga(asked)
        game = begun(other, **tricks)
        told = until("4 of 4 partitions are served, by 2 processes; no game in trouble", "owners", *olga)
        assert "No game is quarantined" in done("game", "list", *olga)
        place = partition_of(game, 2)
        [claim] = re.findall(rf"trickerion/{place} +claim (\d+)", told)
        produce(topics, "guildhall.trickerion.events", place, game, encode_entry(bad_entry(int(claim), game)))
        assert f"{game}  trickerion/{place}" in until("quarantined: ", "game", "list", *olga)
        assert "1 quarantined" in done("owners", *olga)
        assert "quarantined" in done("game", "status", game, *olga)
        assert "with the state of version 1" in done("game", "repair", game, "--why", WHY, *olga)
        assert "is resumed" in done("game", "resume", game, "--why", WHY, "--game", "trickerion", *olga)
        assert "No game is quarantined" in done("game", "list", *olga)
        assert f"There is no game 'nosuchgame' at {asked.server}." in refused("game", "status", "nosuchgame", *olga)
        other.process.kill()
        other.process.wait()
        listed = ran("game", "list", *olga)
        assert "No game is quarantined" not in listed.stdout
        assert f"Not looked into: trickerion/0, trickerion/1: {other.server} does not answer" in listed.stderr
        assert "as far as is known: nobody serves trickerion" in refused("game", "status", game, *olga)
    for place in range(2):  # so that other tests find a hall of one game
        produce(topics, "guildhall.owners", 0, f"trickerion/{place}", None)


def test_a_claim_that_cannot_be_read_is_told_and_claimed_over(topics: Place, data: Path) -> None:
    (data / "said").unlink(missing_ok=True)
    with rules(topics, data) as hall:
        until("2 of 2 partitions are served", "owners", *of_olga(hall))
        game = begun(hall)
        produce(topics, EVENTS, partition_of(game, 2), CLAIM_KEY, b"junk")
        while "claim unreadable" not in hall.said:
            time.sleep(0.1)
        assert "is paused" in done("game", "pause", game, "--why", WHY, *of_olga(hall))
        hall.stop()
    said = refused("log", "verify", *topics.there)
    assert "a claim cannot be read" in said


def test_the_log_is_followed(topics: Place, data: Path) -> None:
    with rules(topics, data) as hall:
        game = begun(hall)
        words = [*GUILDHALL, "log", "tail", game, "--last", "1", "--game", "arcane-alley", *topics.there]
        with following(words) as tail:
            assert tail.stdout is not None and tail.stderr is not None
            while "Following 2 partitions" not in (said := tail.stderr.readline()):
                assert "one broker" in said or "trying again" in said, said
            assert f"{game} version 1" in tail.stdout.readline()
            done("game", "pause", game, "--why", WHY, *of_olga(hall))
            while f"because: {WHY}" not in (line := tail.stdout.readline()):
                assert line
        hall.stop()
