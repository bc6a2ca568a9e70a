"""`guildhall queue`: wait for others who want to play the same, and get a seat."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, HallError, NoHall
from guildhall.cli.hints import typed
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.options import Options, Rulings, pairs
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name, dev_token
from guildhall.matchmaking.v1.structs import BotFill, GameSeat, GameTerms, State, TicketOutcome

PATIENCE_SECONDS = 60.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="queue")(queue)


def queue(
    game: Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")],
    players: Annotated[
        list[int] | None, typer.Option(help="A welcome number of players; the best liked first. Default: any.")
    ] = None,
    bots: Annotated[
        str | None, typer.Option(help=f"Bots of this strength may fill up, if all agree. {faces.STRENGTHS}")
    ] = None,
    bots_after: Annotated[int, typer.Option(min=0, help="Seconds of waiting after which they may.")] = 20,
    wait: Annotated[int, typer.Option(min=1, help="Seconds to wait at most.")] = 1800,
    option: Options = None,
    ruling: Rulings = None,
    name: Annotated[str | None, typer.Option(help="Your name. Default: your login.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Wait for a game. Whatever is offered is confirmed at once; Ctrl-C takes the ticket back."""
    chosen, me = faces.game_name(game), name or default_name()
    terms = GameTerms(options=pairs(option, "--option"), rulings=pairs(ruling, "--ruling"))
    fill = BotFill(bots, bots_after * 1000) if bots else None
    run(_queue(chosen, tuple(players or ()), fill, wait * 1000, terms, me, server, data))


async def _queue(
    game: str,
    seats: tuple[int, ...],
    bots: BotFill | None,
    wait_ms: int,
    terms: GameTerms,
    me: str,
    server: str,
    data: Path,
) -> None:
    token = dev_token(data, me, ["play"])
    async with Matchmaker(game, server, token, PATIENCE_SECONDS, typer.echo) as matchmaker:
        await matchmaker.ready()
        answer = await matchmaker.ask("CreateTicket", terms=terms, seats=seats, bots=bots, wait_ms=wait_ms)
        typer.echo("You wait in the queue. Ctrl-C takes your ticket back.")
        try:
            found = await _matched(matchmaker, answer.ticket_id)
        except NoHall:
            raise
        except BaseException:
            seat = await _take_back(matchmaker, answer.ticket_id)
            if seat is not None:
                tell_game(game, seat, me, server, data)
            raise
        tell_game(game, found, me, server, data)


async def _take_back(matchmaker: Matchmaker, ticket_id: str) -> GameSeat | None:
    """Cancel the ticket, if it is not over; say so where it is too late for that. The seat, if one came of it."""
    try:
        await matchmaker.ask("CancelTicket", ticket_id=ticket_id)
    except HallError as error:
        if error.reason != "TICKET_NOT_FOUND":
            typer.echo(f"Your ticket was not taken back: {error}", err=True)
            return None
        with contextlib.suppress(HallError):
            return _seat(await matchmaker.state(), ticket_id)
    return None


def _seat(state: State, ticket_id: str) -> GameSeat | None:
    """The seat that came of the ticket."""
    made = {ended.game_id for ended in state.ended if ended.ticket_id == ticket_id}
    return next((seat for seat in state.games if seat.game_id in made), None)


async def _matched(matchmaker: Matchmaker, ticket_id: str) -> GameSeat:
    """The seat that comes of the ticket. Raises Problem where none does, HallError."""
    async for state in matchmaker.states():
        if state.ticket is not None and state.offer is not None and not state.offer.you_confirmed:
            typer.echo(f"A game of {state.offer.seats} is offered; you confirm.")
            await matchmaker.confirm(state.offer.offer_id)
        seat = _seat(state, ticket_id)
        if seat is not None:
            return seat
        for ended in state.ended:
            if ended.ticket_id == ticket_id:
                outcome = TicketOutcome(ended.outcome).name.lower().replace("_", " ")
                raise Problem(f"Your ticket is over: {outcome}.")
        if state.ticket is None or state.ticket.ticket_id != ticket_id:
            raise Problem("Your ticket is over, too long ago for the hall to tell how. Your games: guildhall games.")
    raise AssertionError("the stream of states ended")


def tell_game(game: str, seat: GameSeat, me: str, server: str, data: Path) -> None:
    """Say which game it is, and how to play it."""
    others = ", ".join(faces.shown(subject) for subject in seat.subjects if subject != me)
    where = seat.address or server
    back = typed("play", game.replace("_", "-"), "--resume", seat.game_id, server=where, data=data, name=me)
    typer.echo(f"Game {seat.game_id}: you have seat {seat.seat}; with {others}. Play it:\n{back}")
