"""Golden games of Trickerion: see tests/suites/golden.py.

python -m tests.games.trickerion.golden record | check
"""

import sys
from pathlib import Path

from guildhall.kernel.decide import Creation
from services.trickerion.rules import RULES
from tests.games.trickerion.subject import PERFORMERS, TRICKERION
from tests.suites.golden import GoldenGames, main

FOLDER = Path(__file__).parent / "golden"
OTHER_RULINGS = {ruling.name: ruling.values[-1] for ruling in RULES.rulings if ruling.values}
DARK_ALLEY = {"dark_alley": "true"}
GAMES = {
    "two-players": (PERFORMERS, Creation(["a", "b"])),
    "three-players-beginners": (TRICKERION, Creation(["a", "b", "c"], {"set_up": "beginners"})),
    "four-players-other-rulings": (PERFORMERS, Creation([*"abcd"], rulings=OTHER_RULINGS)),
    "two-players-dark-alley": (TRICKERION, Creation(["a", "b"], DARK_ALLEY)),
    "three-players-dark-alley-other-rulings": (TRICKERION, Creation(["a", "b", "c"], DARK_ALLEY, OTHER_RULINGS)),
    "four-players-dark-alley": (PERFORMERS, Creation([*"abcd"], DARK_ALLEY)),
    "four-players-without-prophecies": (TRICKERION, Creation([*"abcd"], DARK_ALLEY | {"prophecies": "false"})),
}
"""The games that are recorded, by the name of their file."""
GOLDEN = GoldenGames(FOLDER, GAMES)

if __name__ == "__main__":
    sys.exit(main(GOLDEN, sys.argv[1]))
