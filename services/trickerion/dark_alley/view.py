"""The Dark Alley's part of a viewer's View."""

from guildhall.kernel.cards import FRONT, SPECTATOR
from guildhall.trickerion.v1.structs import (
    DarkAlleyPlayer,
    DarkAlleyView,
    Draw,
    ModifierOrder,
    PlacedCharacter,
    SpecialDeck,
    TakenYield,
    TrickPremiere,
    UnorderedYield,
    YieldModifier,
)
from services.trickerion.content import FIRST_SPECIAL
from services.trickerion.dark_alley.evolve import alley_of, cards_of
from services.trickerion.dark_alley.hall import NOBODY, Alley, seat_and_member
from services.trickerion.dark_alley.location import DECKS
from services.trickerion.dark_alley.performing import unordered
from services.trickerion.hall import MEMBERS, NOTHING, Hall
from services.trickerion.hooks import Change


def view(hall: Hall) -> DarkAlleyView:
    """The Dark Alley as this blind hall has it."""
    alley, cards = alley_of(hall), cards_of(hall)
    return DarkAlleyView(
        decks=tuple(SpecialDeck(deck, _fronts(cards.decks[deck])) for deck in DECKS),
        drawn=tuple(
            Draw(deck, _fronts(drawn), left)
            for deck, drawn, left in zip(alley.drawn_from, cards.drawn, alley.to_put_under, strict=True)
        ),
        active=alley.active[0] & FRONT if alley.active else 0,
        pending=_fronts(alley.pending),
        discarded=_fronts(alley.discarded),
        pile=len(cards.pile),
        bonus=alley.bonus,
        armed=alley.armed,
        enhanced=tuple(alley.enhanced),
        shares=tuple(alley.shares),
        in_stock=tuple(alley.in_stock),
        players=tuple(_player(hall, alley, seat) for seat in range(len(alley.used))),
        placed=tuple(PlacedCharacter(*seat_and_member(who)) for who in alley.placed),
        copied=alley.copied,
        drew=alley.drew,
        told=alley.told,
        quick_order_claimant=None if alley.claimant == NOBODY else alley.claimant,
        premiere=TrickPremiere(*alley.premiere) if alley.premiere else None,
        stolen=tuple(map(TakenYield, alley.stolen[::2], alley.stolen[1::2])),
        performed_card=alley.performed_card,
        modifier_orders=tuple(ModifierOrder(slot, tuple(order)) for slot, *order in alley.chosen_orders),
        unordered=tuple(UnorderedYield(slot, tuple(map(_modifier, found))) for slot, found in unordered(hall)),
    )


def _modifier(change: Change) -> YieldModifier:
    return YieldModifier(change.source, change.fame, change.coins, change.fame_times, change.coins_times)


def _player(hall: Hall, alley: Alley, seat: int) -> DarkAlleyPlayer:
    assigned = hall.assigned[seat]
    return DarkAlleyPlayer(
        seat=seat,
        ability_used=alley.used[seat],
        performing=alley.performing[seat],
        performed=tuple(alley.performed[seat]),
        talent=alley.talents[seat],
        durable=tuple(alley.durable[seat]),
        shown=tuple(card & FRONT for card in hall.hands[seat] if card & SPECTATOR and card & FRONT >= FIRST_SPECIAL),
        unseen=tuple(member for member in MEMBERS if assigned[member] != NOTHING and not assigned[member] & SPECTATOR),
    )


def _fronts(cards: list[int]) -> tuple[int, ...]:
    return tuple(card & FRONT for card in cards)
