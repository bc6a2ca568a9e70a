"""GamesService tells each caller of the games that it may see, whichever they are of, and of nothing else."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from random import Random
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from redis.asyncio import Redis

from guildhall.games.v1 import structs as g
from guildhall.host.messages import Messages
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.kernel.verify import verify
from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import EventsTopic, Record, partition_of
from guildhall.readmodel.child import RedisChild
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Progress, decode, encode
from guildhall.rpc.errors import Failure, error_info
from guildhall.rpc.identity import Authenticator, FixedKeys, key_id, mint
from guildhall.rpc.limits import Limits, Meter
from guildhall.rpc.pages import hall_key
from guildhall.rpc.server import Gate, Server
from guildhall.telemetry import metrics
from services.arcane_alley.rules import RULES as ARCANE
from services.projection.partition import PartitionProjection
from services.projection.service import Projection
from services.views import games_models, games_service, leaderboard, levels, listing
from services.views.games_service import GAMES_SERVICE, MAX_PAGE, GamesService
from services.views.live_games import LiveGames
from services.views.news import News
from services.views.reads import RedisReadSide
from tests.kernel.tiny.game import RULES as TINY
from tests.readmodel.played import Table

PARTITIONS = 3
BOTH = ("play", "spectate")
PRIVATE = {"spectators": False}
BEGIN_MS = time.time_ns() // 1_000_000


class Models:
    """A game's read models, as `serve views` holds them."""

    def __init__(self, rules: Rules, topic: EventsTopic, redis: Redis) -> None:
        async def packs() -> None:
            raise AssertionError("every pack is known")

        self.rules = rules
        self.topic = topic
        self.news = News(rules.game, topic.partitions, redis)
        self.live = LiveGames(Messages(rules), self.news, topic, packs)
        self.reads = RedisReadSide(rules, topic, self.news, self.live)
        self.table = Table(topic, Random(rules.game), rules, begin_ms=BEGIN_MS)


