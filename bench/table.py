"""One row of the benchmarks' table, and the table.

A budget of the design is for one machine at one speed; the same machine is faster or slower with what else it runs.
So a budgeted figure stands beside a yardstick, and is judged as it would be at the yardstick's reference speed
(docs/decisions/0015-budgets-are-ratios.md). What was measured stays in the table.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WIDTH = 160
"""Columns of the table where it is not printed to a terminal."""


@dataclass(frozen=True)
class Yardstick:
    """Something fixed that a machine does faster or slower."""

    what: str
    reference: float
    """What it measured when the budgets were set."""
    unit: str
    is_time: bool
    """Whether less of it is faster."""


CATANATRON = Yardstick("catanatron", 25_257, "/s", is_time=False)
"""Actions per second of its random players, three of them, on one core: the machine on which the engine's, the
listings' and the fold's budgets were set.
"""
ECHO_AND_APPEND = Yardstick("echo + append", 0.45 + 0.21, "ms", is_time=True)
"""A bare asyncio gRPC echo (0.4 to 0.5 ms there, 2,000 to 2,600/s), then a bare acknowledged append on Kafka (0.21 ms):
the machine on which the budget of an accepted command on Kafka was set.
"""

ECHOES = Yardstick("echoes, 32 at once", 5_000, "/s", is_time=False)
"""Calls per second of a bare asyncio gRPC echo: the machine on which the budgets of work that fills all its cores were
set, a rate of commands that are watched, a rate of tickets.
"""


@dataclass(frozen=True)
class Pace:
    """A yardstick, as it measured in the run of a figure."""

    yardstick: Yardstick
    measured: float

    def slower(self) -> float:
        """How many times slower than at reference speed the machine was; below 1: faster."""
        ratio = self.measured / self.yardstick.reference
        return ratio if self.yardstick.is_time else 1 / ratio

    def words(self) -> str:
        """The yardstick of this run, and then."""
        stick = self.yardstick
        return f"{stick.what} {number(self.measured)} {stick.unit} (reference {number(stick.reference)})"


@dataclass(frozen=True)
class Row:
    """One measured number."""

    what: str
    value: float
    unit: str
    must: float | None = None
    """The budget of design section 10; None: only told."""
    at_most: bool = False
    """Whether less is better, and the budget an upper bound."""
    beside: str = ""
    """What it is to be read with, or how it was measured."""
    goal: float | None = None
    """What is hoped for beyond the budget."""
    pace: Pace | None = None
    """The yardstick of the same run; None: the figure is no matter of the machine's speed, or has no yardstick."""

    def at_reference(self) -> float:
        """The figure at the yardstick's reference speed; as it was measured, where there is no yardstick."""
        if self.pace is None:
            return self.value
        return self.value / self.pace.slower() if self.at_most else self.value * self.pace.slower()

    def held(self) -> bool | None:
        """Whether the budget is kept, at reference speed; None where there is none."""
        if self.must is None:
            return None
        return self.at_reference() <= self.must if self.at_most else self.at_reference() >= self.must


def number(value: float) -> str:
    """Three digits or more, with thousands set apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def show(rows: Iterable[Row]) -> None:
    """Print all rows as one table."""
    columns = ("what", "measured", "at reference speed", "must", "goal", "", "beside")
    table = Table(*columns, title="Guildhall, measured; budgets are judged at reference speed")
    for row in rows:
        sign = "≤" if row.at_most else "≥"
        budgets = ["" if budget is None else f"{sign} {number(budget)}" for budget in (row.must, row.goal)]
        at_reference = "" if row.pace is None else number(row.at_reference())
        verdict = {None: "", True: "kept", False: "MISSED"}[row.held()]
        beside = "; ".join(words for words in (row.pace.words() if row.pace else "", row.beside) if words)
        table.add_row(row.what, f"{number(row.value)} {row.unit}", at_reference, *budgets, verdict, beside)
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)
