"""A bot: watches its game and answers its decisions, like any third party's client."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeAlias

Choose: TypeAlias = Callable[[Any, str, Sequence[Any]], Any]
"""(the seat's own view, the kind of the decision, its legal commands and families) -> a legal command."""


class Connection(Protocol):
    """What a bot needs of its client: both speak for the bot's own subject."""

    def watch(self, game_id: str) -> AsyncIterator[Any]:
        """WatchViewResponses with whole views, until the game ends."""
        ...

    def options(self, legal: Any) -> list[Any]:
        """What a LegalDecision offers: its commands, then its families."""
        ...

    async def submit(self, game_id: str, decision_id: str, command: Any) -> int:
        """Answer a decision; the version that this made, or 0 where the clock, or an operator's pause, was faster."""
        ...


async def play(connection: Connection, game_id: str, choose: Choose) -> None:
    """Play a seat until the game is over. Raises what the connection raises."""
    answered = ""
    async for message in connection.watch(game_id):
        for legal in message.decisions:
            if message.view is not None and legal.decision.id != answered:
                command = choose(message.view, legal.decision.kind, connection.options(legal))
                if await connection.submit(game_id, legal.decision.id, command):
                    answered = legal.decision.id
