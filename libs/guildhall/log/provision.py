"""The hall's topics on Kafka: made and set right (`apply`), and refused if they can lose records (`check`).

What is demanded, and why: docs/decisions, "What Kafka promises".
"""

import asyncio
import concurrent.futures
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from guildhall.log import topics
from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.kafka_client import MAX_MESSAGE_BYTES, kafka_error
from guildhall.log.port import DEFAULT_PARTITIONS, MAX_RECORD_BYTES

REPLICATION = 3
MIN_INSYNC = 2

_NEVER = "-1"
_PAUSE_SECONDS = 0.02
# Brokers learn of a new topic one after the other, and of its leaders a little later.
_UNKNOWN = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}
_NO_LEADER = {
    KafkaError._NOENT,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}


MISSING = "Make it with `guildhall topics apply`; if it was made before, this may be another cluster."


class MissingTopic(LogUnreadable):
    """A topic that isn't there, and is not to be made by whoever asks for it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "is missing. " + MISSING)


class CanLoseEvents(LogUnreadable):
    """A topic whose settings, replicas or first offset say that it can lose, or has lost, what was acknowledged."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("Kafka", " ".join(problems))
        self.problems = list(problems)


class Topic(msgspec.Struct, frozen=True):
    """What a topic has to be.

    `partitions`: if it has to be made. `exactly` and `at_least`: settings that keep what was acknowledged; a topic with
    others is refused. `tuning`: set by `apply`, not insisted on. `from_zero`: its first offset must still be 0.
    """

    name: str
    partitions: int
    exactly: dict[str, str]
    at_least: dict[str, int]
    tuning: dict[str, str] = {}
    from_zero: bool = False


def events_topic(name: str, partitions: int = DEFAULT_PARTITIONS) -> Topic:
    """Append-only, retained for ever."""
    exactly = {
        "cleanup.policy": "delete",
        "retention.ms": _NEVER,
        "retention.bytes": _NEVER,
        "unclean.leader.election.enable": "false",
    }
    return Topic(name, partitions, exactly, {"max.message.bytes": 2 * MAX_RECORD_BYTES}, from_zero=True)


def compacted_topic(name: str, partitions: int = DEFAULT_PARTITIONS) -> Topic:
    """The newest value of each key, compacted soon, so that a start reads little."""
    exactly = {"cleanup.policy": "compact", "unclean.leader.election.enable": "false"}
    tuning = {"segment.bytes": str(64 << 20), "min.cleanable.dirty.ratio": "0.1"}
    return Topic(name, partitions, exactly, {"max.message.bytes": MAX_MESSAGE_BYTES + (1 << 20)}, tuning)


def hall_topics(games: Iterable[str], partitions: int = DEFAULT_PARTITIONS) -> list[Topic]:
    """All topics of a hall with these games (names as in their packages)."""
    found = [compacted_topic(name, 1) for name in (topics.OWNERS, topics.PACKS, topics.OPERATIONS)]
    for game in games:
        found.append(events_topic(topics.events(game), partitions))
        found += [compacted_topic(name(game), partitions) for name in topics.BESIDE_EVENTS]
    return found


class _Found(msgspec.Struct, frozen=True):
    """A topic as the cluster has it. `replicas`: of the partition that has the fewest; `first`: each first offset."""

    partitions: int
    replicas: int
    settings: dict[str, str]
    first: list[int]


