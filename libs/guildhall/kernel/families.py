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

    def holds(self, values: tuple[int, ...]) -> bool:
        """Whether so few of the values of all slots are among `self.values`."""
        return len([value for value in values if value in self.values]) <= self.at_most


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
        slots = self.slots
        if len(values) != len(slots):
            return False
        for value, slot in zip(values, slots, strict=True):
            if value not in slot.domain:
                return False
        if not self.min <= len(values) - values.count(0) <= self.max:
            return False
        return all(limit.holds(values) for limit in self.limits)

    def commands(self) -> Iterator[Any]:
        """Every command of the family, in canonical order; there may be very many."""
        return (self.command(values) for values in self._choices(None))

    def sample(self, random: Random) -> Any | None:
        """A command of the family, chosen by `random`; None where the family is empty.

        Every member can come out; how likely each is, is not promised.
        """
        found = next(self._choices(random), None)
        return None if found is None else self.command(found)

    def is_empty(self) -> bool:
        """Whether no command belongs to the family."""
        if not self.min and all(0 in slot.domain for slot in self.slots):
            return False  # Every slot can be left empty.
        return not list(islice(self.commands(), 1))

    def _choices(self, random: Random | None) -> Iterator[tuple[int, ...]]:
        slots, least, most = self.slots, self.min, self.max
        # By slot: how many of the slots from it on can be filled, and how many of them must be.
        can, must = [0], [0]
        for slot in reversed(slots):
            can.append(can[-1] + any(slot.domain))
            must.append(must[-1] + (0 not in slot.domain))
        can.reverse()
        must.reverse()
        left = [limit.at_most for limit in self.limits]
        limits_of: dict[int, list[int]] = {}
        for number, limit in enumerate(self.limits):
            for value in limit.values:
                limits_of.setdefault(value, []).append(number)
        values = [0] * len(slots)

        def fill(at: int, filled: int) -> Iterator[tuple[int, ...]]:
            if at == len(slots):
                yield tuple(values)
                return
            domain = slots[at].domain
            if random is not None and domain:
                first = int(random.random() * len(domain))
                domain = domain[first:] + domain[:first]
            for value in domain:
                now = filled + (value != 0)
                limits = limits_of.get(value, ())
                if now + must[at + 1] > most or now + can[at + 1] < least or not all(map(left.__getitem__, limits)):
                    continue
                values[at] = value
                for number in limits:
                    left[number] -= 1
                yield from fill(at + 1, now)
                for number in limits:
                    left[number] += 1

        return fill(0, 0)


def sent(family: Family, names: Mapping[type[Any], str]) -> kernel_v1.Family:
    """A family as it goes over the wire; `names` are the game's command types' names (`COMMAND_NAMES`)."""
    slots = tuple(kernel_v1.FamilySlot(slot.name, slot.domain) for slot in family.slots)
    limits = tuple(kernel_v1.FamilyLimit(tuple(sorted(limit.values)), limit.at_most) for limit in family.limits)
    return kernel_v1.Family(names[family.command], family.field, slots, family.min, family.max, limits)


def received(told: kernel_v1.Family, commands: Mapping[str, type[Any]]) -> Family:
    """A family as it came over the wire; `commands` are the game's command types by name (`COMMAND_TYPES`)."""
    slots = tuple(Slot(slot.name, tuple(slot.domain)) for slot in told.slots)
    limits = tuple(Limit(frozenset(limit.values), limit.at_most) for limit in told.limits)
    return Family(commands[told.command], told.field, slots, told.min, told.max, limits)
