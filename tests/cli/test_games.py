"""`guildhall games`: what a person sees of a hall's games at the command line."""

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from services.bots.player import play
from services.bots.random_choice import RandomChoice
from tests.cli.hall import RunningHall, guildhall, running_hall

SEATS = ("alice", "bob")
PLAIN = (("wizard_powers", "false"),)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHall]:
    with running_hall(tmp_path_factory.mktemp("hall") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def games(hall: RunningHall) -> dict[str, str]:
    """Ids: of a game that is over, of one that goes on, and of one that nobody else may watch."""

    async def made() -> dict[str, str]:
        clients = [Client("arcane_alley", hall.server, dev_token(hall.data, name, ["play", "seat"])) for name in SEATS]
        over = await clients[0].create(subjects=SEATS, options=PLAIN)
        await asyncio.gather(*(play(client, over, RandomChoice(Random(1))) for client in clients))
        ids = {
            "over": over,
            "open": await clients[0].create(subjects=SEATS, options=PLAIN),
            "private": await clients[0].create(subjects=SEATS, options=PLAIN, no_spectators=True),
        }
        await clients[0].view(ids["private"], 1)
        for client in clients:
            await client.close()
        return ids

    return asyncio.run(made())


def lines(hall: RunningHall, *words: str) -> list[str]:
    done = guildhall("games", *words, *hall.there)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def ids(found: list[str]) -> list[str]:
    return [line.split()[0] for line in found]


def test_a_player_sees_its_games_and_a_stranger_what_may_be_watched(hall: RunningHall, games: dict[str, str]) -> None:
    for words in (["list"], ["mine"], ["list", "--game", "arcane-alley"]):
        assert ids(lines(hall, *words, "--name", "bob")) == [games["private"], games["open"], games["over"]]
    assert ids(lines(hall, "list", "--name", "sam")) == [games["open"], games["over"]]
    assert ids(lines(hall, "list", "--open", "--name", "sam")) == [games["open"]]
    assert lines(hall, "mine", "--name", "sam") == []
    assert lines(hall, "list", "--game", "trickerion", "--name", "bob") == []
    [line] = lines(hall, "list", "--open", "--name", "sam")
    assert "version 1  alice, bob: waits for " in line


def test_what_waits_for_a_player_is_listed(hall: RunningHall, games: dict[str, str]) -> None:
    waiting = [line for name in SEATS for line in lines(hall, "decisions", "--name", name)]
    assert {games["open"], games["private"]} == set(ids(waiting))
    assert lines(hall, "decisions", "--name", "sam") == []


def test_results_name_ranks(hall: RunningHall, games: dict[str, str]) -> None:
    for words in (["results", "--name", "sam"], ["results", "--mine", "--name", "bob"]):
        [line] = lines(hall, *words)
        assert line.split()[0] == games["over"] and line.split()[1] == "arcane-alley"
        assert "1 " in line and "alice" in line and "bob" in line


def test_a_finished_game_is_verified_by_its_id_alone(hall: RunningHall, games: dict[str, str]) -> None:
    done = guildhall("verify", games["over"], "--name", "bob", *hall.there)
    assert done.returncode == 0 and "is as it was played" in done.stdout
    for name, game_id in (("sam", games["over"]), ("sam", games["private"]), ("bob", games["open"])):
        assert guildhall("verify", game_id, "--name", name, *hall.there).returncode == 1


def test_more_than_was_asked_for_is_said(hall: RunningHall, games: dict[str, str]) -> None:
    done = guildhall("games", "list", "--limit", "1", "--name", "bob", *hall.there)
    assert len(done.stdout.splitlines()) == 1 and "There are more" in done.stderr
