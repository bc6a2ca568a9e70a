"""`guildhall log show|tail|verify|stats`: a hall's log, on Kafka or in a file, readable."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.kafka_options import (
    Kafka,
    KafkaCluster,
    KafkaConfig,
    OnKafka,
    SingleBroker,
    on_kafka,
    open_existing,
)
from guildhall.cli.log_books import Book, GameBook
from guildhall.cli.log_lines import key_of
from guildhall.cli.pool_log import MatchmakingBook
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import FoldState, Verdict
from guildhall.log.port import Log
from guildhall.log.provision import MissingTopic
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store, checkpointed, open_store
from guildhall.log.topics import MATCHMAKING

POLL_SECONDS = 0.25

Data = Annotated[Path, typer.Option(help="Data directory of a hall on one machine.")]
Game = Annotated[str | None, typer.Option("--game", help="Only the games of this name, such as arcane-alley.")]
BookName = Annotated[
    str | None, typer.Option("--game", help="Only the games of this name, such as arcane-alley, or `matchmaking`.")
]
Events = Annotated[bool, typer.Option("--events", help="Also what each event says, as a spectator may see it.")]
Secrets = Annotated[
    bool, typer.Option("--secrets", help="Also what no player may see: seed, hidden items, agenda, draws.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Look into a hall's log: of one machine (--data), or on Kafka (--kafka).", no_args_is_help=True
    )
    group.callback()(lambda: None)
    for command in (show, tail, verify, stats):
        group.command()(command)
    app.add_typer(group, name="log")


def show(
    game_id: Annotated[
        str | None,
        typer.Argument(help="Only this game's records; of a pool the game's name. Default: all, with claims."),
    ] = None,
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
    game: BookName = None,
    events: Events = False,
    secrets: Secrets = False,
) -> None:
    """Print the records of a hall's log: offset, what the fold makes of it, version, whose command, events.

    The hall may be running. A record is void if another instance had claimed the partition, or its version is not next.
    """
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_show(there, data, game, game_id, _liner(events or secrets, secrets)))


def tail(
    game_id: Annotated[
        str | None, typer.Argument(help="Only this game's records, or a pool's, by its game's name.")
    ] = None,
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
    game: BookName = None,
    events: Events = False,
    secrets: Secrets = False,
    last: Annotated[int, typer.Option(min=0, help="First the newest so many of each partition; reads all.")] = 0,
) -> None:
    """Print records as they come, until Ctrl-C."""
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_tail(there, data, game, game_id, _liner(events or secrets, secrets), last))


def verify(
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
    game: BookName = None,
) -> None:
    """Check a whole log: that every record can be read, every game's and pool's hash chain and fold, games' luck, and
    that the stored states are those of the events. Exit code 1 if anything is wrong; what operators have put back is
    told.
    """
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_verify(there, data, game))


def stats(
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
    game: BookName = None,
) -> None:
    """Count what a log holds: records by what the fold makes of them, claims, games by how they stand."""
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_stats(there, data, game))


# --- the games of a log


@asynccontextmanager
async def opened(there: OnKafka | None, data: Path) -> AsyncIterator[tuple[Log, str]]:
    """A log that is there, and where it is. Raises Problem, LogError."""
    log, where = open_existing(there, data)
    try:
        yield log, where
    finally:
        await log.close()


async def books(log: Log, game: str | None) -> list[tuple[Book, Store]]:
    """What the log has topics of: each game, and matchmaking; or that one. Raises as `stores`."""
    found: list[tuple[Book, Store]] = []
    if game != MATCHMAKING:
        found += [(GameBook(rules), store) for rules, store in await stores(log, game)]
    if game in (None, MATCHMAKING):
        try:
            found.append((MatchmakingBook(), await open_store(log, MATCHMAKING)))
        except MissingTopic:
            if game is not None:
                raise
    return found


async def stores(log: Log, game: str | None) -> list[tuple[Rules, Store]]:
    """Each game that the log has topics of, or that one. Raises Problem, LogError, typer.BadParameter."""
    found: list[tuple[Rules, Store]] = []
    missing: MissingTopic | None = None
    for name in faces.games() if game is None else [faces.game_name(game)]:
        try:
            found.append((faces.rules(name), await open_store(log, name)))
        except MissingTopic as error:
            missing = error
    if not found and missing is not None:
        raise missing
    return found


# --- the commands

Liner = Callable[[Book, Verdict], list[str]]


def _liner(events: bool, secrets: bool) -> Liner:
    return lambda book, verdict: book.lines(verdict, events=events, secrets=secrets)


async def _show(there: OnKafka | None, data: Path, game: str | None, game_id: str | None, liner: Liner) -> None:
    shown = 0
    async with opened(there, data) as (log, _):
        for book, store in await books(log, game):
            for partition in range(store.events.partitions):
                printer = _Printer(book, store, partition, game_id, liner)
                await fold_to_end(store.events, partition, FoldState(), printer.told)
                shown += printer.printed
    if game_id is not None and not shown:
        raise Problem(f"The log holds no record of game {game_id!r}.")


class _Printer:
    """Prints the records of one partition, under its name."""

    def __init__(self, book: Book, store: Store, partition: int, game_id: str | None, liner: Liner) -> None:
        self._book = book
        self._heading = f"{store.events.name}, partition {partition}"
        self._game_id = game_id
        self._liner = liner
        self.printed = 0

    def told(self, verdict: Verdict) -> None:
        if self._game_id is None or key_of(verdict) == self._game_id:
            if not self.printed:
                typer.echo(self._heading)
            self.printed += 1
            for line in self._liner(self._book, verdict):
                typer.echo(line)


class _Tail:
    """One partition that is followed."""

    def __init__(
        self, book: Book, store: Store, partition: int, state: FoldState, game_id: str | None, liner: Liner
    ) -> None:
        self._book = book
        self._topic = store.events
        self._partition = partition
        self._state = state
        self._game_id = game_id
        self._liner = liner

    async def catch_up(self, last: int) -> None:
        """Fold what is there, and print the newest records of it."""
        newest: deque[Verdict] = deque(maxlen=last)
        await fold_to_end(
            self._topic,
            self._partition,
            self._state,
            lambda verdict: newest.append(verdict) if self._wanted(verdict) else None,
        )
        for verdict in newest:
            self._print(verdict)

    async def read_on(self) -> None:
        """Print what has come since."""
        await fold_to_end(
            self._topic,
            self._partition,
            self._state,
            lambda verdict: self._print(verdict) if self._wanted(verdict) else None,
        )

    def _wanted(self, verdict: Verdict) -> bool:
        return self._game_id is None or key_of(verdict) == self._game_id

    def _print(self, verdict: Verdict) -> None:
        for line in self._liner(self._book, verdict):
            typer.echo(f"{self._book.name.replace('_', '-')}/{self._partition} {line}")


async def _tail(
    there: OnKafka | None, data: Path, game: str | None, game_id: str | None, liner: Liner, last: int
) -> None:
    async with opened(there, data) as (log, where):
        tails: list[_Tail] | None = None
        reachable = True
        while True:
            try:
                if tails is None:
                    tails = await _tails(log, game, game_id, liner, last)
                    typer.echo(f"Following {len(tails)} partitions of {where}; Ctrl-C ends it.", err=True)
                for each in tails:
                    await each.read_on()
                if not reachable:
                    typer.echo("The log can be reached again.", err=True)
                reachable = True
            except LogUnavailable as error:
                if reachable:
                    typer.echo(f"The log cannot be reached now ({error}); trying again.", err=True)
                reachable = False
            await asyncio.sleep(POLL_SECONDS)


async def _tails(log: Log, game: str | None, game_id: str | None, liner: Liner, last: int) -> "list[_Tail]":
    """Every partition, folded to its end, its newest records printed. Raises Problem, LogError."""
    found = []
    for book, store in await books(log, game):
        for partition in range(store.events.partitions):
            # What is to be printed may lie before the checkpoint, and only the fold tells what counts.
            state = FoldState() if last else await checkpointed(store, partition)
            found.append(_Tail(book, store, partition, state, game_id, liner))
            await found[-1].catch_up(last)
    return found


async def _verify(there: OnKafka | None, data: Path, game: str | None) -> None:
    problems = 0
    async with opened(there, data) as (log, where):
        for book, store in await books(log, game):
            found = await book.verify(store)
            for line in found.notes:
                typer.echo(line)
            for line in found.problems:
                typer.echo(line, err=True)
            problems += len(found.problems)
            typer.echo(found.summary)
    if problems:
        raise Problem(f"{where}: {problems} {'problem' if problems == 1 else 'problems'}.")
    typer.echo(f"{where} is whole.")


async def _stats(there: OnKafka | None, data: Path, game: str | None) -> None:
    async with opened(there, data) as (log, where):
        typer.echo(where)
        for book, store in await books(log, game):
            for line in await book.stats(store):
                typer.echo(line)
