"""`guildhall export` and `guildhall import`: a finished game out of one hall and into another."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import archive
from guildhall.cli.archive import Archive
from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.finding import all_games
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name
from guildhall.host.hall import LOG_FILE
from guildhall.host.packs import pack_key
from guildhall.log import topics
from guildhall.log.fold import FoldState
from guildhall.log.port import CLAIM_KEY, Appended, Claim, Entry, EventsTopic, Log, ProducerRecord, partition_of
from guildhall.log.reader import fold_to_end
from guildhall.log.sqlite import open_sqlite
from guildhall.log.values import encode_claim, encode_entry
from guildhall.rpc.probe import alive

IMPORTER = "guildhall import"
"""Address of an importer's claim: nobody answers there, so the next hall to start takes over."""

PROBE_SECONDS = 2.0


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="export")(export)
    app.command(name="import")(import_)


def export(
    game_id: Annotated[str, typer.Argument(help="Id of a finished game in which you have a seat.")],
    file: Annotated[Path, typer.Argument(help="File to write; .bin is smaller than .json.")],
    name: Annotated[str | None, typer.Option(help="Whose seat. Default: your login.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Write a finished game, with its content pack and every record, into one file that can be verified anywhere."""
    run(_export(game_id, file, name or default_name(), server, data))


def import_(
    file: Annotated[Path, typer.Argument(help="A file that export wrote.")],
    data: Annotated[Path, typer.Option(help="Data directory of the hall that gets the game.")] = DEFAULT_DATA,
) -> None:
    """Put an exported game into a hall's log, after verifying it. The hall must not be running."""
    run(_import(file, data))


async def _export(game_id: str, file: Path, subject: str, server: str, data: Path) -> None:
    async with await all_games(subject, server, data) as games:
        found = await archive.fetch(games, game_id)
    archive.check(found)
    archive.write(found, file)
    typer.echo(f"{file}: game {game_id}, {len(found.records)} versions, {file.stat().st_size} bytes")


async def _import(file: Path, data: Path) -> None:
    found = archive.read(file)
    archive.check(found)
    if not data.is_dir():
        raise Problem(f"There is no directory {data}; a hall makes it when it starts.")
    log = open_sqlite(data / LOG_FILE)
    try:
        await put(log, found)
    finally:
        await log.close()
    typer.echo(f"Game {found.game_id} of {found.game.replace('_', '-')} is in {data}: {len(found.records)} versions")


async def put(log: Log, found: Archive) -> None:
    """Append a verified game to a log: all of it, or nothing that counts.

    Raises Problem where the game is there already, a hall serves the log, or somebody else wrote meanwhile.
    """
    events = await log.events(topics.events(found.game))
    partition = partition_of(found.game_id, events.partitions)
    state = await _folded(events, partition)
    if state.owner is not None and await alive(state.owner.address, state.owner.instance, PROBE_SECONDS):
        raise Problem(f"A hall serves this log at {state.owner.address}. Stop it first (Ctrl-C), then import.")
    if found.game_id in state.seqs or found.game_id in state.damaged:
        raise Problem(f"Game {found.game_id} is there already.")
    pack_hash = archive.check(found).game.created.pack_hash
    await (await log.compacted(topics.PACKS, 1)).put(0, pack_key(found.game, pack_hash), found.pack)
    claim = ProducerRecord(CLAIM_KEY, encode_claim(Claim(secrets.token_hex(16), IMPORTER)))
    [claimed] = await events.append(partition, [claim])
    if not isinstance(claimed, Appended):
        raise Problem(f"The log took no claim: {claimed}")
    entries = [
        Entry(claimed.offset, record.hash, record.body, seq) for seq, record in enumerate(found.records, start=1)
    ]
    await events.append(partition, [ProducerRecord(found.game_id, encode_entry(entry)) for entry in entries])
    state = await _folded(events, partition)
    if state.seqs.get(found.game_id, 0) != len(entries):
        raise Problem("Somebody else wrote to this log meanwhile; nothing of the game counts. Try again.")


async def _folded(events: EventsTopic, partition: int) -> FoldState:
    state = FoldState()
    await fold_to_end(events, partition, state, lambda verdict: None)
    return state
