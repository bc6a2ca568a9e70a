"""Whatever bytes come: a wire error, a refusal, or a legal command; nothing else, and a refusal changes nothing."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from guildhall.kernel.decide import decide
from guildhall.kernel.game import Game, restore
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.wire import WireError
from services.arcane_alley.rules import RULES
from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.suites.subject import begin, play

STATES = 60
"""So many states of random games are attacked."""


def states() -> list[bytes]:
    """Snapshots from all over some random games."""
    snapshots: list[bytes] = []
    for seed in range(6):
        random = Random(seed)
        game, _ = begin(ARCANE_ALLEY, random)
        kept = [game.snapshot()]
        kept += [game.snapshot() for _ in play(ARCANE_ALLEY, game, random) if game.ended is None]
        snapshots += random.sample(kept, STATES // 6)
    return snapshots


SNAPSHOTS = states()
# Bytes that are nearly a command: a known or unknown field of the oneof, and a few small fields in it.
FIELD = st.tuples(st.integers(0, 15), st.integers(0, 5), st.binary(max_size=3)).map(
    lambda t: bytes([t[0] << 3 | t[1]]) + t[2]
)
NEARLY = st.tuples(st.integers(0, 45), st.lists(FIELD, max_size=3).map(b"".join)).map(
    lambda t: _varint(t[0] << 3 | 2) + _varint(len(t[1])) + t[1]
)
COMMANDS = st.one_of(
    st.binary(max_size=40), NEARLY, NEARLY.flatmap(lambda head: st.binary(max_size=5).map(head.__add__))
)


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


@given(st.sampled_from(SNAPSHOTS), COMMANDS)
def test_bytes_are_a_command_or_refused(snapshot: bytes, data: bytes) -> None:
    attack(restore(RULES, snapshot), data)


def attack(game: Game, data: bytes) -> None:
    before = game.snapshot()
    decision = game.waiting()[0]
    id_ = decision_id(decision.version, decision.seat)
    try:
        command = RULES.wire.decode_command(data)
        decide(game, decision.seat, id_, command, subject="anybody", command_id="fuzz", at_ms=game.at_ms)
    except (WireError, Refusal):
        assert game.snapshot() == before
    else:
        assert restore(RULES, before).legal(decision.seat).holds(command)
        assert game.version == restore(RULES, before).version + 1
