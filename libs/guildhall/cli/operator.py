"""An operator's calls: to a hall, and on to the process that serves what they are about."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import typer

from guildhall.cli import faces
from guildhall.cli.client import Client, HallError
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import default_name, dev_token
from guildhall.operations.v1 import structs as o

SERVICE = "OperationsService"

Name = Annotated[
    str | None, typer.Option("--name", help="Who you are, for the record. Default: your login. Not with a token.")
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="GUILDHALL_TOKEN",
        help="A token with the scope operate. Default: one is signed with the key in --data.",
    ),
]


class Operator:
    """Whoever operates, towards any process of the hall."""

    def __init__(self, server: str, token: str) -> None:
        self.server = server
        self._token = token

    @contextlib.asynccontextmanager
    async def at(self, server: str) -> AsyncIterator[Client]:
        """A connection to one process."""
        async with Client("operations", server, self._token) as client:
            yield client

    async def call(self, method: str, server: str | None = None, **fields: Any) -> Any:
        """The answer of one process. Raises HallError."""
        async with self.at(server or self.server) as client:
            return await client.call(SERVICE, method, **fields)

    async def find(self, game_id: str, game: str | None) -> o.GameStatus:
        """How the game stands, whichever game it is of. Raises HallError, Problem."""
        for name in faces.games() if game is None else [faces.game_name(game)]:
            try:
                answer = await self.call("GetGameStatus", game=name, game_id=game_id)
            except HallError as error:
                if error.reason not in ("GAME_NOT_FOUND", "INVALID_GAME"):
                    raise
            else:
                status: o.GameStatus = answer.status
                return status
        raise Problem(f"There is no game {game_id!r} at {self.server}.")

    async def owners(self) -> tuple[list[o.PartitionOwner], list[str]]:
        """Who serves which partition, asked of everybody who is named; and the addresses that do not answer.

        Raises HallError where not even the first answers.
        """
        found: dict[tuple[str, int], o.PartitionOwner] = {}
        silent: list[str] = []
        asked: set[str] = set()
        addresses = [self.server]
        while addresses:
            address = addresses.pop()
            asked.add(address)
            try:
                answer = await self.call("ListOwners", address)
            except HallError:
                if address == self.server:
                    raise
                silent.append(address)
                continue
            for owner in answer.owners:
                place = (owner.game, owner.partition)
                known = found.get(place)
                if known is None or (owner.claim, owner.here) > (known.claim, known.here):
                    found[place] = owner
            named = {owner.address for owner in found.values() if owner.address and not owner.here}
            addresses += sorted(named - asked - set(addresses))
        return [found[place] for place in sorted(found)], silent

    async def troubled(self, addresses: list[str]) -> tuple[list[o.GameStatus], int]:
        """The games of these processes that somebody has to look at, and how many more there are. Raises HallError."""
        found: dict[str, o.GameStatus] = {}
        left_out = 0
        for address in addresses:
            answer = await self.call("ListTroubledGames", address)
            found |= {status.game_id: status for status in answer.games}
            left_out += answer.left_out
        return list(found.values()), left_out


def operator(server: str, data: Path, name: str | None, token: str | None) -> Operator:
    """An operator by the options of a command. Raises Problem."""
    return Operator(server, token or dev_token(data, name or default_name(), ["operate"]))


def described(status: o.GameStatus) -> str:
    """A game's state in one line."""
    state = o.GameState(status.state).name.lower()
    where = f"{status.game.replace('_', '-')}/{status.partition}"
    why = f": {status.why}" if status.why else ""
    return f"{status.game_id}  {where}, version {status.version}, {state}{why}"
