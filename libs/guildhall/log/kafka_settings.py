"""Settings of our Kafka clients from a properties file, as Kafka's own tools take one with `--command-config`: for TLS,
SASL and whatever else a cluster asks of its clients. Names are librdkafka's.
"""

from pathlib import Path

from guildhall.log.kafka_client import ClientSettings, Connection

_GROUP = (
    "group.instance.id",  # a static member cannot leave: its partitions would wait for its session
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "partition.assignment.strategy",
    "session.timeout.ms",
)
_PRODUCER = (
    "transactional.id",  # docs/decisions/0005
    "transaction.timeout.ms",
    # What idempotent producers need.
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "message.send.max.retries",
    "retries",
    # Other names of what the hall sets.
    "metadata.broker.list",
    "delivery.timeout.ms",
    "request.required.acks",
    "queue.buffering.max.ms",
)
_JAVA_ONLY = ("sasl.jaas.config", "ssl.truststore.", "ssl.keystore.", "sasl.login.callback", "sasl.client.callback")


def read_settings(path: Path) -> ClientSettings:
    """The settings of a file: `name=value` lines, `#` and `!` begin comments, a backslash at the end continues.

    Raises OSError; ValueError that names the line, for what is no setting, or is not to be set from outside.
    """
    ours = {*Connection("").producer(), *Connection("").consumer(), *Connection("").tail(), *_GROUP, *_PRODUCER}
    settings: dict[str, str] = {}
    for number, line in _logical_lines(path.read_text(encoding="utf-8")):
        name, equals, value = line.partition("=")
        name, value = name.strip(), value.strip()
        where = f"{path}, line {number}"
        if not equals or not name or " " in name:
            raise ValueError(f"{where}: not name=value")
        if name in ours:
            raise ValueError(
                f"{where}: {name} is not to be set here: the hall itself does, or an option of its command"
            )
        if name.startswith(_JAVA_ONLY):
            hint = "sasl.username, sasl.password, ssl.ca.location, ssl.certificate.location, ssl.key.location"
            raise ValueError(f"{where}: {name} is for Java clients; here it is one of {hint}")
        if name in settings:
            raise ValueError(f"{where}: {name} is there twice")
        settings[name] = value
    return settings


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """(number, line) without comments and empty ones; lines that go on are joined."""
    found: list[tuple[int, str]] = []
    begun = 0
    rest = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not rest and (not line or line[0] in "#!"):
            continue
        begun = begun if rest else number
        if line.endswith("\\"):
            rest += line[:-1]
            continue
        found.append((begun, rest + line))
        rest = ""
    if rest:
        found.append((begun, rest))
    return found