async def reason(call: Awaitable[Any]) -> str:
    """Why a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    info = error_info(error.value)
    assert info is not None, error.value
    return str(info.reason)


class Hall:
    """Two games, their projection, and a server of GamesService over them."""

    def __init__(self, models: dict[str, Models], projection: Projection, redis: Redis) -> None:
        self.models = models
        self.projection = projection
        self.redis = redis
        self.tiny, self.arcane = models[TINY.game].table, models[ARCANE.game].table
        self._key = Ed25519PrivateKey.generate()
        self._server = Server()
        self.service = GamesService(models, hall_key(self._key))
        self._channel: Any = None

    async def start(self) -> None:
        for of in self.models.values():
            await of.news.start()
            of.live.start()
        public = self._key.public_key()
        gate = Gate(Authenticator(FixedKeys({key_id(public): public})), Meter(Limits()))
        self._server.add(GAMES_SERVICE, self.service, gate)
        port = self._server.bind("127.0.0.1", 0)
        await self._server.start()
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def close(self) -> None:
        await self._channel.close()
        self.service.close()
        await self._server.stop(0.0)
        for of in self.models.values():
            await of.live.close()
            await of.news.close()
        await self.projection.close()

    async def raw(self, subject: str, method: str, *, scopes: Sequence[str] = BOTH, **fields: Any) -> list[bytes]:
        """The bytes that this caller gets: one answer, or a stream of them."""
        wire: Any = g
        request = getattr(wire, f"encode_{method}Request")(getattr(wire, f"{method}Request")(**fields))
        return await self.send(subject, method, request, scopes)

    async def send(
        self, subject: str, method: str, request: bytes, scopes: Sequence[str] = BOTH, timeout: float = 10.0
    ) -> list[bytes]:
        path = f"/{GAMES_SERVICE.full_name}/{method}"
        metadata = (("authorization", f"Bearer {mint(self._key, subject, scopes, 600)}"),)
        if GAMES_SERVICE.methods_by_name[method].server_streaming:
            return [bytes(part) async for part in self._channel.unary_stream(path)(request, metadata=metadata)]
        return [bytes(await self._channel.unary_unary(path)(request, metadata=metadata, timeout=timeout))]

    async def send_or_refused(self, subject: str, method: str, request: bytes) -> str:
        """ "" where it is answered, else why not."""
        try:
            await self.send(subject, method, request, timeout=2.5)
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            assert info is not None, error
            return str(info.reason)
        return ""

    async def ask(self, subject: str, method: str, **fields: Any) -> Any:
        [answer] = await self.raw(subject, method, **fields)
        return getattr(g, f"decode_{method}Response")(answer)

    async def pages(self, subject: str, method: str, part: str, size: int, **fields: Any) -> list[Any]:
        """All of a listing, page by page."""
        found: list[Any] = []
        token = ""
        while True:
            answer = await self.ask(subject, method, page_size=size, page_token=token, **fields)
            page = getattr(answer, part)
            assert len(page) <= size
            found += page
            token = answer.next_page_token
            if not token:
                return found

    async def refused(self, subject: str, method: str, **fields: Any) -> str:
        """The reason of a refusal."""
        return await reason(self.raw(subject, method, **fields))

    async def caught_up(self) -> None:
        async with asyncio.timeout(20):
            for of in self.models.values():
                for partition in range(PARTITIONS):
                    end = await of.topic.end_offset(partition)
                    while end:
                        stored = await self.redis.get(Keys(of.rules.game, partition).position)
                        if stored is not None and decode(stored, Progress).next_offset >= end:
                            break
                        await asyncio.sleep(0.01)

    def games(self) -> list[tuple[str, str, Game]]:
        """(game, id, state) of every game."""
        return [(name, game_id, game) for name, of in self.models.items() for game_id, game in of.table.games.items()]

    def created(self, name: str, game_id: str) -> int:
        """When it was: the tables count."""
        table = self.models[name].table
        return table.begin_ms + list(table.games).index(game_id) + 1


@pytest.fixture
async def hall(redis: Redis) -> AsyncIterator[Hall]:
    log = MemoryBroker().log()
    rules = {each.game: each for each in (TINY, ARCANE)}
    topics = {name: await log.events(f"guildhall.{name}.events", PARTITIONS) for name in rules}
    projection = Projection(list(rules.values()), log, redis)
    await projection.start()
    hall = Hall({name: Models(rules[name], topics[name], redis) for name in rules}, projection, redis)
    await hall.start()
    yield hall
    await hall.close()


async def play(hall: Hall) -> None:
    """Games of both kinds with and without spectators, some of them over."""
    for table, choices in ((hall.tiny, {}), (hall.arcane, {}), (hall.tiny, PRIVATE), (hall.arcane, PRIVATE)):
        await table.create(("alice", "bob"), **choices)
        await table.create(("bob", "carol", "dora"), decision_ms=90_000, **choices)
        await table.create(("alice", "carol"), decision_ms=30_000, **choices)
    await hall.tiny.play(2, 120)
    await hall.arcane.play(0, 30)
    await hall.caught_up()


def may_see(subject: str, scopes: Sequence[str], game: Game) -> bool:
    created = game.created
    return ("play" in scopes and subject in created.subjects) or ("spectate" in scopes and created.spectators)


@pytest.mark.parametrize("size", [1, 2, 7, 500])
async def test_lists_hold_what_the_caller_may_see_in_order_whatever_the_page(hall: Hall, size: int) -> None:
    await play(hall)
    for subject, scopes in (("alice", BOTH), ("bob", ("play",)), ("sam", ("spectate",)), ("eve", ("play",))):
        seen = [(name, game_id, game) for name, game_id, game in hall.games() if may_see(subject, scopes, game)]
        seen.sort(key=lambda entry: (hall.created(*entry[:2]), entry[1], entry[0]), reverse=True)
        every = [(name, game_id) for name, game_id, _ in seen]
        still = [(name, game_id) for name, game_id, game in seen if game.ended is None]
        over = sorted((entry for entry in seen if entry[2].ended), key=lambda e: (e[2].at_ms, e[1], e[0]), reverse=True)
        for state, expected in (
            (g.GameState.UNSPECIFIED, every),
            (g.GameState.OPEN, still),
            (g.GameState.FINISHED, [entry[:2] for entry in over]),
        ):
            found = await hall.pages(subject, "ListGames", "games", size, state=int(state), scopes=scopes)
            assert [(each.game, each.game_id) for each in found] == expected
        results = await hall.pages(subject, "ListResults", "results", size, scopes=scopes)
        assert [(each.game, each.game_id) for each in results] == [entry[:2] for entry in over]
    assert over == []
    one = await hall.pages("alice", "ListGames", "games", size, games=(TINY.game,), mine=True)
    mine = {game_id for game_id, game in hall.tiny.games.items() if "alice" in game.created.subjects}
    assert {each.game_id for each in one} == mine and len(one) == len(mine)


async def test_a_game_is_shown_as_it_stands(hall: Hall) -> None:
    await play(hall)
    finished = 0
    for name, game_id, game in hall.games():
        subject = game.created.subjects[0]
        found = (await hall.ask(subject, "GetGame", game_id=game_id)).game
        info = game.info(0)
        assert (found.game, found.game_id, found.version, found.caller_seat) == (name, game_id, game.version, 0)
        assert found.waiting_for == info.waiting_for and found.options == info.options
        assert [(place.seat, place.subject, place.resigned) for place in found.places] == [
            (seat.seat, seat.subject, seat.resigned) for seat in info.seats
        ]
        assert (found.spectators, found.changed_ms) == (game.created.spectators, game.at_ms)
        assert not found.unavailable and not found.paused
        if game.ended is not None:
            finished += 1
            assert [place.rank for place in found.places] == list(game.ended.ranks)
            assert (found.state, found.end_reason) == (g.GameState.FINISHED, game.ended.reason)
        else:
            assert (found.state, found.end_reason) == (g.GameState.OPEN, 0)
            assert [place.rank for place in found.places] == [0] * len(found.places)
    assert finished


async def test_whoever_may_not_see_a_game_learns_nothing_of_it_from_any_byte(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "COUNT_AGAIN_SECONDS", 0.0)
    await hall.tiny.create(("alice", "bob"))
    await hall.arcane.create(("bob", "carol"))
    await hall.tiny.play(1, 60)
    await hall.caught_up()

    async def told() -> list[list[bytes]]:
        every = []
        for subject in ("eve", "sam"):
            for fields in ({}, {"state": 1}, {"state": 2}, {"page_size": 1}, {"games": (TINY.game,)}):
                every.append(await hall.raw(subject, "ListGames", **fields))
            every.append(await hall.raw(subject, "ListResults"))
            every.append(await hall.raw(subject, "ListMyDecisions"))
            board = g.decode_GetLeaderboardResponse((await hall.raw(subject, "GetLeaderboard", game=TINY.game))[0])
            every.append([g.encode_GetLeaderboardResponse(g.GetLeaderboardResponse(0, board.lines, board.own))])
        return every

    before = await told()
    hall.tiny.random.seed(7)
    hidden = [await hall.tiny.create(("bob", "carol"), **PRIVATE) for _ in range(3)]
    while hall.tiny.games[hidden[0]].ended is None:
        await hall.tiny.step(hidden[0])
    await hall.caught_up()
    assert await told() == before
    for subject in ("eve", "sam"):
        for game_id in (hidden[0], hidden[1], "no-such-game"):
            assert await hall.refused(subject, "GetGame", game_id=game_id) == "GAME_NOT_FOUND"
            assert await hall.refused(subject, "GetVerificationBundle", game_id=game_id) == "GAME_NOT_FOUND"
    assert [each.game_id for each in (await hall.ask("carol", "ListResults", mine=True)).results][:1] == hidden[:1]


async def test_open_decisions_come_by_their_deadlines_across_games(hall: Hall) -> None:
    await play(hall)
    for subject in ("alice", "bob", "carol", "eve"):
        expected = [
            (waiting.deadline_ms or 2**53 - 1, game_id, name)
            for name, game_id, game in hall.games()
            for waiting in game.waiting()
            if game.created.subjects[waiting.seat] == subject
        ]
        for size in (1, 3, 100):
            found = await hall.pages(subject, "ListMyDecisions", "decisions", size)
            told = [(each.decision.deadline_ms or 2**53 - 1, each.game_id, each.game) for each in found]
            assert told == sorted(expected)
            for each in found:
                game = hall.models[each.game].table.games[each.game_id]
                assert each.decision in game.info(None).waiting_for and each.version == game.version
        assert await hall.refused(subject, "ListMyDecisions", scopes=("spectate",)) == "MISSING_SCOPE"
    assert expected == []


async def test_the_leaderboard_counts_games_that_everybody_may_watch(hall: Hall) -> None:
    await hall.tiny.play(6, 2_000)
    assert all(game.ended is not None for game in hall.tiny.games.values())
    secret = await hall.tiny.create(("alice", "bob"), **PRIVATE)
    while hall.tiny.games[secret].ended is None:
        await hall.tiny.step(secret)
    await hall.caught_up()
    games = [game for game in hall.tiny.games.values() if game.created.spectators]
    wins = {
        subject: sum(game.ended.ranks[seat] == 1 for game in games if game.ended)
        for seat, subject in enumerate(("alice", "bob", "carol"))
    }
    board = await hall.ask("bob", "GetLeaderboard", game=TINY.game)
    assert {line.subject: (line.games, line.wins) for line in board.lines} == {
        who: (6, won) for who, won in wins.items()
    }
    assert [line.rank for line in board.lines] == [
        1 + sum(other.wins > line.wins for other in board.lines) for line in board.lines
    ]
    assert board.own in board.lines and board.own.subject == "bob"
    assert len((await hall.ask("bob", "GetLeaderboard", game=TINY.game, limit=1)).lines) == 1
    assert await hall.refused("bob", "GetLeaderboard", game=TINY.game, scopes=("play",)) == "MISSING_SCOPE"
    assert await hall.refused("bob", "GetLeaderboard", game="chess") == "INVALID_GAME"
    assert await hall.refused("bob", "GetLeaderboard", game=TINY.game, limit=MAX_PAGE + 1) == "INVALID_PAGE_SIZE"


async def test_ranks_are_those_of_sorting_and_others_have_their_turns() -> None:
    random = Random(5)
    sums = {f"subject {number:05}": (random.randint(1, 9), random.randint(0, 4)) for number in range(20_000)}
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(others())
    board = await leaderboard.board(7, sums)
    running.cancel()
    assert turns >= 20
    in_order = sorted(sums, key=lambda subject: (-sums[subject][1], sums[subject][0], subject))
    best = [line.subject for line in board.top]
    assert best == in_order[: leaderboard.LONGEST] and board.counted_ms == 7
    for subject in (*best, *random.sample(in_order, 50)):
        games, wins = sums[subject]
        better = sum((-other_wins, other_games) < (-wins, games) for other_games, other_wins in sums.values())
        assert board.line(subject) == leaderboard.Line(better + 1, subject, games, wins)
    assert all(board.line(line.subject) == line for line in board.top)
    assert board.line("a stranger") is None
    assert (await leaderboard.board(7, {})).top == []


async def test_a_bundle_is_what_verify_takes(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games_service, "BUNDLE_BYTES", 10_000)
    game_id = await hall.arcane.create(("alice", "bob"))
    game = hall.arcane.games[game_id]
    await hall.caught_up()
    assert await hall.refused("alice", "GetVerificationBundle", game_id=game_id) == "GAME_NOT_FINISHED"
    while game.ended is None:
        await hall.arcane.step(game_id)
    assert await hall.refused("sam", "GetVerificationBundle", game_id=game_id) == "NO_SEAT"
    parts = await hall.raw("bob", "GetVerificationBundle", game_id=game_id, min_version=game.version)
    first, *rest = [g.decode_GetVerificationBundleResponse(part) for part in parts]
    header = first.header
    assert header is not None
    assert (header.game, header.game_id, header.versions) == (ARCANE.game, game_id, game.version)
    assert (header.seed, header.seed_hash) == (game.created.seed, game.created.seed_hash)
    assert header.pack == ARCANE.packs.data(header.pack_hash)
    pairs = [(record.body, record.hash) for part in rest if part.records for record in part.records.records]
    assert len(rest) > 1 and max(map(len, parts[1:])) < 20_000
    verified = verify(ARCANE, pairs)
    assert verified.versions == game.version and verified.game.hash == game.hash


async def test_ones_own_game_is_found_as_soon_as_it_is_in_the_log(hall: Hall) -> None:
    for _ in range(20):
        game_id = await hall.tiny.create(("alice", "bob"))
        assert (await hall.ask("alice", "GetGame", game_id=game_id)).game.game_id == game_id
        await hall.tiny.step(game_id)
        assert (await hall.ask("alice", "GetGame", game_id=game_id, min_version=2)).game.version == 2
    await hall.projection.close()
    game_id = await hall.tiny.create(("alice", "bob"))
    request = g.encode_GetGameRequest(g.GetGameRequest(game_id))
    assert await reason(hall.send("alice", "GetGame", request, timeout=1.0)) == "READ_MODELS_UNAVAILABLE"


async def test_bad_requests_are_refused_with_a_reason(hall: Hall) -> None:
    await play(hall)
    token = (await hall.ask("alice", "ListGames", page_size=1)).next_page_token
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    forged = [
        base64.urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]).decode().rstrip("=")
        for at in range(len(raw))
    ]
    for bad in [*forged, "A", "é", token[:-2], token + token, base64.urlsafe_b64encode(bytes(16)).decode()]:
        assert await hall.refused("alice", "ListGames", page_token=bad) == "INVALID_PAGE_TOKEN"
    assert (await hall.ask("alice", "ListGames", page_token=token)).games
    assert await hall.refused("bob", "ListGames", page_token=token) == "INVALID_PAGE_TOKEN"
    for fields in ({"state": 1}, {"mine": True}, {"games": (TINY.game,)}):
        assert await hall.refused("alice", "ListGames", page_token=token, **fields) == "INVALID_PAGE_TOKEN"
    assert await hall.refused("alice", "ListResults", page_token=token) == "INVALID_PAGE_TOKEN"
    for method in ("ListGames", "ListResults", "ListMyDecisions"):
        assert await hall.refused("alice", method, page_size=MAX_PAGE + 1) == "INVALID_PAGE_SIZE"
        assert await hall.refused("alice", method, games=("chess",)) == "INVALID_GAME"
        assert await hall.refused("alice", method, scopes=("seat",)) == "MISSING_SCOPE"
    for unknown in (b"\x10\x09", b"\xff"):
        assert await reason(hall.send("alice", "ListGames", unknown)) == "MALFORMED_MESSAGE"
    assert await hall.refused("alice", "ListGames", mine=True, scopes=("spectate",)) == "MISSING_SCOPE"
    assert await hall.refused("alice", "GetGame", game_id="") == "GAME_NOT_FOUND"
    assert await hall.refused("alice", "GetGame", game_id="x", scopes=()) == "MISSING_SCOPE"


async def test_without_redis_nothing_is_told(hall: Hall, server: RedisChild) -> None:
    await play(hall)
    await server.stop()
    for method, fields in (
        ("ListGames", {}),
        ("ListMyDecisions", {}),
        ("GetGame", {"game_id": "x"}),
        ("GetLeaderboard", {"game": TINY.game}),
    ):
        assert await hall.refused("alice", method, **fields) == "READ_MODELS_UNAVAILABLE"
    await server.start()
    await hall.caught_up()
    assert (await hall.ask("alice", "ListGames")).games
    assert (await hall.ask("alice", "GetLeaderboard", game=TINY.game)).counted_ms


async def test_models_that_were_lost_are_not_taken_for_whole(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list that is told as one is a wrong answer."""
    monkeypatch.setattr(leaderboard, "COUNT_AGAIN_SECONDS", 0.0)
    await play(hall)
    await hall.caught_up()
    asked = [
        ("ListGames", g.encode_ListGamesRequest(g.ListGamesRequest())),
        ("ListResults", g.encode_ListResultsRequest(g.ListResultsRequest())),
        ("ListMyDecisions", g.encode_ListMyDecisionsRequest(g.ListMyDecisionsRequest())),
        ("GetLeaderboard", g.encode_GetLeaderboardRequest(g.GetLeaderboardRequest(TINY.game))),
    ]
    told = [await hall.send("alice", method, request) for method, request in asked]
    await hall.projection.close()
    positions = {}
    for of in hall.models.values():
        for keys in games_models.partitions(of):
            positions[keys.position] = await hall.redis.get(keys.position)
    kept = {key: await hall.redis.dump(key) for key in await hall.redis.keys()}
    await hall.redis.flushall()
    for method, request in asked:
        assert await reason(hall.send("alice", method, request, timeout=2.5)) == "READ_MODELS_UNAVAILABLE"
    # Half of them is not enough.
    for key, dumped in kept.items():
        if dumped is not None:
            await hall.redis.restore(key, 0, dumped)
    last = max(key for key, position in positions.items() if position and decode(position, Progress).next_offset)
    progress = decode(positions[last], Progress)
    await hall.redis.set(last, encode(replace(progress, next_offset=progress.next_offset - 1)))
    refused = [await hall.send_or_refused("alice", method, request) for method, request in asked]
    assert "READ_MODELS_UNAVAILABLE" in refused
    await hall.redis.set(last, positions[last])
    again = [await hall.send("alice", method, request) for method, request in asked]
    assert again[:3] == told[:3]


