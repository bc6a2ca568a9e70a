"""The law of streams: whatever a stream delivered, over any number of reconnects, is the history as its viewer may see
it, once each, in order; and folding it gives the view that the viewer gets (design sections 2 and 6).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from redis.asyncio import Redis

from guildhall.client.folder import CannotFold, Folder
from guildhall.kernel.game import UNDO, Game, restore
from guildhall.kernel.v1.structs import OpenDecision, Restored, Undone, decode_Record
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Log
from guildhall.readmodel.changes import Models
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from services.projection.rebuild import rebuild, remove_old
from services.projection.service import Projection
from services.views.service import GameViews, Views
from services.views.view_service import ViewService
from services.views.watch import WatchLimits
from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.games.trickerion.subject import TRICKERION
from tests.kernel.test_tiny_game import TINY
from tests.readmodel.played import Table
from tests.suites.subject import Subject, pick

SUBJECTS = {"tiny": TINY, "arcane_alley": ARCANE_ALLEY, "trickerion": TRICKERION}
COMMANDS = 60
UNDO_SHARE = {"tiny": 0.3, "arcane_alley": 0.9, "trickerion": 0.3}
MAY_COME_AGAIN = {"SLOW_WATCHER", "VIEW_BEHIND", "READ_MODELS_UNAVAILABLE"}


class Patient:
    """What a method asks of its call: how long it may take."""

    def time_remaining(self) -> float | None:
        return 20.0


@dataclass(frozen=True)
class Watching:
    """How somebody watches: from which seat, in which mode, from where on, and when it comes again."""

    seat: int | None
    events: bool
    begin: int | None
    """After which version; None: at the newest, with the whole view."""
    cuts: tuple[int, ...]
    """After how many messages a stream is given up, one after the other; then it is read to its end."""


@dataclass
class Hall:
    """A projection and views of one game, and games that are played into its log."""

    subject: Subject
    table: Table
    log: Log
    views: Views
    projection: Projection
    game: GameViews
    service: ViewService

    def caller(self, game_id: str, seat: int | None) -> Caller:
        subject = "sam" if seat is None else self.table.games[game_id].created.subjects[seat]
        return Caller(subject, frozenset({"play", "spectate"}), 1e12)

    async def stream(self, game_id: str, watching: Watching, after: int | None) -> AsyncIterator[Any]:
        wire = self.subject.rules.wire
        mode = wire.WatchMode.EVENTS if watching.events else wire.WatchMode.VIEWS
        request = wire.encode_WatchViewRequest(wire.WatchViewRequest(game_id, mode, after))
        answers = self.service.watch_view(request, self.caller(game_id, watching.seat), Patient())
        async with aclosing(answers) as messages:
            async for message in messages:
                yield wire.decode_WatchViewResponse(message)

    async def watch(self, game_id: str, watching: Watching, last: asyncio.Future[int]) -> list[Any]:
        """Everything that came but heartbeats, until the version is there that will be the last."""
        got: list[Any] = []
        after = watching.begin
        cuts = list(watching.cuts)
        while not (last.done() and after is not None and after >= last.result()):
            taken = 0
            try:
                async with aclosing(self.stream(game_id, watching, after)) as messages:
                    async for message in messages:
                        taken += 1
                        after = message.version
                        if message.heartbeat is None:
                            got.append(message)
                        if cuts and taken == cuts[0]:
                            del cuts[0]
                            break
                        if last.done() and message.version >= last.result():
                            break
            except Failure as failure:
                if failure.reason not in MAY_COME_AGAIN:
                    raise
            await asyncio.sleep(0.005)
        return got


Beside: TypeAlias = Callable[[Hall], Awaitable[None]]
"""What goes on while games are played and watched."""


async def open_hall(redis: Redis, subject: Subject, random: Random) -> Hall:
    await redis.flushall()
    log = MemoryBroker().log()
    topic = await log.events(f"guildhall.{subject.rules.game}.events", 2)
    limits = WatchLimits(heartbeat_seconds=0.05)
    projection, views = Projection([subject.rules], log, redis), Views([subject.rules], redis, limits)
    await projection.start()
    await views.open(log)
    await views.start()
    game = views.games[subject.rules.game]
    table = Table(topic, random, subject.rules, lambda played, luck: move(subject, played, luck))
    return Hall(subject, table, log, views, projection, game, ViewService(game.reads, game.messages, limits))


async def play_and_watch(
    redis: Redis,
    subject: Subject,
    seed: int,
    watchings: list[Watching],
    before: int = 0,
    *,
    commands: int = COMMANDS,
    put_back: bool = False,
    beside: Beside | None = None,
) -> tuple[Hall, str, list[list[Any]]]:
    """A random game, `before` commands of it before the first comes to watch; what each saw."""
    random = Random(seed)
    hall = await open_hall(redis, subject, random)
    creation = subject.creation(random)
    choices = {"options": creation.options, "rulings": creation.rulings}
    game_id = await hall.table.create(tuple(creation.subjects), **choices)
    game = hall.table.games[game_id]
    for _ in range(before):
        await step(hall, game_id)
    last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    seats = len(creation.subjects)
    watchings = [
        replace_seat(watching, None if watching.seat is None else watching.seat % seats, game.version)
        for watching in watchings
    ]
    tasks = [asyncio.create_task(hall.watch(game_id, watching, last)) for watching in watchings]
    going_on = asyncio.create_task(beside(hall)) if beside is not None else None
    for number in range(commands - before):
        await step(hall, game_id)
        if put_back and number == 5 and game.ended is None:
            await hall.table.put_back(game_id, max(1, game.version - 3))
        if random.random() < 0.3:
            await asyncio.sleep(random.random() * 0.004)
    if going_on is not None:
        await going_on
        await step(hall, game_id)
    last.set_result(game.version)
    async with asyncio.timeout(30):
        got = await asyncio.gather(*tasks)
    await hall.views.stop()
    await hall.projection.close()
    for watching, messages in zip(watchings, got, strict=True):
        check(hall, game_id, watching, messages)
    return hall, game_id, got


def move(subject: Subject, game: Game, random: Random) -> tuple[OpenDecision, Any]:
    """A random one; steps are taken back far more often than random play does: in some games few can be."""
    decision, command = pick(subject, game, random)
    if random.random() < UNDO_SHARE[subject.rules.game] and UNDO in game.legal(decision.seat).commands:
        command = UNDO
    return decision, command


async def step(hall: Hall, game_id: str) -> None:
    if hall.table.games[game_id].ended is None:
        await hall.table.step(game_id)


def replace_seat(watching: Watching, seat: int | None, newest: int) -> Watching:
    begin = None if watching.begin is None else min(watching.begin, newest)
    return Watching(seat, watching.events, begin, watching.cuts)


def check(hall: Hall, game_id: str, watching: Watching, messages: list[Any]) -> None:
    """The law, for one watcher: against the game as it was played, not as any read model has it."""
    newest = hall.table.games[game_id].version
    versions = [message.version for message in messages]
    first = versions[0] if watching.begin is None else watching.begin + 1
    assert versions == list(range(first, newest + 1))
    folder = Folder(hall.subject.rules, watching.seat)
    for number, message in enumerate(messages):
        game = restore(hall.subject.rules, hall.table.snapshots[game_id][message.version - 1])
        view = game.view(watching.seat)
        whole = number == 0 and watching.begin is None
        check_message(hall, game_id, watching, message, game, whole)
        if watching.events and first == 1 and not whole:
            folder.take(message)
            assert folded(folder, message) == (view if message.waiting_for else nobody_asked(view))


def check_message(hall: Hall, game_id: str, watching: Watching, message: Any, game: Game, whole: bool) -> None:
    stored = hall.table.bodies[game_id][message.version - 1]
    record = decode_Record(stored[32:])
    events = hall.game.messages.events(record)
    goes_back = any(type(event) in (Undone, Restored) for event in events)
    if watching.events and not goes_back and not whole:
        assert message.events == hall.game.messages.batch(record, stored[:32], events, watching.seat)
    else:
        assert message.view == game.view(watching.seat)
    if message.waiting_for or message.decisions:
        assert message.waiting_for == hall.game.messages.waiting_for(game)
        assert message.decisions == hall.game.messages.legal(game, watching.seat)


def folded(folder: Folder, message: Any) -> Any:
    return folder.view() if message.waiting_for else nobody_asked(folder.view())


def nobody_asked(view: Any) -> Any:
    return replace(view, game=replace(view.game, waiting_for=()))


watchings = st.builds(
    Watching,
    st.none() | st.integers(0, 3),
    st.booleans(),
    st.none() | st.just(0) | st.integers(0, COMMANDS),
    st.lists(st.integers(1, 12), max_size=6).map(tuple),
)


@pytest.mark.parametrize("name", SUBJECTS)
@given(
    seed=st.integers(0, 1 << 32), before=st.integers(0, COMMANDS), watching=st.lists(watchings, min_size=1, max_size=6)
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_what_streams_deliver_is_the_history(
    redis: Redis, name: str, seed: int, before: int, watching: list[Watching]
) -> None:
    await play_and_watch(redis, SUBJECTS[name], seed, watching, before)


@pytest.mark.parametrize("name", SUBJECTS)
async def test_what_is_taken_back_is_folded_too(redis: Redis, name: str) -> None:
    """Undo, and an operator who puts the game back: the whole view comes, and the fold goes on from there."""
    everybody = [Watching(seat, True, 0, (3, 5)) for seat in (None, 0, 1)]
    undone = restored = 0
    for seed in range(20):
        hall, game_id, _ = await play_and_watch(redis, SUBJECTS[name], seed, everybody, commands=200, put_back=True)
        undone += _count(hall, game_id, Undone)
        restored += _count(hall, game_id, Restored)
        if undone and restored >= 2:
            return
    pytest.fail("nothing was taken back")


@pytest.mark.parametrize("name", SUBJECTS)
async def test_a_game_put_back_behind_what_nobody_can_read_is_folded_too(redis: Redis, name: str) -> None:
    """The versions that nobody can read are left out; what an operator made of the game comes as the whole view."""
    hall = await open_hall(redis, SUBJECTS[name], Random(4))
    creation = hall.subject.creation(Random(4))
    choices = {"options": creation.options, "rulings": creation.rulings}
    game_id = await hall.table.create(tuple(creation.subjects), **choices)
    game = hall.table.games[game_id]
    for _ in range(8):
        await step(hall, game_id)
    last = game.version
    assert game.ended is None
    for _ in range(2):
        await hall.table.spoil(game_id)
    await hall.table.put_back(game_id, last - 1)
    for _ in range(8):
        await step(hall, game_id)
    await hall.projection.level()
    async with asyncio.timeout(20):
        while await redis.exists(hall.game.news.keys_of(game_id).stopped):
            await asyncio.sleep(0.01)
    for seat in (None, 0, 1):
        folder = Folder(hall.subject.rules, seat)
        watching = Watching(seat, True, 0, ())
        versions: list[int] = []
        # From the beginning, and from where a stream ended when the game was quarantined.
        for until in (last, game.version):
            async with aclosing(hall.stream(game_id, watching, folder.version)) as messages:
                async for message in messages:
                    versions.append(message.version)
                    check_message(hall, game_id, watching, message, state(hall, game_id, message.version), False)
                    folder.take(message)
                    view = state(hall, game_id, message.version).view(seat)
                    assert folded(folder, message) == (view if message.waiting_for else nobody_asked(view))
                    if message.version >= until:
                        break
        assert versions == [*range(1, last + 1), *range(last + 3, game.version + 1)]
        gap = hall.subject.rules.wire.WatchViewResponse
        with pytest.raises(CannotFold):
            folder.take(gap(version=folder.version + 2, events=hall.subject.rules.wire.EventBatch()))
        with pytest.raises(CannotFold):
            folder.take(gap(version=folder.version, view=view))
    await hall.views.stop()
    await hall.projection.close()


def state(hall: Hall, game_id: str, version: int) -> Game:
    return restore(hall.subject.rules, hall.table.snapshots[game_id][version - 1])


@pytest.mark.parametrize("name", SUBJECTS)
async def test_nobody_notices_a_rebuild(redis: Redis, name: str) -> None:
    rebuilt: list[bool] = []

    async def rebuild_twice(hall: Hall) -> None:
        models, tail = Models(redis), hall.table.topic.tail()
        for _ in range(2):
            done = [
                await rebuild(hall.subject.rules, hall.table.topic, tail, partition, models)
                for partition in range(hall.table.topic.partitions)
            ]
            await asyncio.gather(*(remove_old(models, each, 0.1) for each in done))
            rebuilt.extend(each.switched and not each.wrong for each in done)
        await tail.close()

    everybody = [Watching(seat, events, 0, (4,)) for seat in (None, 0, 1) for events in (True, False)]
    await play_and_watch(redis, SUBJECTS[name], 1, everybody, commands=120, beside=rebuild_twice)
    assert rebuilt == [True] * 4


@pytest.mark.parametrize("name", SUBJECTS)
async def test_watchers_come_through_a_flush_and_another_projection(redis: Redis, name: str) -> None:
    async def break_everything(hall: Hall) -> None:
        for _ in range(3):
            await asyncio.sleep(0.05)
            await redis.flushall()
            await asyncio.sleep(0.05)
            await hall.projection.close()
            hall.projection = Projection([hall.subject.rules], hall.log, redis)
            await hall.projection.start()

    everybody = [Watching(seat, events, 0, (4,)) for seat in (None, 0, 1) for events in (True, False)]
    await play_and_watch(redis, SUBJECTS[name], 2, everybody, commands=120, beside=break_everything)


def _count(hall: Hall, game_id: str, kind: type) -> int:
    records = [decode_Record(stored[32:]) for stored in hall.table.bodies[game_id]]
    return sum(type(event) is kind for record in records for event in hall.game.messages.events(record))


async def test_a_folder_refuses_what_does_not_follow(redis: Redis) -> None:
    hall, game_id, [messages] = await play_and_watch(redis, TINY, 3, [Watching(0, True, 0, ())])
    folder = Folder(TINY.rules, 0)
    with pytest.raises(CannotFold):
        folder.take(messages[1])
    folder.take(messages[0])
    before = folder.view()
    with pytest.raises(CannotFold):
        folder.take(messages[0])
    other = TINY.rules.wire.WatchViewResponse(
        version=2, view=restore(TINY.rules, hall.table.snapshots[game_id][-1]).view(0)
    )
    with pytest.raises(CannotFold):
        folder.take(other)
    assert folder.view() == before and folder.version == 1
