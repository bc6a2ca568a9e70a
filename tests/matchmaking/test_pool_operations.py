"""A quarantined pool as operators see it by the API: who may, the metric, the answers of the hall to its players."""

from pathlib import Path

import grpc
import pytest

from guildhall.telemetry import metrics
from guildhall.telemetry.metrics import REGISTRY
from tests.cli.test_operating import DAMAGE, spoil
from tests.matchmaking.hall import GAME, hall, players
from tests.services import hall as games
from tests.services.hall import failure, forget_stored
from tests.services.operator import operator


def quarantined() -> float:
    return REGISTRY.get_sample_value("guildhall_quarantined_pools", {"game": GAME}) or 0.0


@pytest.mark.parametrize("how", DAMAGE)
async def test_a_quarantine_is_counted_told_and_lifted(tmp_path: Path, how: str) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        await alice.ask("CreateTicket", seats=(4,))
        await bob.ask("CreateTicket", seats=(4,))
        assert quarantined() == 0
    spoil(tmp_path, "records", f"topic = 'guildhall.matchmaking.events' AND key = '{GAME}'", DAMAGE[how])
    forget_stored(tmp_path, package="matchmaking")
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob), operator(running) as olga:
        assert quarantined() == 1
        assert (await failure(alice.ask("CreateTicket", seats=(2,))))[0] == "GAME_QUARANTINED"
        assert (await failure(alice.state()))[0] == "GAME_QUARANTINED"
        [pool] = (await olga.call("ListPools")).pools
        assert pool.game == GAME and pool.quarantined and pool.version == 1 and pool.offset >= 0
        owners = (await olga.call("ListOwners")).owners
        assert sum(owner.quarantined for owner in owners if owner.game == "matchmaking") == 1
        order = {"game": GAME, "command_id": "mend", "why": "a disk went bad"}
        for wrong, reason in (
            ({"why": ""}, "INVALID_WHY"),
            ({"command_id": ""}, "INVALID_COMMAND_ID"),
            ({"game": "chess"}, "INVALID_GAME"),
        ):
            assert (await failure(olga.call("RepairPool", **{**order, **wrong})))[0] == reason
        async with operator(running, ["play"]) as mallory:
            for method, fields in (("RepairPool", order), ("ListPools", {})):
                assert (await failure(mallory.call(method, **fields)))[1] == grpc.StatusCode.PERMISSION_DENIED
        assert (await olga.call("RepairPool", **order, validate_only=True)).to_version == 1
        assert quarantined() == 1
        mended = await olga.call("RepairPool", **order)
        assert mended.to_version == 1 and quarantined() == 0
        again = await olga.call("RepairPool", **order)
        assert again.version == mended.version and again.to_version is None
        assert (await failure(olga.call("RepairPool", **{**order, "command_id": "again"})))[0] == "POOL_NOT_QUARANTINED"
        assert (await alice.state()).ticket is not None
        if (await bob.state()).ticket is None:
            await bob.ask("CreateTicket", seats=(4,))
    async with hall(tmp_path) as running, players(running, "bob") as (bob,):
        assert (await bob.state()).ticket is not None and quarantined() == 0


async def test_what_an_alarm_counts_is_there_before_its_first_event(tmp_path: Path) -> None:
    counted = (metrics.RULES_FAILURES, metrics.STAND_DOWNS, metrics.DAMAGED_RECORDS, metrics.UNREADABLE_MODELS)
    for metric in counted:
        metric.clear()
    async with hall(tmp_path):
        for metric in counted:
            [family] = metric.collect()
            told = [s.value for s in family.samples if s.name.endswith("_total") and s.labels["game"] == "matchmaking"]
            assert told and not any(told), family.name


async def test_a_process_without_matchmaking_says_so(tmp_path: Path) -> None:
    async with games.hall(tmp_path) as running, operator(running) as olga:
        assert (await olga.call("ListPools")).pools == ()
        asked = olga.call("RepairPool", game=GAME, command_id="mend", why="a disk went bad")
        assert (await failure(asked))[0] == "INVALID_GAME"
