"""Cards, hands and blind halls: what a viewer may know, and that nothing else is told."""

from collections import Counter
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from guildhall.kernel.blind import blinder, glancer, places
from guildhall.kernel.cards import (
    EVERYONE,
    FLAGS_FROM,
    MAX_SEATS,
    SPECTATOR,
    UNKNOWN,
    Card,
    Cards,
    Hand,
    Open,
    blind_cards,
    blind_hand,
    forget,
    front,
    join_hand,
    known_by,
    knows,
    leave_hand,
    new_card,
    told,
)

VIEWERS: tuple[int | None, ...] = (*range(MAX_SEATS), None)
FACEUP = 1 << FLAGS_FROM
seats_that_know = st.one_of(
    st.just(EVERYONE),
    st.sets(st.integers(0, MAX_SEATS - 1)).map(lambda seats: sum(knows(seat) for seat in seats)),
)
cards = st.builds(lambda front, mask: told(new_card(front), front, mask), st.integers(1, 3), seats_that_know)
hands = st.lists(cards, min_size=1, max_size=6).map(sorted)


def seen(hand: list[Card], viewer: int | None) -> list[Card]:
    return blind_hand(hand, knows(viewer))


def test_a_new_card_is_known_to_nobody() -> None:
    card = new_card(200)
    assert front(card) == 200
    assert not any(known_by(card, viewer) for viewer in VIEWERS)


def test_who_is_told_a_front_knows_it_and_nobody_else() -> None:
    card = told(new_card(9), 9, knows(1) | knows(4))
    assert [viewer for viewer in VIEWERS if known_by(card, viewer)] == [1, 4]
    assert all(known_by(told(card, 9, EVERYONE), viewer) for viewer in VIEWERS)


def test_a_redacted_front_tells_nothing_and_flags_stay() -> None:
    card = new_card(9) | FACEUP
    assert told(card, 0, EVERYONE) == card
    assert told(card, 9, knows(2)) & FACEUP


def test_knowledge_adds_up_and_a_shuffle_takes_it_away() -> None:
    card = told(told(new_card(9), 9, knows(0)), 9, knows(3)) | FACEUP
    assert known_by(card, 0) and known_by(card, 3)
    assert forget(card) == new_card(9)


def test_every_viewer_has_its_own_bit() -> None:
    assert len({knows(viewer) for viewer in VIEWERS}) == len(VIEWERS)
    assert sum(knows(viewer) for viewer in VIEWERS) == EVERYONE
    assert knows(None) == SPECTATOR


@given(st.lists(cards, max_size=8), st.sampled_from(VIEWERS), st.booleans())
def test_a_blind_place_shows_what_its_viewer_knows_and_nothing_else(
    place: list[Card], viewer: int | None, faceup: bool
) -> None:
    place = [card | FACEUP if faceup else card for card in place]
    blind = blind_cards(place, knows(viewer))
    assert len(blind) == len(place)
    for card, shown in zip(place, blind, strict=True):
        assert bool(shown & FACEUP) == bool(card & FACEUP)
        assert front(shown) == (front(card) if known_by(card, viewer) else UNKNOWN)
        others = [v for v in VIEWERS if v != viewer and known_by(shown, v)]
        assert others == ([v for v in VIEWERS if v != viewer] if known_by(card, None) else [])


@given(hands, st.sampled_from(VIEWERS), st.randoms(use_true_random=False))
def test_the_order_of_a_hand_tells_nothing(hand: list[Card], viewer: int | None, random: Any) -> None:
    mixed = random.sample(hand, len(hand))
    assert seen(mixed, viewer) == seen(hand, viewer)
    assert seen(hand, viewer) == sorted(seen(hand, viewer))


@given(hands, st.integers(1, 3))
def test_what_leaves_a_hand_is_the_same_on_every_blind_hall(hand: list[Card], wanted: int) -> None:
    """The law of views for a card that leaves openly."""
    if wanted not in map(front, hand):
        wanted = front(hand[0])
    truth = list(hand)
    card = leave_hand(truth, wanted)
    assert card == new_card(wanted)
    assert Counter(map(front, hand)) - Counter(map(front, truth)) == Counter([wanted])
    assert truth == sorted(truth)
    for viewer in VIEWERS:
        blind = seen(hand, viewer)
        assert leave_hand(blind, wanted) == card
        assert seen(blind, viewer) == seen(truth, viewer)


@given(hands, st.integers(1, 3))
def test_what_leaves_a_hand_costs_each_viewer_one_known_copy(hand: list[Card], wanted: int) -> None:
    if wanted not in map(front, hand):
        wanted = front(hand[0])
    after = list(hand)
    leave_hand(after, wanted)
    for viewer in VIEWERS:
        known = Counter(front(card) for card in hand if known_by(card, viewer))
        left = Counter(front(card) for card in after if known_by(card, viewer))
        assert left == known - Counter([wanted])


