"""Hidden information over the wire: what differs only in what a viewer may not know, looks the same to that viewer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from guildhall.host.hall import Hall
from guildhall.kernel.v1.structs import Answered, GameCreated, Undo, Undone
from tests.kernel.tiny.build import structs as t
from tests.services.hall import ALL_SCOPES, SEATS, Client, Table, hall, table

SEED = bytes(range(100, 132))


class Spy:
    """A client that keeps every byte it was ever told."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.told: list[tuple[str, bytes]] = []

    async def ask(self, method: str, **fields: Any) -> Any:
        request = getattr(self.client.wire, f"{method}Request")(**fields)
        data = getattr(self.client.wire, f"encode_{method}Request")(request)
        try:
            answer = await self.client.raw(method, data)
        except grpc.aio.AioRpcError as error:
            details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            self.told.append((f"{method} refused", bytes(details)))
            return None
        self.told.append((method, answer))
        return getattr(self.client.wire, f"decode_{method}Response")(answer)

    async def ask_everything(self, game_id: str, version: int) -> None:
        """Every read there is, and every refusal that one can provoke."""
        await self.ask("GetView", game_id=game_id, min_version=version)
        await self.ask("GetView", game_id=game_id, at_version=max(1, version - 1))
        await self.ask("ListLegalCommands", game_id=game_id)
        await self.ask("ListEvents", game_id=game_id, min_version=version, page_size=1000)
        for number, command in enumerate((t.Bid(3), t.Block(1), t.PlayCard(1), t.Show(2, 0), Undo(), t.Allow())):
            for seat in range(3):
                decision = f"{version}.{seat}"
                fields = {"game_id": game_id, "decision_id": decision, "command": command, "validate_only": True}
                await self.ask("SubmitCommand", command_id=f"probe-{version}-{seat}-{number}", **fields)

    async def watch_everything(self, game_id: str) -> None:
        """Both kinds of stream, from the first version on."""
        for events in (True, False):
            call = self.client.watch(game_id, events=events, after=0)
            newest = (await self.client.view(game_id)).game.version
            while (message := await call.read()) is not grpc.aio.EOF:
                self.told.append((f"WatchView {events}", self.client.wire.encode_WatchViewResponse(message)))
                if message.version == newest:
                    break
            call.cancel()


@asynccontextmanager
async def spied(running: Hall, subjects: Sequence[str] = SEATS) -> AsyncIterator[tuple[Table, list[Spy]]]:
    """A game with a fixed seed and id, a spy on each seat and one among the spectators."""
    async with table(running, subjects, seed=SEED, command_id="fixed") as game:
        sam = Client(running.port, running.config.data, "sam", ("spectate",))
        yield game, [Spy(client) for client in (*game.clients, sam)]
        await sam.channel.close()


def comparable(method: str, data: bytes) -> Any:
    """What was told, without clock time and the hashes: these differ in any two games, whatever they hide."""
    if method == "ListEvents":
        answer = t.decode_ListEventsResponse(data)
        return tuple(replace(batch, at_ms=0, hash=b"") for batch in answer.versions), answer.next_page_token
    if method.startswith("WatchView"):
        message = t.decode_WatchViewResponse(data)
        events = message.events and replace(message.events, at_ms=0, hash=b"")
        return replace(message, events=events)
    return data


async def bidding(data: Path, bids: Sequence[int]) -> list[list[Any]]:
    """What each viewer is told while the seats bid secretly; seat 0 revises its bid once."""
    async with hall(data) as running, spied(running) as (game, spies):
        await game.clients[0].submit(game.game_id, "1.0", t.Bid(bids[0]), command_id="a")
        for version, seat in ((2, 0), (3, 1)):
            for spy in spies:
                await spy.ask_everything(game.game_id, version)
            bid = t.Bid(bids[version - 1])
            await game.clients[seat].submit(game.game_id, f"1.{seat}", bid, command_id=f"b{seat}")
        for spy in spies:
            await spy.ask_everything(game.game_id, 4)
            await spy.watch_everything(game.game_id)
        return [[(method, comparable(method, told)) for method, told in spy.told] for spy in spies]


