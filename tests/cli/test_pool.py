"""Operators and matchmaking's log at the command line, on one machine: looking into it, and mending a pool."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import LOG_FILE
from tests.cli.hall import GUILDHALL, RunningHall, following, running_hall
from tests.cli.operating_document import commands
from tests.cli.test_operating import DAMAGE, WHY, done, of_olga, ran, refused, spoil
from tests.services.hall import forget_stored

GAME = "arcane_alley"


def party_of(hall: RunningHall, name: str) -> str:
    """Founds a party and queues; the code that invites to it."""

    async def ask() -> str:
        async with Matchmaker(GAME, hall.server, dev_token(hall.data, name, ["play"])) as there:
            await there.ask("CreateParty")
            await there.ask("CreateTicket", seats=(2,))
            party = (await there.state()).party
            assert party is not None
            return party.code

    return asyncio.run(ask())


def here(words: list[str], hall: RunningHall) -> list[str]:
    """A command of the operators' document, by Olga towards this hall."""
    return [
        *(hall.server if word == "hall-0:50051" else word for word in words),
        *of_olga(hall)[:2],
        *of_olga(hall)[4:],
    ]


def waits(hall: RunningHall, name: str) -> bool:
    """Whether the subject has a ticket."""

    async def ask() -> bool:
        async with Matchmaker(GAME, hall.server, dev_token(hall.data, name, ["play"])) as there:
            return (await there.state()).ticket is not None

    return asyncio.run(ask())


def test_matchmakings_log_is_shown_counted_and_followed(tmp_path: Path) -> None:
    with running_hall(tmp_path) as hall:
        words = ["log", "tail", GAME, "--game", "matchmaking", "--events", "--data", str(tmp_path)]
        code = party_of(hall, "alice")
        with following([*GUILDHALL, *words, "--last", "9"]) as tail:
            assert tail.stdout is not None
            told = "".join(tail.stdout.readline() for _ in range(5))
        assert "PartyCreated" in told and "alice" in told and code not in told
        assert "matchmaking/" in done("owners", *of_olga(hall)) and "1 pools" in done("owners", *of_olga(hall))
        assert "matchmaking/" in done("owners", "--from-log", "--data", str(tmp_path))
        assert "whole" in done("pool", "list", *of_olga(hall))
        hall.stop()
    there = ["--data", str(tmp_path)]
    shown = done("log", "show", GAME, "--game", "matchmaking", "--events", *there)
    assert "TicketCreated" in shown and code not in shown
    assert code in done("log", "show", GAME, "--events", "--secrets", *there)
    counted = done("log", "stats", *there)
    assert "matchmaking: " in counted and "1 tickets, 1 parties" in counted
    assert "matchmaking: 1 pools, 2 versions, 1 stored states" in done("log", "verify", *there)


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_pool_is_named_and_repaired(tmp_path: Path, how: str) -> None:
    with running_hall(tmp_path) as hall:
        for name in ("alice", "bob"):
            party_of(hall, name)
        hall.stop()
    spoil(tmp_path, "records", f"key = '{GAME}'", DAMAGE[how])
    forget_stored(tmp_path, package="matchmaking")
    result = ran("log", "verify", "--data", str(tmp_path))
    assert result.exit_code == 1 and f"pool {GAME}" in result.stderr and "1 problem." in result.stderr, result.output
    assert "QUARANTINED" in done("log", "stats", "--data", str(tmp_path))
    with running_hall(tmp_path) as hall:
        olga = of_olga(hall)
        assert "quarantined at offset" in done("pool", "list", *olga) and "1 quarantined" in done("owners", *olga)
        check, repair = (here(words, hall) for words in commands("pools"))
        assert "It would get the state of version" in done(*check)
        assert "goes on" in done(*repair)
        assert "quarantined" not in done("pool", "list", *olga)
        assert "can be folded" in refused("pool", "repair", GAME, "--why", WHY, *olga)
        assert waits(hall, "alice")
        hall.stop()
    assert "olga put it back to version" in done("log", "verify", "--data", str(tmp_path))
    assert "because: a record was damaged" in done("log", "show", GAME, "--data", str(tmp_path))


@pytest.mark.parametrize("topic", ["snapshots", "checkpoints"])
def test_a_stored_state_that_is_not_the_events_is_noticed(tmp_path: Path, topic: str) -> None:
    with running_hall(tmp_path) as hall:
        party_of(hall, "alice")
        hall.stop()
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        if topic == "snapshots":
            log.execute("UPDATE compacted SET value = x'c1' WHERE topic = 'guildhall.matchmaking.snapshots'")
        else:
            log.execute("DELETE FROM records WHERE topic = 'guildhall.matchmaking.events' AND key = ?", (GAME,))
    log.close()
    result = ran("log", "verify", "--game", "matchmaking", "--data", str(tmp_path))
    assert result.exit_code == 1 and "problem" in result.stderr, result.output