@given(hands)
def test_which_of_equal_cards_leaves_cannot_be_told(hand: list[Card]) -> None:
    """Two hands that differ in which copy others know are one hand once a copy has left."""
    copies = [card for card in hand if front(card) == front(hand[0])]
    one = sorted(copies)
    other = sorted((front(hand[0]) | mask) for mask in rearranged([card & EVERYONE for card in copies]))
    for viewer in VIEWERS:
        assert len([c for c in one if known_by(c, viewer)]) == len([c for c in other if known_by(c, viewer)])
    leave_hand(one, front(hand[0]))
    leave_hand(other, front(hand[0]))
    assert one == other


def rearranged(masks: list[int]) -> list[int]:
    """Other masks with which each viewer knows as many copies."""
    out = [0] * len(masks)
    for viewer in VIEWERS:
        for copy in range(sum(1 for mask in masks if mask & knows(viewer))):
            out[copy] |= knows(viewer)
    return out


def test_a_card_whose_front_a_blind_hall_does_not_know_leaves_as_an_unknown_one() -> None:
    hand = sorted([told(new_card(1), 1, knows(0)), new_card(2), new_card(3)])
    blind = seen(hand, 0)
    leave_hand(blind, 2)
    assert blind == sorted([UNKNOWN, told(new_card(1), 1, knows(0))])


def test_a_hand_is_kept_sorted() -> None:
    hand: list[Card] = []
    for card in (3, 1, 2, 1):
        join_hand(hand, card)
    assert hand == [1, 1, 2, 3]


class Seat(Struct, array_like=True):
    coins: int
    hand: Hand


class Hall(Struct, array_like=True):
    round: int
    deck: Cards
    seats: list[Seat]
    grids: list[Cards]
    shown: Open


def test_a_hall_is_blinded_wherever_a_place_stands_and_the_truth_stays() -> None:
    public = told(new_card(7), 7, EVERYONE)
    mine = told(new_card(5), 5, knows(0))
    hall = Hall(3, [4, mine], [Seat(1, [mine]), Seat(2, [6])], [[8], [public]], [public])
    before = msgspec.msgpack.encode(hall)
    blind = blinder(Hall)
    assert blind(hall, 0) == Hall(3, [0, mine], [Seat(1, [mine]), Seat(2, [0])], [[0], [public]], [public])
    for viewer in (1, None):
        assert blind(hall, viewer) == Hall(3, [0, 0], [Seat(1, [0]), Seat(2, [0])], [[0], [public]], [public])
    assert msgspec.msgpack.encode(hall) == before
    assert [sort for sort, _ in places(hall, Hall)] == ["cards", "hand", "hand", "cards", "cards", "open"]


class Extended(Struct, array_like=True):
    seats: list[Seat]
    extra: Seat | None
    plain: int | None = None


@pytest.mark.parametrize("extra", [None, Seat(9, [7])])
def test_a_part_that_a_game_may_do_without_is_blinded_too(extra: Seat | None) -> None:
    hall = Extended([Seat(1, [6])], extra)
    hidden = None if extra is None else Seat(9, [0])
    assert blinder(Extended)(hall, 0) == Extended([Seat(1, [0])], hidden)
    assert glancer(Extended)(hall, None).extra == hidden
    assert [cards for _, cards in places(hall, Extended)] == [[6]] + ([] if extra is None else [[7]])


class Talkative(Struct, array_like=True):
    deck: Cards
    rounds: int

    def top(self) -> Card:
        return self.deck[-1]


@pytest.mark.parametrize("viewer", [0, 1, None])
def test_a_glance_answers_field_by_field_as_the_blind_hall(viewer: int | None) -> None:
    mine = told(new_card(5), 5, knows(0))
    hall = Hall(3, [4, mine], [Seat(1, [mine]), Seat(2, [6])], [[8]], [told(new_card(7), 7, EVERYONE)])
    blind, glance = blinder(Hall)(hall, viewer), glancer(Hall)(hall, viewer)
    for name in (*Hall.__struct_fields__, *Hall.__struct_fields__):
        assert getattr(glance, name) == getattr(blind, name)


def test_no_method_of_a_hall_looks_past_a_glance() -> None:
    hall = Talkative([4], 1)
    glance = glancer(Talkative)(hall, 0)
    assert glance.deck == [UNKNOWN] and hall.top() == 4
    with pytest.raises(AttributeError):
        glance.top()


def test_a_hall_without_secrets_is_its_own_blind_hall() -> None:
    class Board(Struct):
        squares: list[int]
        name: Annotated[str, msgspec.Meta(max_length=5)] = ""

    board = Board([1, 2])
    assert blinder(Board)(board, None) is board


@pytest.mark.parametrize("field", [dict[int, Cards], tuple[Cards, ...], Hand | None, dict[int, list[Seat]]])
def test_a_hall_whose_secrets_would_not_be_blinded_is_refused(field: Any) -> None:
    hall = msgspec.defstruct("Leaky", [("field", field)])
    for make in (blinder, glancer):
        with pytest.raises(TypeError, match="secret place"):
            make(hall)
