"""The options of a game: wizard powers, and what a creator gives instead of luck or choice."""

from collections.abc import Mapping

from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Choosable
from guildhall.kernel.v1.structs import GameCreated

WIZARDS = ("glynna", "meeblemore", "corvus", "dafana", "ninx", "byros")
"""Names of the wizards, in the order of the contract's Wizard from 1."""

OPTIONS = (
    Choosable(
        "wizard_powers",
        "true",
        ("true", "false"),
        "Whether each wizard has a power; leave them out in a first game.",
        "AA-09",
    ),
    Choosable(
        "wizards",
        "",
        None,
        "With ruling wizard_assignment = given: the wizard of each seat, for example `byros,ninx,corvus`; of glynna, "
        "meeblemore, corvus, dafana, ninx, byros.",
        "RES-36",
    ),
    Choosable(
        "first_seat",
        "",
        None,
        "With ruling first_player = given: the seat that begins, from 0.",
        "RES-36",
    ),
)


def powers(chosen: Mapping[str, str]) -> bool:
    """Whether wizard powers are in the game."""
    return chosen.get("wizard_powers", "true") == "true"


def wizards(chosen: Mapping[str, str]) -> list[int]:
    """The given wizard of each seat (the contract's Wizard); empty: none given. `check_setup` has accepted the text."""
    text = chosen.get("wizards", "")
    return [WIZARDS.index(name) + 1 for name in text.split(",")] if text else []


def first_seat(chosen: Mapping[str, str]) -> int:
    """The given first seat; -1: none given. `check_setup` has accepted the text."""
    text = chosen.get("first_seat", "")
    return int(text) if text else -1


def check_setup(created: GameCreated) -> Refusal | None:
    """What is wrong with the options that are free text: they are there if and only if a ruling asks for them."""
    chosen = {setting.name: setting.value for setting in (*created.options, *created.rulings)}
    seats = len(created.subjects)
    names = chosen["wizards"]
    if (chosen["wizard_assignment"] == "given" and powers(chosen)) != bool(names):
        return _invalid("wizards", "is for ruling wizard_assignment = given with wizard powers, and needed there")
    if names:
        listed = names.split(",")
        if len(listed) != seats or len(set(listed)) != seats or not set(listed) <= set(WIZARDS):
            return _invalid("wizards", f"names {seats} different wizards of {', '.join(WIZARDS)}, with commas between")
    first = chosen["first_seat"]
    if (chosen["first_player"] == "given") != bool(first):
        return _invalid("first_seat", "is for ruling first_player = given, and needed there")
    if first and first not in map(str, range(seats)):
        return _invalid("first_seat", f"is a seat from 0 to {seats - 1}")
    return None


def _invalid(name: str, what: str) -> Refusal:
    return Refusal("INVALID_OPTION", f"Option {name!r} {what}.", "RES-36")