async def test_what_cannot_be_read_keeps_nobody_elses_back_and_is_set_right(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "COUNT_AGAIN_SECONDS", 0.0)
    await play(hall)
    await hall.caught_up()
    every = [each.game_id for each in (await hall.ask("alice", "ListGames", mine=True)).games]
    of = hall.models[TINY.game]
    victim = next(game_id for game_id in of.table.games if game_id in every)
    keys = of.news.keys_of(victim)
    before = metrics.UNREADABLE_MODELS.labels(TINY.game)._value.get()
    right = await hall.redis.get(keys.summary(victim))
    await hall.redis.set(keys.summary(victim), b"torn")
    await hall.redis.hset(keys.standings, "mallory", b"torn")
    found = [each.game_id for each in (await hall.ask("alice", "ListGames", mine=True)).games]
    assert set(every) - {victim} <= set(found)
    assert metrics.UNREADABLE_MODELS.labels(TINY.game)._value.get() > before
    assert (await hall.ask("alice", "GetLeaderboard", game=TINY.game)).counted_ms
    async with asyncio.timeout(20):
        while await hall.redis.get(keys.summary(victim)) != right:
            await asyncio.sleep(0.02)
        while await hall.redis.exists(keys.doubted):
            await asyncio.sleep(0.02)
    assert [each.game_id for each in (await hall.ask("alice", "ListGames", mine=True)).games] == every


