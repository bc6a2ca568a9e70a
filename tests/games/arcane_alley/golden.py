"""Golden games of Arcane Alley: see tests/suites/golden.py.

python -m tests.games.arcane_alley.golden record | check
"""

import sys
from pathlib import Path

from guildhall.kernel.decide import Creation
from services.arcane_alley.rules import RULES
from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.suites.golden import GoldenGames, main

FOLDER = Path(__file__).parent / "golden"
CREATIONS = {
    "two-players-plain": Creation(["a", "b"], {"wizard_powers": "false"}),
    "two-players-powers": Creation(
        ["a", "b"],
        {"wizards": "glynna,byros", "first_seat": "1"},
        {"wizard_assignment": "given", "first_player": "given"},
    ),
    "four-players-picked": Creation(["a", "b", "c", "d"]),
    "five-players-other-rulings": Creation(
        ["a", "b", "c", "d", "e"],
        rulings={
            r.name: r.values[-1]
            for r in RULES.rulings
            if r.values and r.name not in ("wizard_assignment", "first_player")
        },
    ),
    "six-players-random-wizards": Creation([*"abcdef"], rulings={"wizard_assignment": "random"}),
}
"""The games that are recorded, by the name of their file."""
GOLDEN = GoldenGames(FOLDER, {name: (ARCANE_ALLEY, creation) for name, creation in CREATIONS.items()})

if __name__ == "__main__":
    sys.exit(main(GOLDEN, sys.argv[1]))
