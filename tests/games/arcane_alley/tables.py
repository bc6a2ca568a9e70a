"""Tables set up so that each decision of the game is open, for seat a: some are rare in random play."""

from collections.abc import Callable

from tests.games.arcane_alley.script import Script, bribe, inspect, new_game, seat, sell


def after(t: Script, *commands: str) -> Script:
    """A script after some commands of seat a."""
    t.a.does(*commands)
    return t


MEEBLEMORE = seat(stash="CB y", wizard="meeblemore")
THREE_DOLLS = seat("HD HD ?x / . . . / . . .", stash="HD y")
OPEN: dict[str, Callable[[], Script]] = {
    "pick_wizard": lambda: new_game(4, powers=True),
    "reveal_items": lambda: new_game(3),
    "reveal_item": lambda: new_game(3, rulings={"stock_reveal": "one_by_one"}),
    "draw": lambda: sell(4, b=seat(stash="HD@ IR")),
    "act": lambda: after(sell(b=seat("* ?DE@b ?HD@ / . . . / . . .")), "draw deck"),
    "use_effect": lambda: after(sell(a=MEEBLEMORE), "draw deck", "play CB 0,0"),
    "peek": lambda: after(sell(a=seat(stash="CB y")), "draw deck", "play CB 0,0"),
    "boomerang": lambda: after(sell(a=seat("?MB . . / . . . / . . .", stash="BC y")), "draw deck", "play BC 0,0"),
    "discard": lambda: after(sell(2, a=seat("?HD . . / . . . / . . .", stash="BC y")), "draw deck", "play BC 0,0"),
    "lamp": lambda: after(sell(a=seat(stash="ML y")), "draw deck", "activate ML"),
    "chalice_player": lambda: after(sell(a=seat(stash="SC y")), "draw deck", "activate SC"),
    "chalice": lambda: after(sell(a=seat(stash="SC y"), b=seat(stash="DE")), "draw deck", "activate SC", "choose b"),
    "watch": lambda: after(sell(a=seat(stash="WW y"), discard="u v w"), "draw deck", "activate WW"),
    "lockbox": lambda: after(
        sell(a=seat(". ?HD@ . / . . ?IR@a / . . .", stash="PL y"), b=seat("* . . / . . . / . . .")),
        "draw deck",
        "activate PL",
    ),
    "sale_order": lambda: after(sell(a=seat(". DE . / DE ?x DE / . DE .", stash="DE y")), "draw deck", "play DE 1,1"),
    "slide": lambda: after(sell(a=seat("FC . ?x / . FC . / . . .", stash="FC y")), "draw deck", "play FC 2,2"),
    "choose_player": lambda: after(sell(a=seat("DE DE ?x / . . . / . . .", stash="DE y")), "draw deck", "play DE 0,2"),
    "cauldron": lambda: after(sell(a=seat("BC BC ?x / . . . / . . .", stash="BC y")), "draw deck", "play BC 0,2"),
    "doll": lambda: after(sell(4, a=THREE_DOLLS, b=seat("?IR FF HD / . . . / . . .")), "draw deck", "play HD 0,2"),
    "dafana": lambda: after(
        sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), c=seat(wizard="dafana")), "draw deck", "play FC 0,2"
    ),
    "glynna": lambda: inspect(a=seat("?SK . BC", wizard="glynna"), trigger="b"),
    "ninx": lambda: inspect(a=seat("HD . HT", wizard="ninx"), trigger="b"),
    "bribe": lambda: bribe(a=seat("* . --", gold=20, infamy=9), b=seat(stash="DE@")),
}
"""A table at which that decision is open."""
