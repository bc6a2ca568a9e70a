"""Nobody can tell two games apart that differ in what it may not know (design section 9.2)."""

from random import Random

from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.suites import noninterference

EVERY_VERSION, SOME_VERSIONS = range(10), range(10, 60)


def check(seeds: range, share: float) -> noninterference.Seen:
    seen = noninterference.Seen()
    for seed in seeds:
        noninterference.check_game(ARCANE_ALLEY, Random(seed), seen, share)
    assert seen.differing > seen.twins / 2 and seen.steps > seen.dropped
    return seen
