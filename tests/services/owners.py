"""Owners of one partition of the tiny game, over a memory log, and what they do to its games."""

from guildhall.host.history import History
from guildhall.host.hosted_game import Attempt
from guildhall.host.partition import Partition, Upkeep
from guildhall.kernel import operate
from guildhall.kernel.decide import Creation, Decided, create, created_event
from guildhall.kernel.game import Game
from guildhall.kernel.operate import Order
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import Claim
from guildhall.log.recovery import Store, open_store
from tests.kernel.stage import SEED
from tests.kernel.tiny.game import RULES
from tests.services.hall import SEATS

GAME_ID = "thegame"


async def tiny_store(broker: MemoryBroker, faults: Faults | None = None) -> Store:
    """The game's topics, of one partition each."""
    return await open_store(broker.log(faults), "tiny", 1)


async def folded(store: Store, instance: str) -> Partition:
    """A partition that is folded, and not claimed."""
    me = Claim(instance, f"{instance}:1")
    partition = Partition(RULES, store, 0, me, History(RULES, store.events), Upkeep(), lambda *_: None)
    await partition.fold()
    return partition


async def owner(broker: MemoryBroker, instance: str, faults: Faults | None = None) -> Partition:
    """A partition that is folded and claimed."""
    partition = await folded(await tiny_store(broker, faults), instance)
    await partition.writer.claim()
    return partition


def creating(game_id: str = GAME_ID, decision_ms: int | None = None) -> Attempt:
    """Create the game, at 1 ms."""

    def attempt(game: Game | None) -> tuple[Game, Decided] | int:
        if game is not None:
            return 1
        created = created_event(RULES, Creation(SEATS, decision_ms=decision_ms), game_id, SEED)
        return create(RULES, created, subject=SEATS[0], command_id="create", payload_hash=bytes(32), at_ms=1)

    return attempt


def abort(game: Game | None) -> Decided:
    """End the game, as an operator does."""
    assert game is not None
    return operate.abort(game, Order("operator", "abort", "It is over.", game.at_ms + 1))