class Provisioning:
    """Makes and judges topics on the cluster at `bootstrap`.

    `single_broker_not_durable` takes topics with one replica, on a cluster of one broker; anything larger is refused
    then, since it could do better. Without `make_missing`, `ensure` refuses a topic that isn't there.
    """

    def __init__(
        self,
        admin: AdminClient,
        bootstrap: str,
        single_broker_not_durable: bool,
        request_seconds: float,
        make_missing: bool = True,
    ) -> None:
        self._admin = admin
        self._bootstrap = bootstrap
        self._make_missing = make_missing
        self._single = single_broker_not_durable
        self._seconds = request_seconds
        self._replication = 1 if single_broker_not_durable else REPLICATION
        self._min_insync = 1 if single_broker_not_durable else MIN_INSYNC

    async def ensure(self, topic: Topic) -> int:
        """The topic's count of partitions; makes it if it isn't there. Raises `CanLoseEvents`, `MissingTopic`,
        `LogUnavailable`.
        """
        found = await self._find(topic)
        if found is None:
            if not self._make_missing:
                raise MissingTopic(topic.name)
            found = await self._make(topic)
        if problems := self._problems(topic, found):
            raise CanLoseEvents(problems + self._for_development([found]))
        return found.partitions

    async def exists(self, topic: Topic) -> bool:
        """Whether the topic is there, whatever it is like. Raises `LogUnavailable`."""
        return await self._find(topic) is not None

    async def cluster_id(self) -> str:
        """The id that the cluster got when it was made. Raises `LogUnavailable`."""
        cluster = await self._answered(self._admin.describe_cluster(request_timeout=self._seconds))
        return str(cluster.cluster_id)

    async def apply(self, wanted: Sequence[Topic]) -> list[str]:
        """Makes what is missing, sets right what differs; returns what was done, a sentence each.

        The count of partitions of a topic that exists stays, and so do its replicas. Raises `CanLoseEvents` with what
        remains, `LogUnavailable`.
        """
        done: list[str] = []
        for topic in wanted:
            found = await self._find(topic)
            if found is None:
                await self._make(topic)
                done.append(f"{topic.name} was made with {topic.partitions} partitions.")
                continue
            changes = {
                name: value for name, value in self._settings(topic).items() if not _holds(topic, found, name, value)
            }
            if changes:
                await self._alter(topic, changes)
                listed = ", ".join(
                    f"{name}={value} (was {found.settings.get(name)})" for name, value in changes.items()
                )
                done.append(f"{topic.name} was changed: {listed}.")
        if problems := await self.check(wanted):
            raise CanLoseEvents(problems)
        return done

    async def check(self, wanted: Sequence[Topic]) -> list[str]:
        """What is wrong with these topics, each with what to change; empty if nothing is. Raises `LogUnavailable`."""
        problems: list[str] = []
        there: dict[str, _Found] = {}
        for topic in wanted:
            found = await self._find(topic)
            if found is None:
                problems.append(f"{topic.name} is missing: make it with `guildhall topics apply`.")
            else:
                problems += self._problems(topic, found)
                there[topic.name] = found
        problems += topics.not_alike({name: found.partitions for name, found in there.items()})
        return problems + self._for_development(there.values())

    async def _answered(self, future: "concurrent.futures.Future[Any]") -> Any:
        """The answer to an admin request. Raises `LogUnavailable`, with the `KafkaException` as its cause."""
        try:
            return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise LogUnavailable(f"Kafka at {self._bootstrap}: {kafka_error(error).str()}") from error

    async def _check_brokers(self) -> None:
        """Only where a topic is to be made: a broker that is down counts as none, and is no reason to stop serving."""
        cluster = await self._answered(self._admin.describe_cluster(request_timeout=self._seconds))
        brokers = len(cluster.nodes)
        if self._single and brokers > 1:
            raise CanLoseEvents([f"The cluster has {brokers} brokers: leave out --single-broker-not-durable."])
        if not self._single and brokers < REPLICATION:
            raise CanLoseEvents(
                [
                    f"The cluster has {brokers} broker{'s' * (brokers != 1)}, a record is to lie on {REPLICATION}: "
                    "add brokers, or for development on one say --single-broker-not-durable."
                ]
            )

    def _settings(self, topic: Topic) -> dict[str, str]:
        at_least = {name: str(value) for name, value in topic.at_least.items()}
        return {**topic.exactly, **at_least, **topic.tuning, "min.insync.replicas": str(self._min_insync)}

    async def _make(self, topic: Topic) -> _Found:
        await self._check_brokers()
        new = NewTopic(topic.name, topic.partitions, self._replication, config=self._settings(topic))
        making = self._admin.create_topics([new], request_timeout=self._seconds, operation_timeout=self._seconds)
        try:
            await self._answered(making[topic.name])
        except LogUnavailable as error:
            # Another process may be quicker; what it made is judged like any other.
            if _code(error) != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        until = time.monotonic() + self._seconds
        while (found := await self._find(topic)) is None:
            if time.monotonic() > until:
                raise LogUnavailable(f"{topic.name} was made, and isn't there yet")
            await asyncio.sleep(_PAUSE_SECONDS)
        return found

    async def _alter(self, topic: Topic, changes: dict[str, str]) -> None:
        entries = [ConfigEntry(n, v, incremental_operation=AlterConfigOpType.SET) for n, v in changes.items()]
        resource = ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=entries)
        altering = self._admin.incremental_alter_configs([resource], request_timeout=self._seconds)
        await self._answered(altering[resource])

    async def _find(self, topic: Topic) -> _Found | None:
        """None if there is no such topic. Waits for one that has no leaders yet. Raises `LogUnavailable`."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                return await self._look(topic.name)
            except LogUnavailable as error:
                code = _code(error)
                if code in _UNKNOWN:
                    return None
                if code not in _NO_LEADER or time.monotonic() > until:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
            await self._refresh(topic.name)

    async def _refresh(self, name: str) -> None:
        """The admin client keeps on asking the leaders that it knew, until it is made to look for newer ones."""
        try:
            await asyncio.to_thread(self._admin.list_topics, name, timeout=self._seconds)
        except KafkaException as error:
            raise LogUnavailable(f"Kafka at {self._bootstrap}: {kafka_error(error).str()}") from error

    async def _look(self, name: str) -> _Found:
        asked = self._admin.describe_topics(TopicCollection([name]), request_timeout=self._seconds)
        partitions = (await self._answered(asked[name])).partitions
        resource = ConfigResource(ResourceType.TOPIC, name)
        described = self._admin.describe_configs([resource], request_timeout=self._seconds)
        settings = await self._answered(described[resource])
        places = [TopicPartition(name, partition.id) for partition in partitions]
        offsets: dict[Any, Any] = self._admin.list_offsets(
            {place: OffsetSpec.earliest() for place in places}, request_timeout=self._seconds
        )
        first = [(await self._answered(offsets[place])).offset for place in places]
        if min(first) < 0:  # what the admin client answers, without an error, when its time is up
            raise LogUnavailable(f"{name}: no answer")
        return _Found(
            partitions=len(partitions),
            replicas=min(len(partition.replicas) for partition in partitions),
            settings={entry.name: entry.value for entry in settings.values()},
            first=first,
        )

    def _problems(self, topic: Topic, found: _Found) -> list[str]:
        name, settings = topic.name, found.settings
        problems = [
            f"{name} has {key}={settings.get(key)}: set {key}={value} (`guildhall topics apply` does)."
            for key, value in topic.exactly.items()
            if settings.get(key) != value
        ]
        problems += [
            f"{name} has {key}={settings.get(key)}: set at least {value} (`guildhall topics apply` does)."
            for key, value in {**topic.at_least, "min.insync.replicas": self._min_insync}.items()
            if int(settings.get(key, 0)) < value
        ]
        if found.replicas < self._replication:
            problems.append(
                f"{name} lies on {found.replicas} broker{'s' * (found.replicas != 1)}: "
                f"reassign its partitions to {self._replication} replicas each (kafka-reassign-partitions.sh)."
            )
        if self._single and found.replicas > 1:
            problems.append(f"{name} lies on {found.replicas} brokers: leave out --single-broker-not-durable.")
        insync = int(settings.get("min.insync.replicas", 0))
        if insync > found.replicas:
            problems.append(
                f"{name} lies on {found.replicas} and acknowledges on {insync} brokers, so never: "
                f"set min.insync.replicas={self._min_insync}."
            )
        if topic.from_zero:
            problems += [
                f"{name}/{partition} begins at offset {first}, so records before it were deleted: "
                "restore the topic from a backup, or serve from another."
                for partition, first in enumerate(found.first)
                if first != 0
            ]
        return problems

    def _for_development(self, there: Iterable[_Found]) -> list[str]:
        """What to do with topics of one replica beside what is said of each; once, however many there are."""
        if self._single or all(found.replicas > 1 for found in there):
            return []
        return ["For development on a cluster of one broker say --single-broker-not-durable."]


def _holds(topic: Topic, found: _Found, name: str, value: str) -> bool:
    """Whether a setting needs no change."""
    current = found.settings.get(name)
    if current is not None and (name in topic.at_least or name == "min.insync.replicas"):
        return int(current) >= int(value)
    return current == value


def _code(error: LogUnavailable) -> int | None:
    """Kafka's code of what the request met."""
    return kafka_error(error.__cause__).code() if isinstance(error.__cause__, KafkaException) else None
