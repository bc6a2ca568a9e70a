"""A viewer's View of its blind hall."""

from guildhall.kernel.cards import FRONT
from guildhall.trickerion.v1.structs import (
    DeckCard,
    Derived,
    DerivedPlayer,
    DisplayedCard,
    OwnTrick,
    Phase,
    Pile,
    PlacedMarker,
    Placement,
    Player,
    TeamMember,
    View,
)
from services.trickerion import hooks
from services.trickerion.asking import content_of
from services.trickerion.content import Content
from services.trickerion.end_turn import wages
from services.trickerion.hall import (
    ABSENT,
    IDLE,
    MEMBERS,
    NOBODY,
    NOTHING,
    THEATER_FLAG,
    Hall,
    direction_of,
    display_of,
    is_pile,
    seat_of,
    symbol_of,
    theater_day,
    trick_of,
)
from services.trickerion.scoring import final_fame


def view(hall: Hall, viewer: int | None) -> View:
    """The table as this blind hall has it; the viewer's own hand needs no other treatment than the rest."""
    seats = range(len(hall.fame))
    content = content_of(hall)
    return View(
        phase=hall.phase,
        turn=hall.turn,
        initiative=tuple(hall.initiative),
        dice=tuple(hall.dice),
        buy_area=tuple(hall.buy_area),
        order_area=tuple(hall.order_area),
        quick_order=hall.quick_order,
        residence=tuple(hall.residence),
        display=tuple(
            DisplayedCard(card, _markers(markers)) for card, markers in zip(display_of(hall), hall.stage, strict=True)
        ),
        deck=tuple(DeckCard(card >> THEATER_FLAG, card & FRONT) for card in hall.performances),
        removed=tuple(card & FRONT for card in hall.removed),
        players=tuple(_player(hall, seat) for seat in seats),
        placement=None if hall.active == NOBODY else _placement(hall),
        weekday=hall.weekday,
        derived=Derived(tuple(_derived(hall, content, seat) for seat in seats)),
        dark_alley=hooks.of(hall).view(hall),
    )


def _markers(markers: list[int]) -> tuple[PlacedMarker, ...]:
    return tuple(
        PlacedMarker(slot, seat_of(marker), trick_of(marker), symbol_of(marker), direction_of(marker), is_pile(marker))
        for slot, marker in enumerate(markers)
        if marker
    )


def _placement(hall: Hall) -> Placement:
    return Placement(hall.active, hall.actor, max(0, hall.posts[hall.active][hall.actor]), hall.ap, hall.enhanced)


def _player(hall: Hall, seat: int) -> Player:
    posts, assigned, piles = hall.posts[seat], hall.assigned[seat], hall.piles[seat]
    return Player(
        seat=seat,
        magician=hall.magicians[seat],
        fame=hall.fame[seat],
        coins=hall.coins[seat],
        shards=hall.shards[seat],
        advertised=hall.advertised[seat],
        team=tuple(
            TeamMember(
                member,
                max(0, posts[member]),
                not assigned[member] & NOTHING,
                assigned[member] & FRONT,
                posts[member] == IDLE,
            )
            for member in MEMBERS
            if posts[member] != ABSENT
        ),
        hired=tuple(hall.inn[seat]),
        hand=tuple(card & FRONT for card in hall.hands[seat]),
        tricks=tuple(
            OwnTrick(trick, slot, hall.symbols[seat][slot], hall.prepared[seat][slot])
            for slot, trick in enumerate(hall.tricks[seat])
            if trick
        ),
        piles=tuple(
            Pile(component, tokens, component in hall.multi[seat]) for component, tokens in enumerate(piles) if tokens
        ),
        supply=tuple(hall.supply[seat][1:]),
    )


def _derived(hall: Hall, content: Content, seat: int) -> DerivedPlayer:
    order = hall.initiative
    return DerivedPlayer(
        seat=seat,
        initiative_slot=content.initiative_slots[len(order)][order.index(seat)] if order else 0,
        wages=wages(hall, content, seat),
        weekday=theater_day(hall, seat),
        final_fame=0 if hall.phase == Phase.GAME_END else sum(fame for _, fame in final_fame(hall, content, seat)),
    )
