"""Whatever bytes come: a wire error, a refusal, or a legal command; nothing else, and a refusal changes nothing."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from guildhall.kernel.decide import decide
from guildhall.kernel.game import Game, restore
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.wire import WireError
from services.trickerion.rules import RULES
from tests.games.trickerion.subject import TRICKERION
from tests.suites.subject import begin, play

STATES = 100
"""So many states of random games are attacked."""


def states() -> list[bytes]:
    """Snapshots from all over some random games, half of them with the Dark Alley."""
    snapshots: list[bytes] = []
    for seed in range(10):
        random = Random(seed)
        game, _ = begin(TRICKERION, random)
        kept = [game.snapshot()]
        kept += [game.snapshot() for _ in play(TRICKERION, game, random) if game.ended is None]
        snapshots += random.sample(kept, STATES // 10)
    return snapshots


SNAPSHOTS = states()
# Bytes that are nearly a command: a known or unknown field of the oneof, and a few small fields in it.
FIELD = st.tuples(st.integers(1, 15), st.integers(0, 5), st.binary(min_size=1, max_size=3)).map(
    lambda t: bytes([t[0] << 3 | t[1]]) + t[2]
)
NUMBER = st.tuples(st.integers(1, 5), st.integers(0, 130)).map(lambda t: bytes([t[0] << 3]) + _varint(t[1]))
NEARLY = st.tuples(st.integers(0, 110), st.lists(st.one_of(NUMBER, NUMBER, FIELD), max_size=4).map(b"".join)).map(
    lambda t: _varint(t[0] << 3 | 2) + _varint(len(t[1])) + t[1]
)
COMMANDS = st.one_of(
    st.binary(max_size=40), NEARLY, NEARLY, NEARLY.flatmap(lambda head: st.binary(max_size=5).map(head.__add__))
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
    except WireError:
        assert game.snapshot() == before
    except Refusal as refusal:
        assert game.snapshot() == before
        assert refusal.reason and refusal.message
    else:
        assert restore(RULES, before).legal(decision.seat).holds(command)
        assert game.version == restore(RULES, before).version + 1
