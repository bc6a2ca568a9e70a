"""Families: check, listing and sampling tell the same set, in one canonical order."""

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from guildhall.kernel.families import Family, Limit, Slot, received, sent
from guildhall.kernel.v1 import structs as kernel_v1
from tests.kernel.tiny.build import structs as t

VALUES = (0, 1, 2, 3)
families = st.builds(
    lambda domains, low, extra, limits: Family(
        t.Arrange,
        "places",
        tuple(Slot(f"slot {n}", tuple(sorted(domain))) for n, domain in enumerate(domains)),
        low,
        low + extra,
        tuple(limits),
    ),
    st.lists(st.sets(st.sampled_from(VALUES), min_size=1), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 3),
    st.lists(st.builds(Limit, st.frozensets(st.sampled_from(VALUES[1:]), min_size=1), st.integers(0, 3)), max_size=2),
)


@given(families)
def test_listing_is_what_the_check_accepts_in_canonical_order(family: Family) -> None:
    domains = [slot.domain for slot in family.slots]
    accepted = [t.Arrange(values) for values in product(*domains) if family.holds(t.Arrange(values))]
    assert list(family.commands()) == accepted
    assert family.is_empty() == (not accepted)


@given(families)
def test_the_check_is_what_the_family_says(family: Family) -> None:
    for values in product((*VALUES, 4), repeat=len(family.slots)):
        legal = (
            all(value in slot.domain for value, slot in zip(values, family.slots, strict=True))
            and family.min <= len([value for value in values if value]) <= family.max
            and all(len([v for v in values if v in limit.values]) <= limit.at_most for limit in family.limits)
        )
        assert family.holds(t.Arrange(values)) == legal


@given(families, st.integers(0, 2**32))
def test_a_sample_is_a_member(family: Family, seed: int) -> None:
    command = family.sample(Random(seed))
    assert (command is None) == family.is_empty()
    assert command is None or family.holds(command)


def test_every_member_can_be_sampled() -> None:
    slots = tuple(Slot(f"slot {n}", VALUES) for n in range(3))
    family = Family(t.Arrange, "places", slots, 1, 2, (Limit(frozenset({1, 2}), 1),))
    random = Random(0)
    assert {family.sample(random) for _ in range(2_000)} == set(family.commands())


def test_other_lengths_other_values_and_other_commands_are_not_members() -> None:
    family = Family(t.Arrange, "places", (Slot("a", (0, 1)), Slot("b", (1, 2))), 0, 2)
    assert family.holds(t.Arrange((0, 1)))
    for places in ((), (0,), (0, 1, 0), (2, 1), (0, 0)):
        assert not family.holds(t.Arrange(places))
    assert not family.holds(t.Bid(1))
    assert not family.holds(None)


def test_a_slot_that_must_be_filled_has_no_zero_in_its_domain() -> None:
    family = Family(t.Arrange, "places", (Slot("a", (1, 2)), Slot("b", (0, 1))), 0, 2)
    assert [command.places for command in family.commands()] == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_large_family_is_checked_and_sampled_without_listing_it() -> None:
    slots = tuple(Slot(f"slot {n}", tuple(range(20))) for n in range(12))
    family = Family(t.Arrange, "places", slots, 3, 6, (Limit(frozenset({1}), 1),))
    command = family.sample(Random(3))
    assert family.holds(command) and not family.is_empty()


def test_many_slots_that_can_only_be_empty_do_not_stall_the_listing() -> None:
    fillable = tuple(Slot(f"full {n}", (0, 1)) for n in range(24))
    empty = tuple(Slot(f"empty {n}", (0,)) for n in range(8))
    family = Family(t.Arrange, "places", (*fillable, *empty), 24, 32)
    assert [sum(command.places) for command in family.commands()] == [24]


@given(families)
def test_a_family_comes_over_the_wire_as_it_was(family: Family) -> None:
    told = kernel_v1.encode_Family(sent(family, t.COMMAND_NAMES))
    assert received(kernel_v1.decode_Family(told), t.COMMAND_TYPES) == family
