"""Which game's services hold a game id, when all that a person types is the id."""

from pathlib import Path

from guildhall.cli.client import Client, HallError
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import dev_token


async def connect(game_id: str, subject: str, server: str, data: Path) -> Client:
    """A client for the game that has this id, which the subject may see. Raises NoHall, Problem, HallError."""
    async with await all_games(subject, server, data) as games:
        try:
            found = (await games.call("GamesService", "GetGame", game_id=game_id)).game
        except HallError as error:
            if error.reason != "GAME_NOT_FOUND":
                raise
            raise Problem(f"{subject} sees no game {game_id!r} at {server}.") from None
    return Client(found.game, server, dev_token(data, subject, ["play", "spectate"]))


async def all_games(subject: str, server: str, data: Path) -> Client:
    """A client for what spans games. Raises NoHall, Problem."""
    client = Client("games", server, dev_token(data, subject, ["play", "spectate"]))
    try:
        await client.ready()
    except BaseException:
        await client.close()
        raise
    return client
