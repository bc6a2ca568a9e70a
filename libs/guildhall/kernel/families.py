"""Families: choices too large to be listed, as slots with domains and limits.

Check, listing and sampling all derive from the same data, in one
canonical order: slots in their order, values in the order of the domain.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any

from msgspec import Struct

from guildhall.kernel.v1 import structs as kernel_v1


class Slot(Struct, frozen=True):
    """One slot and the values it may take; 0 = left empty, allowed where listed."""

    name: str
    domain: tuple[int, ...]


class Limit(Struct, frozen=True):
    """At most `at_most` slots may take a value of `values`."""

    values: frozenset[int]
    at_most: int


class Family(Struct, frozen=True):
    """All commands of type `command` whose field `field` has one value per slot such that
    the values lie in the slots' domains, `min` to `max` of them are not 0, and the limits hold.
    """

    command: type[Any]
    field: str
    slots: tuple[Slot, ...]
    min: int
    max: int
    limits: tuple[Limit, ...] = ()

    def holds(self, command: object) -> bool:
        """Whether the command belongs to the family."""
        if type(command) is not self.command:
            return False
        values: tuple[int, ...] = getattr(command, self.field)
        return (
            len(values) == len(self.slots)
            and all(value in slot.domain for value, slot in zip(values, self.slots, strict=True))
            and self.min <= sum(1 for value in values if value) <= self.max
            and all(_within(values, limit) for limit in self.limits)
        )

    def commands(self) -> Iterator[Any]:
        """Every command of the family, in canonical order; there may be very many."""
        return (self.command(values) for values in self._choices((), None))

    def sample(self, random: Random) -> Any | None:
        """A command of the family, chosen by `random`; None where the family is empty.

        Every member can come out; how likely each is, is not promised.
        """
        found = next(self._choices((), random), None)
        return None if found is None else self.command(found)

    def is_empty(self) -> bool:
        """Whether no command belongs to the family."""
        return not list(islice(self.commands(), 1))

    def _choices(self, taken: tuple[int, ...], random: Random | None) -> Iterator[tuple[int, ...]]:
        if len(taken) == len(self.slots):
            yield taken
            return
        rest = self.slots[len(taken) + 1 :]
        at_most = sum(1 for slot in rest if any(slot.domain))
        at_least = sum(1 for slot in rest if 0 not in slot.domain)
        domain = list(self.slots[len(taken)].domain)
        if random is not None:
            random.shuffle(domain)
        for value in domain:
            values = (*taken, value)
            filled = sum(1 for v in values if v)
            if filled + at_least > self.max or filled + at_most < self.min:
                continue
            if all(_within(values, limit) for limit in self.limits):
                yield from self._choices(values, random)


def _within(values: tuple[int, ...], limit: Limit) -> bool:
    return sum(1 for value in values if value in limit.values) <= limit.at_most


def received(told: kernel_v1.Family, commands: Mapping[str, type[Any]]) -> Family:
    """A family as it came over the wire; `commands` are the game's command types by name (`COMMAND_TYPES`)."""
    slots = tuple(Slot(slot.name, tuple(slot.domain)) for slot in told.slots)
    limits = tuple(Limit(frozenset(limit.values), limit.at_most) for limit in told.limits)
    return Family(commands[told.command], told.field, slots, told.min, told.max, limits)
