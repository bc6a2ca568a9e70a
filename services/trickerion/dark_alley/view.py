"""The Dark Alley's part of a viewer's View."""

from guildhall.kernel.cards import FRONT
from guildhall.trickerion.v1.structs import DarkAlleyPlayer, DarkAlleyView, Draw, SpecialDeck
from services.trickerion.dark_alley.evolve import alley_of, cards_of
from services.trickerion.dark_alley.location import DECKS
from services.trickerion.hall import Hall


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
        players=tuple(
            DarkAlleyPlayer(seat, used, performing, tuple(performed), talent)
            for seat, (used, performing, performed, talent) in enumerate(
                zip(alley.used, alley.performing, alley.performed, alley.talents, strict=True)
            )
        ),
    )


def _fronts(cards: list[int]) -> tuple[int, ...]:
    return tuple(card & FRONT for card in cards)
