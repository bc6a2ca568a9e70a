"""`guildhall log show`: the records of a hall's log, readable."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from guildhall.cli import faces
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host.hall import LOG_FILE
from guildhall.kernel.redact import redact
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Record, decode_Record
from guildhall.log import topics
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.port import Entry, Log
from guildhall.log.reader import fold_to_end
from guildhall.log.sqlite import open_sqlite


def register(app: typer.Typer) -> None:
    """Add the command."""
    group = typer.Typer(help="Look into a hall's log.", no_args_is_help=True)
    group.callback()(lambda: None)
    group.command(name="show")(show)
    app.add_typer(group, name="log")


def show(
    game_id: Annotated[str | None, typer.Argument(help="Only this game's records. Default: all, with claims.")] = None,
    data: Annotated[Path, typer.Option(help="Data directory of the hall.")] = DEFAULT_DATA,
    events: Annotated[bool, typer.Option(help="Also what each event says, as a spectator may see it.")] = False,
    secrets: Annotated[
        bool, typer.Option(help="Also what no player may see: seed, hidden items, agenda, draws.")
    ] = False,
) -> None:
    """Print the records of a hall's log: offset, what the fold makes of it, version, whose command, events.

    The hall may be running. A record is void if another instance had claimed the partition, or its version is not next.
    """
    run(_show(game_id, data, events or secrets, secrets))


async def _show(game_id: str | None, data: Path, events: bool, secrets: bool) -> None:
    path = data / LOG_FILE
    if not path.exists():
        raise Problem(f"There is no log {path}.")
    log = open_sqlite(path)
    try:
        shown = 0
        for game in faces.games():
            shown += await _show_game(log, faces.rules(game), game_id, events, secrets)
    finally:
        await log.close()
    if game_id is not None and not shown:
        raise Problem(f"The log holds no record of game {game_id!r}.")


async def _show_game(log: Log, rules: Rules, game_id: str | None, events: bool, secrets: bool) -> int:
    """Print one game's topic; how many records were printed."""
    topic = await log.events(topics.events(rules.game))
    shown = 0
    for partition in range(topic.partitions):
        verdicts: list[Verdict] = []
        await fold_to_end(topic, partition, FoldState(), verdicts.append)
        wanted = [verdict for verdict in verdicts if game_id is None or _key(verdict) == game_id]
        if wanted:
            typer.echo(f"{topic.name}, partition {partition}")
        for verdict in wanted:
            for line in lines(rules, verdict, events=events, secrets=secrets):
                typer.echo(line)
        shown += len(wanted)
    return shown


def _key(verdict: Verdict) -> str | None:
    match verdict:
        case Effective(aggregate_id=key) | Void(aggregate_id=key) | Damaged(key=key):
            return key
    return None


def lines(rules: Rules, verdict: Verdict, *, events: bool, secrets: bool) -> list[str]:
    """One record in words; secret parts only with `secrets`."""
    match verdict:
        case ClaimSeen(offset=offset, claim=claim):
            return [f"{offset:>7}  claim by {claim.instance}, reached at {claim.address}"]
        case Damaged(offset=offset, key=key, reason=reason):
            return [f"{offset:>7}  DAMAGED, key {key!r}: {reason}"]
        case Void(offset=offset, aggregate_id=key, entry=entry, reason=reason):
            return [f"{offset:>7}  void ({reason.value}) {key} version {entry.seq}, under claim {entry.claim}"]
        case Effective(offset=offset, aggregate_id=key, entry=entry):
            return _entry_lines(rules, offset, key, entry, events, secrets)


def _entry_lines(rules: Rules, offset: int, key: str, entry: Entry, events: bool, secrets: bool) -> list[str]:
    try:
        record = decode_Record(entry.body)
        told = [rules.wire.decode_event(event) for event in record.events]
    except ValueError as error:
        return [f"{offset:>7}  {key} version {entry.seq}: UNREADABLE: {error}"]
    at = datetime.fromtimestamp(record.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    who = ", ".join(f"{ref.subject} ({ref.command_id})" for ref in record.commands)
    seat = "" if record.seat is None else f" seat {record.seat}"
    names = ", ".join(type(event).__name__ for event in told)
    written = [
        f"{offset:>7}  {key} version {record.seq}, claim {entry.claim}, {at},{seat} {who}",
        f"         hash {entry.hash.hex()[:16]}…, {len(entry.body)} bytes: {names}",
    ]
    if events:
        written += [f"           {event!r}" for event in _visible(rules, told, secrets)]
    written += [f"         asks seat {asked.seat}: {asked.kind}" for asked in record.open_decisions]
    if secrets:
        written += _secret_lines(record)
    return written


def _visible(rules: Rules, told: list[Any], secrets: bool) -> list[Any]:
    if secrets:
        return told
    return [event for event in (redact(rules, event, None) for event in told) if event is not None]


def _secret_lines(record: Record) -> list[str]:
    drawn = [f"         draw {draw.n}: {list(draw.results)} below {list(draw.bounds)}" for draw in record.draws]
    return [*drawn, f"         agenda {record.agenda.hex()}"]