async def test_a_summary_that_cannot_be_read_is_no_game_that_is_not_there(hall: Hall) -> None:
    """But to whoever may not see it, it is."""
    hidden = await hall.tiny.create(("alice", "bob"), **PRIVATE)
    await hall.caught_up()
    await hall.projection.close()
    key = hall.models[TINY.game].news.keys_of(hidden).summary(hidden)
    for stored in (b"torn", None):
        await (hall.redis.set(key, stored) if stored is not None else hall.redis.delete(key))
        assert await hall.refused("alice", "GetGame", game_id=hidden) == "READ_MODELS_UNAVAILABLE"
        for stranger in ("eve", "sam"):
            told = [await refusal(hall.raw(stranger, "GetGame", game_id=name)) for name in (hidden, "nosuchgame")]
            assert told == [("GAME_NOT_FOUND", {})] * 2


async def refusal(call: Awaitable[Any]) -> tuple[str, dict[str, str]]:
    """Why a call is refused, and what is told with it."""
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    info = error_info(error.value)
    assert info is not None, error.value
    return info.reason, dict(info.metadata)


async def test_a_partition_that_stands_still_is_named_and_takes_no_other_games_lists_away(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(levels, "STANDS_STILL_SECONDS", 0.5)
    await play(hall)
    broken = True
    advance = PartitionProjection.advance

    async def stands_still(self: PartitionProjection, found: Sequence[Record]) -> bool:
        if broken and (self.rules.game, self.partition) == (TINY.game, 1):
            raise LogUnreadable("events/1", "an offset is missing")
        return await advance(self, found)

    monkeypatch.setattr(PartitionProjection, "advance", stands_still)
    await created_in(hall.tiny, 1)
    looks = 0
    stored = levels._stored

    async def counted(models: games_models.GameModels) -> list[int]:
        nonlocal looks
        looks += models.rules.game == TINY.game
        return await stored(models)

    monkeypatch.setattr(levels, "_stored", counted)
    named = ("READ_MODELS_UNAVAILABLE", {"game": TINY.game, "partition": "1"})
    assert await refusal(hall.raw("alice", "ListGames")) == named
    for method, fields in (
        ("ListGames", {"games": (TINY.game,)}),
        ("ListResults", {}),
        ("ListMyDecisions", {}),
        ("GetLeaderboard", {"game": TINY.game}),
    ):
        looks = 0
        assert await refusal(hall.raw("alice", method, **fields)) == named
        # It is known to stand still: nobody waits for it.
        assert looks == 1
    for method in ("ListGames", "ListResults", "ListMyDecisions"):
        await hall.raw("alice", method, games=(ARCANE.game,))
    await hall.raw("alice", "GetLeaderboard", game=ARCANE.game)
    games = (await hall.ask("alice", "ListGames", games=(ARCANE.game,), mine=True)).games
    mine = [game_id for game_id, game in hall.arcane.games.items() if "alice" in game.created.subjects]
    assert {each.game_id for each in games} == set(mine)
    for _ in range(5):
        # As likely as not it is not there yet, and is waited for; the other game's models would have it here, too.
        game_id = await created_in(hall.arcane, 1)
        assert (await hall.ask("alice", "GetGame", game_id=game_id)).game.game_id == game_id
    broken = False
    await hall.caught_up()
    assert (await hall.ask("alice", "ListGames", mine=True)).games


async def created_in(table: Table, partition: int) -> str:
    """A game with a deadline in that partition."""
    while True:
        game_id = await table.create(("alice", "bob"), decision_ms=30_000)
        if partition_of(game_id, PARTITIONS) == partition:
            return game_id


async def test_a_list_that_is_none_is_named(hall: Hall) -> None:
    await play(hall)
    broken = Keys(ARCANE.game, 2).games(None)
    await hall.redis.delete(broken)
    await hall.redis.set(broken, b"no sorted set")
    assert await refusal(hall.raw("alice", "ListGames")) == ("READ_MODELS_UNAVAILABLE", {"game": ARCANE.game})
    assert (await hall.ask("alice", "ListGames", games=(TINY.game,))).games


async def test_a_log_that_is_away_keeps_no_list_back(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models have everything; nobody waits longer than it may, and once it is known nobody waits at all."""
    monkeypatch.setattr(levels, "FRESH_SECONDS", 0.0)
    await play(hall)
    told = await hall.raw("alice", "ListGames")
    topic = hall.models[TINY.game].topic
    answers = asyncio.Event()

    async def away(partition: int) -> int:
        await answers.wait()
        raise LogUnavailable("the log is away")

    monkeypatch.setattr(topic, "end_offset", away)
    request = g.encode_ListGamesRequest(g.ListGamesRequest())
    assert await hall.send("alice", "ListGames", request, timeout=1.0) == told
    answers.set()
    assert await hall.raw("alice", "ListGames") == told
    answers.clear()
    # Each of these asks, and none of them is answered.
    for _ in range(3):
        assert await hall.send("alice", "ListGames", request, timeout=60.0) == told


async def test_nobody_has_a_list_from_a_log_that_was_never_asked(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    await play(hall)
    topic = hall.models[TINY.game].topic

    async def silent(partition: int) -> int:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(topic, "end_offset", silent)
    request = g.encode_ListGamesRequest(g.ListGamesRequest())
    assert await reason(hall.send("alice", "ListGames", request, timeout=1.0)) == "READ_MODELS_UNAVAILABLE"


async def test_all_who_wait_for_models_look_together_each_until_its_own_deadline(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(hall)
    of = hall.models[TINY.game]
    looks = 0
    stored = levels._stored

    async def counted(models: games_models.GameModels) -> list[int]:
        nonlocal looks
        looks += 1
        return [0] * PARTITIONS if lacking else await stored(models)

    monkeypatch.setattr(levels, "_stored", counted)
    monkeypatch.setattr(levels, "STANDS_STILL_SECONDS", 60.0)
    asked, lacking = levels.Levels(), True
    impatient = [asyncio.create_task(asked.reached([of], time.monotonic() + 0.2)) for _ in range(20)]
    patient = [asyncio.create_task(asked.reached([of], time.monotonic() + 60.0)) for _ in range(20)]
    boards = leaderboard.Leaderboards(asked)
    # Whoever comes first has no time at all; that is not the others' misfortune.
    with pytest.raises(Failure, match="behind"):
        await boards.of(of, time.monotonic())
    board = asyncio.create_task(boards.of(of, time.monotonic() + 60.0))
    for each in impatient:
        with pytest.raises(Failure, match="behind"):
            await each
    # One look each to begin with, and then the same for all: far fewer than of forty who look fifty times a second.
    assert looks < 41 + 15
    lacking = False
    assert len({tuple(await each) for each in patient}) == 1
    assert (await board).top


@pytest.mark.parametrize("highest_first", [True, False])
async def test_a_page_where_thousands_tie_reads_its_own_part(redis: Redis, highest_first: bool) -> None:
    """Most open decisions have no deadline, so one score."""
    members = [f"g{number:04}" for number in range(3_000)]
    await redis.zadd("set", dict.fromkeys(members, 2**53 - 1))
    found: list[listing.Place] = []
    told = []
    more = True
    while more:
        before = (await redis.info("stats"))["total_net_output_bytes"]
        after = found[-1] if found else None
        page, more = await listing.page(redis, [("tiny", "set")], after, 100, highest_first=highest_first)
        told.append((await redis.info("stats"))["total_net_output_bytes"] - before)
        found += page
    assert [member for _, member, _ in found] == sorted(members, reverse=highest_first)
    assert max(told) < 3 * min(told)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    places=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 60).map("g{:02}".format), st.integers(0, 5)), max_size=150
    ),
    size=st.integers(1, 20),
    highest_first=st.booleans(),
)
def test_a_listing_is_the_union_of_its_sets_in_order(
    places: list[tuple[int, str, int]], size: int, highest_first: bool, merged: "Merged"
) -> None:
    # A game has one score, in whichever sets it is.
    score_of = {member: score for score, member, _ in places}
    sets = sorted({(number % 2, number) for _, _, number in places})
    entries = {(number, member): score_of[member] for _, member, number in places}
    expected = sorted(
        {(score, member, f"game{number % 2}") for (number, member), score in entries.items()}, reverse=highest_first
    )
    found = merged.read(sets, entries, size, highest_first)
    assert found == expected


class Merged:
    """A Redis and a loop of its own, for hypothesis, which knows no coroutines."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._url = url
        self._loop = loop

    def read(
        self, sets: Sequence[tuple[int, int]], entries: dict[tuple[int, str], int], size: int, highest_first: bool
    ) -> list[listing.Place]:
        return self._loop.run_until_complete(self._read(sets, entries, size, highest_first))

    async def _read(
        self, sets: Sequence[tuple[int, int]], entries: dict[tuple[int, str], int], size: int, highest_first: bool
    ) -> list[listing.Place]:
        async with Redis.from_url(self._url) as redis:
            await redis.flushall()
            for (number, member), score in entries.items():
                await redis.zadd(f"set{number}", {member: score})
            keys = [(f"game{game}", f"set{number}") for game, number in sets]
            found: list[listing.Place] = []
            more = bool(keys)
            while more:
                after = found[-1] if found else None
                page, more = await listing.page(redis, keys, after, size, highest_first=highest_first)
                assert len(page) == size or not more
                found += page
            return found


@pytest.fixture
def merged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    loop = asyncio.new_event_loop()
    child = RedisChild(tmp_path_factory.mktemp("redis"))
    loop.run_until_complete(child.start())
    yield Merged(child.url, loop)
    loop.run_until_complete(child.stop())
    loop.close()
