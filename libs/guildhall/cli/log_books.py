"""What a log is of, to whoever prints and checks it: games of one kind, or matchmaking (`pool_log`)."""

from typing import Protocol

from guildhall.cli import log_stats, log_verify
from guildhall.cli.log_lines import lines
from guildhall.cli.log_verify import Found
from guildhall.kernel.rules import Rules
from guildhall.log.fold import Verdict
from guildhall.log.recovery import Store


class Book(Protocol):
    """One family of topics."""

    @property
    def name(self) -> str:
        """As in the topics' names."""
        ...

    def lines(self, verdict: Verdict, *, events: bool, secrets: bool) -> list[str]:
        """One record in words; secret parts only with `secrets`."""
        ...

    async def verify(self, store: Store) -> Found:
        """Check it from the first record on. Raises LogError where it cannot be read at all."""
        ...

    async def stats(self, store: Store) -> list[str]:
        """What it holds, in lines. Raises LogError."""
        ...


class GameBook:
    """The games of these rules."""

    def __init__(self, rules: Rules) -> None:
        self.name = rules.game
        self._rules = rules

    def lines(self, verdict: Verdict, *, events: bool, secrets: bool) -> list[str]:
        """As `Book`."""
        return lines(self._rules, verdict, events=events, secrets=secrets)

    async def verify(self, store: Store) -> Found:
        """As `Book`."""
        return await log_verify.verify(self._rules, store)

    async def stats(self, store: Store) -> list[str]:
        """As `Book`."""
        return await log_stats.stats(self._rules, store)
