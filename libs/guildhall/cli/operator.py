"""An operator's calls: to a hall, and on to the process that serves what they are about."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import grpc
import typer

from guildhall.cli import faces
from guildhall.cli.client import Client, HallError, NoHall
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import default_name, dev_token
from guildhall.log.topics import MATCHMAKING
from guildhall.operations.v1 import structs as o
from guildhall.rpc.probe import alive

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


SILENCE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
"""What a process gives that does not answer; CANCELLED is gRPC's own, for a connection that went away under a call."""

PROBE_SECONDS = 2.0
"""For how long a process is waited for that may be there or not."""


class Told(NamedTuple):
    """What a process tells of owners, and where it is asked."""

    address: str
    owners: Sequence[o.PartitionOwner]


class Hall:
    """What the processes of a hall tell of it, as far as they answer."""

    def __init__(self, operator: "Operator") -> None:
        self._operator = operator
        self.told: dict[str, Told] = {}
        """By the instance of the process that tells it."""
        self.unheard: dict[str, str] = {}
        """The instances that gave no answer to go by, each with what came instead, in a sentence."""

    async def learn(self, answer: o.ListOwnersResponse, address: str) -> None:
        """Take in what the process tells that has answered at an address.

        From now on it is asked where it says that it listens, if it answers there: the address may be a gateway's,
        where another process answers the next call.
        """
        if answer.address != address and await alive(answer.address, answer.instance, PROBE_SECONDS):
            address = answer.address
        self.told[answer.instance] = Told(address, answer.owners)

    async def ask(self, method: str, instance: str, address: str) -> Any:
        """The answer of one process; None where there is none to go by."""
        try:
            answer = await self._operator.call(method, address)
        except HallError as error:
            self.unheard[instance] = f"{address} " + ("does not answer" if error.code in SILENCE else f"says: {error}")
            return None
        if answer.instance != instance:
            self.unheard[instance] = f"another process answers at {address}"
            return None
        return answer

    async def ask_all(self, method: str) -> list[Any]:
        """The answers of all processes that have told of owners."""
        answers = [await self.ask(method, instance, told.address) for instance, told in self.told.items()]
        return [answer for answer in answers if answer is not None]

    def owners(self) -> list[o.PartitionOwner]:
        """Of each partition what is known best, by game and partition: its newest claim, from the owner itself."""
        found: dict[tuple[str, int], o.PartitionOwner] = {}
        for told in self.told.values():
            for owner in told.owners:
                known = found.get((owner.game, owner.partition))
                if known is None or (owner.claim, owner.here) > (known.claim, known.here):
                    found[owner.game, owner.partition] = owner
        return [found[place] for place in sorted(found)]

    def unasked(self) -> set[tuple[str, str]]:
        """Who is told to serve a partition, but was not asked yet: instance and address."""
        named = {(owner.instance, owner.address) for owner in self.owners() if owner.address and not owner.here}
        return {each for each in named if each[0] not in self.told.keys() | self.unheard.keys()}

    def serving(self, game: str) -> list[str]:
        """Where those processes are asked that serve a partition of the game, or of matchmaking, as they say."""
        return [
            told.address
            for instance, told in self.told.items()
            if instance not in self.unheard and any(owner.game == game and owner.here for owner in told.owners)
        ]

    def why_unknown(self, owner: o.PartitionOwner) -> str:
        """Why nobody can tell what is in the partition; empty where its owner does."""
        return self.unheard.get(owner.instance) or ("" if owner.here else "served by nobody")

    def unknown(self, *, games: bool = True, matchmaking: bool = True) -> list[str]:
        """The partitions, of games and of matchmaking, that nobody can tell of: a sentence for each reason."""
        there: dict[str, list[str]] = {}
        for owner in self.owners():
            why = self.why_unknown(owner)
            if why and (matchmaking if owner.game == MATCHMAKING else games):
                there.setdefault(why, []).append(place(owner))
        return [f"Not looked into: {', '.join(places)}: {why}" for why, places in there.items()]


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

    async def hall(self) -> Hall:
        """Who serves which partition, asked of this process and then of everybody who is named.

        Raises HallError where this process does not answer.
        """
        hall = Hall(self)
        await hall.learn(await self.call("ListOwners"), self.server)
        while unasked := hall.unasked():
            for instance, address in sorted(unasked):
                answer = await hall.ask("ListOwners", instance, address)
                if answer is not None:
                    hall.told[instance] = Told(address, answer.owners)
        return hall

    async def find(self, game_id: str, game: str | None) -> tuple[str, o.GameStatus]:
        """A process that takes orders for the game, and how it stands, whichever game it is of.

        Raises HallError, Problem.
        """
        silence: HallError | None = None
        hall: Hall | None = None
        unserved = []
        for name in faces.games() if game is None else [faces.game_name(game)]:
            try:
                try:
                    return self.server, await self._status(self.server, name, game_id)
                except HallError as error:
                    if error.reason != "INVALID_GAME":
                        raise
                hall = hall or await self.hall()
                servers = hall.serving(name)
                if servers:
                    return servers[0], await self._status(servers[0], name, game_id)
                unserved.append(faces.typed_name(name))
            except HallError as error:
                if error.code in SILENCE and not isinstance(error, NoHall):
                    silence = silence or error  # it may be of another game
                elif error.reason != "GAME_NOT_FOUND":
                    raise
        if silence is not None:
            raise silence
        told = f"There is no game {game_id!r} at {self.server}"
        raise Problem(f"{told}, as far as is known: nobody serves {', '.join(unserved)}." if unserved else f"{told}.")

    async def _status(self, server: str, game: str, game_id: str) -> o.GameStatus:
        status: o.GameStatus = (await self.call("GetGameStatus", server, game=game, game_id=game_id)).status
        return status


def operator(server: str, data: Path, name: str | None, token: str | None) -> Operator:
    """An operator by the options of a command. Raises Problem."""
    return Operator(server, token or dev_token(data, name or default_name(), ["operate"]))


def place(owner: o.PartitionOwner) -> str:
    """A partition in words."""
    return f"{owner.game.replace('_', '-')}/{owner.partition}"


def described(status: o.GameStatus) -> str:
    """A game's state in one line."""
    state = o.GameState(status.state).name.lower()
    where = f"{status.game.replace('_', '-')}/{status.partition}"
    why = f": {status.why}" if status.why else ""
    return f"{status.game_id}  {where}, version {status.version}, {state}{why}"
