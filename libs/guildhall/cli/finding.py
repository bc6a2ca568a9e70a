"""Which game's services hold a game id, when all that a person types is the id."""

from pathlib import Path

from guildhall.cli import faces
from guildhall.cli.client import Client, HallError
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import dev_token


async def connect(game_id: str, subject: str, server: str, data: Path) -> Client:
    """A client for the game that has this id, which the subject may see. Raises NoHall, Problem, HallError."""
    token = dev_token(data, subject, ["play", "spectate"])
    for game in faces.games():
        client = Client(game, server, token)
        try:
            await client.ready()
            await client.view(game_id)
        except HallError as error:
            await client.close()
            if error.reason != "GAME_NOT_FOUND":
                raise
        else:
            return client
    raise Problem(f"{subject} sees no game {game_id!r} at {server}.")
