"""What the clock plays, what can be taken back, and what becomes of a seat that is given up."""

from copy import deepcopy

import pytest

from guildhall.kernel.v1.structs import EndReason, TimedOut
from tests.games.arcane_alley.script import inspect, new_game, seat, sell, stock_all
from tests.games.arcane_alley.tables import OPEN

DEFAULTS = {
    "pick_wizard": "pick glynna",
    "reveal_items": "reveal 0,0 0,1",
    "reveal_item": "turn 0,0",
    "draw": "draw deck",
    "use_effect": "resolve",
    "peek": "peek 0,1",
    "boomerang": "boomerang 0,1",
    "discard": "discard HD",
    "chalice_player": "choose b",
    "chalice": "play DE 0,0",
    "watch": "take 0 0,0",
    "sale_order": "sell 1,0 1,2",
    "slide": "slide vertical",
    "choose_player": "choose b",
    "cauldron": "lose infamy",
    "doll": "doll b 0,0",
    "dafana": "pass",
    "glynna": "pass",
    "ninx": "count HD",
    "bribe": "pass",
}
"""The forced default of each decision, at its table of OPEN; the others are tested below."""


@pytest.mark.rule("AA-37", "AA-103")
@pytest.mark.parametrize("kind", OPEN)
def test_the_clock_plays_the_default(kind: str) -> None:
    t, other = OPEN[kind](), OPEN[kind]()
    name = next(name for name, asked in t.asked.items() if asked == kind)
    number = "abcdef".index(name)
    player = t.players[number]
    words = DEFAULTS.get(kind)
    if kind == "act":
        # The item just drawn is discarded.
        words = "discard " + other.players[number].stash.split()[-1]
    if words is None:
        words = player.may[0]
    assert words in player.may
    player.waits_too_long()
    assert [e.seat for e in t.events if isinstance(e, TimedOut)] == [number]
    other.players[number].does(words)
    assert t.game.state_bytes() == other.game.state_bytes() and t.asked == other.asked


@pytest.mark.rule("AA-46")
def test_what_can_be_taken_back() -> None:
    """A choice among public things, as long as nobody else is asked; nothing that was learned or drawn."""
    t = sell(a=seat("DE DE DE / DE ?x . / DE . FF", stash="DE y"))
    t.a.does("draw deck")
    assert not t.a.may_undo()
    t = sell(a=seat(". DE . / DE ?x DE / . DE .", stash="DE y"))
    t.a.does("draw deck", "play DE 1,1")
    assert not t.a.may_undo()
    before = deepcopy(t.hall)
    t.a.does("sell 1,0 1,2")
    assert t.hall != before
    assert t.a.may_undo()
    t.a.does("undo")
    assert t.hall == before
    assert t.a.may == ["sell 1,0 1,2", "sell 0,1 2,1"]
    t.a.does("sell 0,1 2,1", "choose b")
    assert t.asked == {"b": "draw"} and not t.b.may_undo()


@pytest.mark.rule("AA-84")
def test_who_resigns_ranks_last_and_plays_defaults() -> None:
    t = sell(a=seat("IR DL TC", gold=90), b=seat("IR DL TC"), c=seat("IR DL TC", gold=30), round=3)
    t.a.resigns()
    assert t.asked == {"b": "draw"}
    t.b.passes()
    t.c.passes()
    assert t.game.ended is not None and t.game.ended.reason == EndReason.FINISHED
    assert t.ranks == [3, 2, 1]


@pytest.mark.rule("AA-01")
def test_a_game_of_defaults_ends() -> None:
    """Nobody ever answers but one seat; the hall goes on with defaults, and no seat is stuck."""
    t = new_game(2, wizards="dafana,glynna")
    stock_all(t)
    for _ in range(400):
        if t.game.ended is not None:
            break
        (name, *_) = t.asked
        player = t.players["ab".index(name)]
        if name == "a":
            player.does(player.may[-1])
        else:
            player.waits_too_long()
    assert t.game.ended is not None


@pytest.mark.rule("AA-198")
def test_a_resigned_wizard_uses_no_offer() -> None:
    t = inspect(a=seat("?FC FC FC / BC TC HD"), b=seat("", infamy=9, wizard="dafana"), trigger="c", round=3)
    assert t.asked == {"b": "dafana"}
    t.b.resigns()
    t.b.has(gold=25, infamy=9)


@pytest.mark.rule("AA-143", "AA-161")
@pytest.mark.parametrize(
    ("code", "gold", "infamy", "chosen"),
    [
        ("DE", (9, 12, 30, 40), (0, 0, 0, 0), "b"),
        ("DE", (9, 40, 30, 12), (0, 0, 0, 0), "d"),
        ("HT", (25, 25, 25, 25), (9, 6, 5, 0), "b"),
        ("HT", (25, 25, 25, 25), (9, 1, 5, 7), "d"),
    ],
)
def test_whom_the_clock_chooses(code: str, gold: tuple[int, ...], infamy: tuple[int, ...], chosen: str) -> None:
    """Of the others the poorest for a gift, the most infamous for infamy."""
    a, b, c, d = (seat(gold=g, infamy=i) for g, i in zip(gold, infamy, strict=True))
    a = seat(f"{code} {code} ?x / . . . / . . .", f"{code} y", a.gold, a.infamy)
    t = sell(4, a=a, b=b, c=c, d=d)
    t.a.does("draw deck", f"play {code} 0,2")
    number = "abcd".index(chosen)
    before = t.hall.infamy[number]
    t.a.waits_too_long()
    assert t.hall.infamy[number] > before
