"""Tables set up so that each decision of the game is open, for seat a: some are rare in random play."""

from collections.abc import Callable

from tests.games.trickerion.script import (
    Script,
    advertise,
    assign,
    end_turn,
    new_game,
    perform,
    place,
    seat,
    seat_number,
)


def after(t: Script, *commands: str) -> Script:
    """A script after some commands of seat a."""
    t.a.does(*commands)
    return t


def setting_up(kind: str, **chosen: str) -> Script:
    """A new game in which seat a is asked that; before it everybody takes what is first listed, or `chosen` by kind."""
    t = new_game(2)
    while t.asked != {"a": kind}:
        ((name, asked),) = t.asked.items()
        player = t.players[seat_number(name)]
        player.does(chosen.get(asked) or player.may[0])
    return t


STAGE = "a/linking_rings@R01:0.0>down b/living_piano@R10:1.0>left"
OPEN: dict[str, Callable[[], Script]] = {
    "choose_magician": lambda: setting_up("choose_magician"),
    "starting_components": lambda: setting_up("starting_components"),
    "starting_trick": lambda: setting_up("starting_trick"),
    "specialist": lambda: setting_up("specialist"),
    "manager_components": lambda: setting_up("manager_components", specialist="specialist manager"),
    "engineer_trick": lambda: setting_up("engineer_trick", specialist="specialist engineer"),
    "advertise": advertise,
    "assign": lambda: assign(2, a=seat("magician engineer apprentice_1")),
    "place": lambda: place(a=seat("magician:downtown engineer:theater", "linking_rings", "wood*2"), stage=STAGE),
    "act": lambda: after(
        place(a=seat("magician:downtown", "linking_rings", "wood*2"), dice="any X / X X / 4 X"),
        "place magician downtown_1",
    ),
    "trick_slot": lambda: after(
        place(a=seat("magician:downtown engineer"), dice="any X / X X / X X"),
        "place magician downtown_1",
        "learn mind_reading dahlgaard_a",
    ),
    "symbol": lambda: after(
        place(a=seat("magician:downtown"), dice="any X / X X / X X"),
        "place magician downtown_1",
        "learn mind_reading dahlgaard_a",
    ),
    "reschedule": lambda: after(
        place(a=seat("engineer:theater"), stage=STAGE), "place engineer friday_1", "reschedule R01:0.0"
    ),
    "link_bonus": lambda: after(
        place(a=seat("engineer:theater", "levitation*1"), stage="b/linking_rings@R01:0.0>down"),
        "place engineer friday_1",
        "set_up levitation R01:0.1>up",
    ),
    "perform": lambda: perform(a=seat("magician@friday_stage"), stage=STAGE + " a/linking_rings@R10:0.0>right"),
    "house_apprentice": lambda: end_turn(a=seat("magician assistant apprentice_1", hired="apprentice")),
}
"""A table at which that decision is open."""