async def test_a_secret_bid_changes_nothing_for_the_others(tmp_path: Path) -> None:
    one = await bidding(tmp_path / "one", (0, 1, 2))
    two = await bidding(tmp_path / "two", (2, 0, 2))
    assert one[0] != two[0]  # the bidder itself sees its bid: the comparison can tell
    assert one[2] == two[2] and one[3] == two[3]
    sizes = [[len(str(told)) for _, told in viewer] for viewer in (one[2], one[3])]
    assert sizes == [[len(str(told)) for _, told in viewer] for viewer in (two[2], two[3])]


async def play_on(game: Table, spies: list[Spy], random: Random, steps: int) -> None:
    for _ in range(steps):
        version = await game.step(random)
        if version is None:
            return
        for spy in spies:
            await spy.ask_everything(game.game_id, version)


@pytest.mark.parametrize("seed", range(2))
async def test_no_secret_is_in_any_message(tmp_path: Path, seed: int) -> None:
    """Neither the seed, nor states, nor another seat's cards and answers, in any byte that a viewer gets."""
    async with hall(tmp_path) as running, spied(running) as (game, spies):
        await play_on(game, spies, Random(seed), 30)
        for spy in spies:
            await spy.watch_everything(game.game_id)
            seat = None if spy.client.subject == "sam" else SEATS.index(spy.client.subject)
            for method, told in spy.told:
                assert SEED not in told
                for event in events_in(method, told):
                    check_event(event, seat)


def events_in(method: str, told: bytes) -> list[Any]:
    if method == "ListEvents":
        return [event for batch in t.decode_ListEventsResponse(told).versions for event in batch.events]
    if method.startswith("WatchView"):
        message = t.decode_WatchViewResponse(told)
        return [] if message.events is None else list(message.events.events)
    return []


def check_event(event: Any, seat: int | None) -> None:
    """By hand, not by the schema that the redactor reads."""
    match event:
        case GameCreated():
            assert event.seed == b""
        case Answered():
            assert event.seat == seat or event.answer == b""
        case Undone():
            assert event.state == b""
        case t.Dealt() | t.Peeked():
            assert event.seat == seat or event.card == 0
        case t.Shuffled():
            assert event.cards == ()
        case t.Whispered():
            assert event.seat == seat
        case t.CardShown():
            assert (seat is not None and event.witnesses >> seat & 1) or event.card == 0
        case _:
            pass


async def test_a_view_shows_its_own_hand_only(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, spied(running) as (game, spies):
        hands = []
        for spy in spies:
            view = (await spy.ask("GetView", game_id=game.game_id)).view
            hands.append(view.hand)
        assert hands[3] == () and all(len(hand) == 3 for hand in hands[:3]) and len(set(hands[:3])) > 1


async def test_a_refusal_does_not_tell_another_seats_hand(tmp_path: Path) -> None:
    """Commands on another seat's decision are refused alike, whether that seat could give them or not."""
    async with hall(tmp_path) as running, table(running, seed=SEED) as game:
        spy = Spy(game.clients[2])
        for card in range(1, 6):
            fields = {"game_id": game.game_id, "decision_id": "1.0", "command": t.PlayCard(card)}
            await spy.ask("SubmitCommand", command_id="p", **fields)
        assert len({told for _, told in spy.told}) == 1


async def test_strangers_are_told_the_same_of_a_game_and_of_none(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running, no_spectators=True) as game:
        stranger = Spy(Client(running.port, tmp_path, "mallory", ALL_SCOPES))
        for game_id in (game.game_id, "aaaaaaaaaaaaaaaaaaaaaaaaaa"):
            await stranger.ask_everything(game_id, 1)
        half = len(stranger.told) // 2
        assert stranger.told[:half] == stranger.told[half:]
        await stranger.client.channel.close()
