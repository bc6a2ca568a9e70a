"""GamesService: games of all kinds, listed and found, and what came of them (`guildhall.games.v1`)."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import RedisError

from guildhall.games.v1 import games_service_pb2
from guildhall.games.v1 import structs as g
from guildhall.host.failures import shutting_down
from guildhall.host.messages import parse
from guildhall.kernel.v1 import structs as kernel_v1
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Decision, Summary
from guildhall.rpc import pages
from guildhall.rpc.deadlines import Context, patience
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from services.views import listing
from services.views.games_models import GameModels, Shown, chosen, find, partitions, shown, shown_alone
from services.views.leaderboard import Leaderboards, Line
from services.views.levels import Levels
from services.views.reads import unavailable
from services.views.seeing import viewers

GAMES_SERVICE = games_service_pb2.DESCRIPTOR.services_by_name["GamesService"]

DEFAULT_PAGE = 50
MAX_PAGE = 500
BUNDLE_BYTES = 256 * 1024
"""A message of a bundle ends when its records are larger."""
_CHUNK = 100

_BY_STATE: Mapping[int, Callable[[Keys, str | None], str]] = {
    g.GameState.UNSPECIFIED: Keys.games,
    g.GameState.OPEN: Keys.open,
    g.GameState.FINISHED: Keys.results,
}
"""Which listing holds the games of a state."""


class GamesService:
    """Methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(self, models: Mapping[str, GameModels], page_key: bytes) -> None:
        """`models` by the game's name; `page_key` seals page tokens (`pages.hall_key`)."""
        self._models = models
        self._page_key = page_key
        self._levels = Levels()
        self._leaderboards = Leaderboards(self._levels)
        self._closing = False

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self._closing = True

    # --- one game

    async def get_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(g.decode_GetGameRequest, request)
        until = time.monotonic() + patience(context)
        models = await find(self._models, asked.game_id, caller, _left(until))
        if asked.min_version:
            seen = await models.reads.visible(asked.game_id, caller, _left(until))
            await models.reads.newest(seen, asked.min_version, _left(until))
        found = await shown_alone(models, asked.game_id, caller)
        return g.encode_GetGameResponse(g.GetGameResponse(_summary(found, caller)))

    async def get_verification_bundle(
        self, request: bytes, caller: Caller, context: Context
    ) -> AsyncGenerator[bytes, None]:
        self._check_open()
        asked = parse(g.decode_GetVerificationBundleRequest, request)
        until = time.monotonic() + patience(context)
        models = await find(self._models, asked.game_id, caller, _left(until))
        seen = await models.reads.visible(asked.game_id, caller, _left(until))
        if seen.seat is None:
            raise Failure("NO_SEAT", "The records of a game open to its seats only.")
        game = await models.reads.newest(seen, asked.min_version, _left(until))
        if game.ended is None:
            raise Failure(
                "GAME_NOT_FINISHED", "The records open when the game is over.", {"version": str(game.version)}
            )
        created, newest = game.created, game.version
        header = g.BundleHeader(
            models.rules.game,
            asked.game_id,
            newest,
            created.seed,
            created.seed_hash,
            created.pack_hash,
            models.rules.packs.data(created.pack_hash),
        )
        yield g.encode_GetVerificationBundleResponse(g.GetVerificationBundleResponse(header=header))
        kept: list[g.BundleRecord] = []
        size = 0
        for first in range(1, newest + 1, _CHUNK):
            for recorded in await models.reads.records(seen, first, min(newest, first + _CHUNK - 1)):
                if kept and size + len(recorded.body) > BUNDLE_BYTES:
                    yield self._bundled(kept, caller)
                    kept, size = [], 0
                kept.append(g.BundleRecord(recorded.body, recorded.hash))
                size += len(recorded.body)
            await asyncio.sleep(0)
        yield self._bundled(kept, caller)

    def _bundled(self, kept: Sequence[g.BundleRecord], caller: Caller) -> bytes:
        self._check_open()
        caller.check_expiry()
        answer = g.GetVerificationBundleResponse(records=g.BundleRecords(tuple(kept)))
        return g.encode_GetVerificationBundleResponse(answer)

    # --- lists

    async def list_games(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(g.decode_ListGamesRequest, request)
        found, token = await self._page(
            f"games {asked.state}", asked, asked.mine, _BY_STATE[asked.state], caller, context
        )
        games = tuple(_summary(each, caller) for each in found)
        return g.encode_ListGamesResponse(g.ListGamesResponse(games, token))

    async def list_results(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(g.decode_ListResultsRequest, request)
        found, token = await self._page("results", asked, asked.mine, Keys.results, caller, context)
        results = tuple(_result(each) for each in found if each.summary.ended is not None)
        return g.encode_ListResultsResponse(g.ListResultsResponse(results, token))

    async def list_my_decisions(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(g.decode_ListMyDecisionsRequest, request)
        found, token = await self._page("decisions", asked, True, Keys.decisions, caller, context, highest_first=False)
        decisions = tuple(
            g.MyDecision(each.game, each.summary.game_id, each.summary.version, _decision(decision))
            for each in found
            for decision in each.summary.waiting
            if each.summary.subjects[decision.seat] == caller.subject and not each.summary.paused
        )
        return g.encode_ListMyDecisionsResponse(g.ListMyDecisionsResponse(decisions, token))

    async def _page(
        self,
        name: str,
        asked: Any,
        mine: bool,
        kind: Callable[[Keys, Any], str],
        caller: Caller,
        context: Context,
        *,
        highest_first: bool = True,
    ) -> tuple[list[Shown], str]:
        """A page of the games in a listing, and the token of the next one. Models that lack some are waited for."""
        size = pages.page_size(asked.page_size, DEFAULT_PAGE, MAX_PAGE)
        models = chosen(self._models, asked.games)
        whose = viewers(caller, mine=mine)
        # A token is good for the same listing of the same caller only, but whatever the page's size.
        this = repr((name, mine, sorted(set(asked.games)), caller.subject))
        after = listing.decode(pages.opened(self._page_key, this, asked.page_token)) if asked.page_token else None
        sets = [
            (game, kind(keys, viewer)) for game, of in models.items() for keys in partitions(of) for viewer in whose
        ]
        if not sets:
            return [], ""
        redis = next(iter(models.values())).news.redis
        reached = await self._levels.reached(models.values(), time.monotonic() + patience(context))
        try:
            places, more = await listing.page(redis, sets, after, size, highest_first=highest_first)
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        found = await shown(models, [(game, game_id) for _, game_id, game in places], caller)
        await self._levels.check_since(models.values(), reached)
        token = pages.sealed(self._page_key, this, listing.encode(places[-1])) if more else ""
        return [each for each in found if each is not None], token

    # --- standings

    async def get_leaderboard(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(g.decode_GetLeaderboardRequest, request)
        if asked.limit > MAX_PAGE:
            raise Failure("INVALID_PAGE_SIZE", f"A leaderboard has at most {MAX_PAGE} lines.", field="limit")
        models = self._models.get(asked.game)
        if models is None:
            raise Failure("INVALID_GAME", f"This hall does not serve a game {asked.game!r}.", field="game")
        caller.require("spectate")
        try:
            board = await self._leaderboards.of(models, time.monotonic() + patience(context))
        except (RedisError, OSError) as error:
            raise unavailable(error, asked.game) from error
        lines = tuple(map(_line, board.top[: asked.limit or DEFAULT_PAGE]))
        own = board.line(caller.subject)
        answer = g.GetLeaderboardResponse(board.counted_ms, lines, _line(own) if own is not None else None)
        return g.encode_GetLeaderboardResponse(answer)

    def _check_open(self) -> None:
        if self._closing:
            raise shutting_down()


# --- messages


def _summary(found: Shown, caller: Caller) -> g.GameSummary:
    summary = found.summary
    seat = summary.subjects.index(caller.subject) if caller.subject in summary.subjects else None
    return g.GameSummary(
        game=found.game,
        game_id=summary.game_id,
        version=summary.version,
        places=_places(summary),
        options=tuple(kernel_v1.Setting(name, value) for name, value in summary.options),
        spectators=summary.spectators,
        created_ms=summary.created_ms,
        changed_ms=summary.changed_ms,
        state=g.GameState.OPEN if summary.ended is None else g.GameState.FINISHED,
        end_reason=summary.ended[0] if summary.ended is not None else 0,
        paused=summary.paused,
        unavailable=summary.stopped,
        waiting_for=tuple(map(_decision, summary.waiting)),
        caller_seat=seat,
    )


def _places(summary: Summary) -> tuple[g.Place, ...]:
    ranks = summary.ended[1] if summary.ended is not None else []
    return tuple(
        g.Place(seat, subject, summary.resigned[seat], ranks[seat] if ranks else 0)
        for seat, subject in enumerate(summary.subjects)
    )


def _result(found: Shown) -> g.GameResult:
    summary = found.summary
    assert summary.ended is not None
    return g.GameResult(found.game, summary.game_id, summary.changed_ms, summary.ended[0], _places(summary))


def _decision(decision: Decision) -> kernel_v1.Decision:
    return kernel_v1.Decision(decision.id, decision.seat, decision.kind, decision.deadline_ms)


def _line(line: Line) -> g.LeaderboardLine:
    return g.LeaderboardLine(line.rank, line.subject, line.games, line.wins)


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())
