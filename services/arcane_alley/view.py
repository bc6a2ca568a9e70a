"""A viewer's View of its blind hall."""

from guildhall.arcane_alley.v1.structs import Card, Derived, DerivedPlayer, Player, Storehouse, View
from guildhall.kernel.cards import FRONT
from services.arcane_alley import scoring
from services.arcane_alley.content import Content, content_of
from services.arcane_alley.geometry import SHAPES
from services.arcane_alley.hall import EMPTY, NOBODY, REPLAYED, REVEALED, Hall, hidden_cells, turn_order


def view(hall: Hall, viewer: int | None) -> View:
    """The table as this blind hall has it; the viewer's own stash needs no other treatment than the rest."""
    seats = range(len(hall.gold))
    content = content_of(hall)
    return View(
        phase=hall.phase,
        round=hall.round,
        starting_seat=hall.starting,
        active_seat=None if hall.active == NOBODY else hall.active,
        trigger_seat=None if hall.trigger == NOBODY else hall.trigger,
        turn=hall.turn,
        players=tuple(_player(hall, seat) for seat in seats),
        deck=_items(hall.deck),
        discard=_items(hall.discard),
        set_aside=_items(hall.set_aside + hall.removed),
        turned_up=_items(hall.turned_up),
        replaced=_card(hall.taken[0]) if hall.taken else None,
        derived=Derived(tuple(turn_order(hall)), tuple(_derived(hall, content, seat) for seat in seats)),
    )


def _items(cards: list[int]) -> tuple[int, ...]:
    return tuple(card & FRONT for card in cards)


def _card(card: int) -> Card:
    return Card(card & FRONT, bool(card & REVEALED), card == EMPTY, bool(card & REPLAYED))


def _player(hall: Hall, seat: int) -> Player:
    rows, columns = SHAPES[hall.shapes[seat]]
    storehouse = hall.storehouses[seat]
    drawn = hall.drawn if seat == hall.active else []
    return Player(
        seat=seat,
        wizard=hall.wizards[seat],
        gold=hall.gold[seat],
        infamy=hall.infamy[seat],
        markers=hall.markers[seat],
        storehouse=Storehouse(rows, columns, tuple(_card(card) for card in storehouse)) if storehouse else Storehouse(),
        stash=tuple(sorted(_items(hall.stashes[seat] + drawn))),
        drawn=drawn[0] & FRONT if drawn else None,
        counted=hall.counted[seat],
    )


def _derived(hall: Hall, content: Content, seat: int) -> DerivedPlayer:
    items = [card & FRONT for card in hall.storehouses[seat] if card != EMPTY]
    return DerivedPlayer(
        seat=seat,
        hidden=len(hidden_cells(hall, seat)),
        swords=scoring.swords(hall, content, seat),
        known_infamy=sum(content.infamy[item] for item in items),
        unknown=items.count(0),
    )
