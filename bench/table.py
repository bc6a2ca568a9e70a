"""One row of the benchmarks' table, and the table."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WIDTH = 140
"""Columns of the table where it is not printed to a terminal."""


@dataclass(frozen=True)
class Row:
    """One measured number."""

    what: str
    value: float
    unit: str
    must: float | None = None
    """The budget of design section 10; None: only told."""
    at_most: bool = False
    """Whether the budget is an upper bound."""
    beside: str = ""
    """The yardstick of the same run, or how it was measured."""

    def held(self) -> bool | None:
        """Whether the budget is kept; None where there is none."""
        if self.must is None:
            return None
        return self.value <= self.must if self.at_most else self.value >= self.must


def number(value: float) -> str:
    """Three digits or more, with thousands set apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def show(rows: Iterable[Row]) -> None:
    """Print all rows as one table."""
    table = Table("what", "measured", "must", "", "beside", title="Guildhall, measured")
    for row in rows:
        must = "" if row.must is None else f"{'≤' if row.at_most else '≥'} {number(row.must)}"
        verdict = {None: "", True: "kept", False: "MISSED"}[row.held()]
        table.add_row(row.what, f"{number(row.value)} {row.unit}", must, verdict, row.beside)
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)
