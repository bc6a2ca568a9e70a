"""The options of a game: the Dark Alley, its prophecies, the first-time set-up."""

from collections.abc import Mapping

from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Choosable
from guildhall.kernel.v1.structs import GameCreated

TRUE, FALSE = "true", "false"

OPTIONS = (
    Choosable(
        "dark_alley",
        FALSE,
        (FALSE, TRUE),
        "The Dark Alley: seven turns, a fifth Location with special Assignment cards and prophecies, level 3 Tricks, "
        "magicians with abilities.",
        "TR-D01",
    ),
    Choosable(
        "prophecies",
        TRUE,
        (TRUE, FALSE),
        "With the Dark Alley: prophecies; without them the Priestess of Mysticism is left out.",
        "TR-D08",
    ),
    Choosable(
        "set_up",
        "free",
        ("free", "beginners"),
        "Players choose Tricks, Components and a Specialist; or have the fixed set of their magician's category.",
        "TR-029",
    ),
)


def dark_alley(chosen: Mapping[str, str]) -> bool:
    """Whether the Dark Alley is in the game."""
    return chosen.get("dark_alley", FALSE) == TRUE


def prophecies(chosen: Mapping[str, str]) -> bool:
    """Whether prophecies are in the game."""
    return dark_alley(chosen) and chosen.get("prophecies", TRUE) == TRUE


def beginners(chosen: Mapping[str, str]) -> bool:
    """Whether the first-time set-up is used."""
    return chosen.get("set_up", "free") == "beginners"


def check_setup(created: GameCreated) -> Refusal | None:
    """What is wrong with options that contradict each other."""
    chosen = {setting.name: setting.value for setting in created.options}
    if not dark_alley(chosen) and chosen["prophecies"] == FALSE:
        return Refusal("INVALID_OPTION", "Option 'prophecies' is for games with the Dark Alley.", "TR-D08")
    return None
