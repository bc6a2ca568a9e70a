"""`guildhall queue`: wait for others who want to play the same, and get a seat."""

import asyncio
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, HallError, NoHall
from guildhall.cli.hints import Here
from guildhall.cli.matchmaker import Matchmaker, soon
from guildhall.cli.options import Options, Rulings
from guildhall.cli.problems import Problem, run
from guildhall.cli.terms import ClockSeconds, described, game_terms
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import DAY, default_name, dev_token
from guildhall.cli.ways_out import games, waiting, with_ways_out
from guildhall.kernel import ids
from guildhall.matchmaking.v1.structs import BotFill, EndedTicket, GameSeat, GameTerms, State, Ticket, TicketOutcome

PATIENCE_SECONDS = 60.0
TAKEN_BACK = "Your ticket is taken back."


@dataclass(frozen=True)
class Wish:
    """What was asked for; of a ticket that is there already it only has to be true."""

    terms: GameTerms
    seats: tuple[int, ...]
    bots: BotFill | None
    wait_ms: int

    def fields(self) -> dict[str, Any]:
        """Of a request that creates it."""
        return {"terms": self.terms, "seats": self.seats, "bots": self.bots, "wait_ms": self.wait_ms}

    def fits(self, ticket: Ticket) -> bool:
        """Whether the ticket is for what is wished; whatever was left open fits."""
        there = ticket.terms or GameTerms()
        return (
            (not self.wait_ms or abs(ticket.expires_ms - ticket.since_ms - self.wait_ms) < 1000)
            and (not self.seats or self.seats == ticket.seats)
            and (self.bots is None or self.bots == ticket.bots)
            and (self.terms.clock is None or self.terms.clock == there.clock)
            and set(self.terms.options) <= set(there.options)
            and set(self.terms.rulings) <= set(there.rulings)
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="queue")(queue)


def queue(
    game: Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")],
    players: Annotated[
        list[int] | None,
        typer.Option(min=1, max=99, help="A welcome number of players; the best liked first. Default: any."),
    ] = None,
    bots: Annotated[
        str | None, typer.Option(help=f"Bots of this strength may fill up, if all agree. {faces.STRENGTHS}")
    ] = None,
    bots_after: Annotated[int, typer.Option(min=0, max=DAY, help="Seconds of waiting after which they may.")] = 20,
    wait: Annotated[
        int | None, typer.Option(min=1, max=DAY, help="Seconds to wait at most. Default: half an hour.")
    ] = None,
    leave: Annotated[
        bool, typer.Option("--leave", help="Take your ticket back instead, wherever it was made.")
    ] = False,
    option: Options = None,
    ruling: Rulings = None,
    clock: ClockSeconds = None,
    name: Annotated[str | None, typer.Option(help="Your name. Default: your login.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Wait for a game. Whatever is offered is confirmed at once; Ctrl-C takes the ticket back. If you wait already, say
    from a terminal that is gone, go on with that ticket.
    """
    chosen, here = faces.game_name(game), Here(server, data, name or default_name())
    if leave:
        run(_leave(chosen, here))
        return
    fill = BotFill(bots, bots_after * 1000) if bots else None
    terms = game_terms(option, ruling, clock)
    run(_queue(chosen, Wish(terms, tuple(players or ()), fill, (wait or 0) * 1000), here))


def open_matchmaker(game: str, here: Here) -> Matchmaker:
    """A client of matchmaking for whoever typed the command. Raises Problem."""
    return Matchmaker(game, here.server, dev_token(here.data, here.me, ["play"]), PATIENCE_SECONDS, typer.echo)


async def _leave(game: str, here: Here) -> None:
    async with open_matchmaker(game, here) as matchmaker:
        await matchmaker.ready()
        ticket = (await matchmaker.state()).ticket
        if ticket is None:
            raise Problem("You do not wait in the queue.")
        try:
            await matchmaker.ask("CancelTicket", ticket_id=ticket.ticket_id)
        except HallError as error:
            if error.reason not in ("TICKET_NOT_FOUND", "GAME_STARTING"):
                raise
            tell_game(game, await _matched(matchmaker, ticket.ticket_id, here), here)
        else:
            typer.echo(TAKEN_BACK)


async def _queue(game: str, wish: Wish, here: Here) -> None:
    async with open_matchmaker(game, here) as matchmaker:
        await matchmaker.ready()
        ticket = (await matchmaker.state()).ticket
        already = "" if ticket is None else f"You wait in the queue already, {_described(game, ticket, here.me)}"
        if ticket is not None and not wish.fits(ticket):
            raise Problem(f"{already}. {waiting(game, here)}")
        command_id = secrets.token_hex(16)
        # Known before there is an answer, so that the right one is taken back if none comes.
        ticket_id = ids.game_id(here.me, command_id) if ticket is None else ticket.ticket_id
        try:
            if ticket is None:
                with with_ways_out(game, here):
                    await matchmaker.ask("CreateTicket", command_id=command_id, **wish.fields())
                typer.echo("You wait in the queue. Ctrl-C takes your ticket back.")
            else:
                typer.echo(f"{already}: you go on with that ticket. Ctrl-C takes it back.")
            seat = await _matched(matchmaker, ticket_id, here)
        except Problem:
            raise
        except BaseException:
            await _take_back(matchmaker, ticket_id, here)
            raise
        tell_game(game, seat, here)


def _described(game: str, ticket: Ticket, me: str) -> str:
    """What a ticket is for."""
    company = [f"with {subject}" for subject in ticket.subjects if subject != me]
    bots = [f"{ticket.bots.strength} bots"] if ticket.bots else []
    seats = f"for {' or '.join(map(str, ticket.seats))} players"
    return ", ".join([seats, *company, *bots, *described(game, ticket.terms)])


async def _take_back(matchmaker: Matchmaker, ticket_id: str, here: Here) -> None:
    """Cancel the ticket if it is there, and say what came of that; tell the game where it is too late. A hall that does
    not answer keeps nobody.
    """
    matchmaker.hush()
    try:
        await soon(matchmaker.ask("CancelTicket", ticket_id=ticket_id))
        typer.echo(TAKEN_BACK)
    except (TimeoutError, asyncio.CancelledError, NoHall):
        _tell_it_may_stand("The hall has not answered", matchmaker.about, here)
    except HallError as refused:
        if refused.reason == "GAME_STARTING":
            typer.echo("It is too late to take your ticket back.")
            await _tell_what_came(_matched(matchmaker, ticket_id, here), matchmaker.about, here)
        elif refused.reason == "TICKET_NOT_FOUND":
            await _tell_what_came(_seat_now(matchmaker, ticket_id), matchmaker.about, here)
        else:
            _tell_it_may_stand(str(refused).rstrip("."), matchmaker.about, here)


def _tell_it_may_stand(why: str, game: str, here: Here) -> None:
    typer.echo(f"{why}: your ticket may still stand. {waiting(game, here)}", err=True)


async def _tell_what_came(seat_of_it: Coroutine[Any, Any, GameSeat | None], game: str, here: Here) -> None:
    try:
        seat = await soon(seat_of_it)
    except (TimeoutError, HallError):
        typer.echo(games(here))
    except Problem as over:
        typer.echo(str(over))
    else:
        if seat is not None:
            tell_game(game, seat, here)


async def _seat_now(matchmaker: Matchmaker, ticket_id: str) -> GameSeat | None:
    """The seat that has come of a ticket that is over; None where there is none, or it never was."""
    return _seat(await matchmaker.state(), ticket_id)


def _seat(state: State, ticket_id: str) -> GameSeat | None:
    """The seat that came of the ticket."""
    made = {ended.game_id for ended in state.ended if ended.ticket_id == ticket_id}
    return next((seat for seat in state.games if seat.game_id in made), None)


async def _matched(matchmaker: Matchmaker, ticket_id: str, here: Here) -> GameSeat:
    """The seat that comes of the ticket. Raises Problem where none does, HallError."""
    offered, waited = "", 0
    async for state in matchmaker.states():
        seat = _seat(state, ticket_id)
        if seat is not None:
            return seat
        for ended in state.ended:
            if ended.ticket_id == ticket_id:
                raise Problem(_why_over(ended, waited, here))
        if state.ticket is None or state.ticket.ticket_id != ticket_id:
            raise Problem(f"Your ticket is over, too long ago for the hall to tell how. {games(here)}")
        waited = (state.ticket.expires_ms - state.ticket.since_ms) // 1000
        offer = state.offer
        if offered and (offer is None or offer.offer_id != offered):
            typer.echo("Not everybody has confirmed: you wait on, in your old place.")
        offered = "" if offer is None else offer.offer_id
        if offer is not None and not offer.you_confirmed:
            typer.echo(f"A game of {offer.seats} is offered; you confirm.")
            await matchmaker.confirm(offer.offer_id)
    raise AssertionError("the stream of states ended")


def _why_over(ended: EndedTicket, waited: int, here: Here) -> str:
    """`waited`: in seconds, as long as the ticket was to wait; 0: not known."""
    return {
        TicketOutcome.MATCHED: f"You were matched, and that game is over. {games(here)}",
        TicketOutcome.EXPIRED: f"Nobody was found in {waited} seconds." if waited else "Nobody was found in time.",
        TicketOutcome.CANCELLED: "Your ticket was taken back.",
        TicketOutcome.NOT_CONFIRMED: "Your ticket is over: a game was offered, and you did not confirm in time.",
        TicketOutcome.GAME_REFUSED: "Your ticket is over: the game could not be made.",
    }.get(TicketOutcome(ended.outcome), f"Your ticket is over. {games(here)}")


def tell_game(game: str, seat: GameSeat, here: Here) -> None:
    """Say which game it is, and how to play it."""
    others = ", ".join(faces.shown(subject) for subject in seat.subjects if subject != here.me)
    back = here.typed("play", faces.typed_name(game), "--resume", seat.game_id, server=seat.address)
    typer.echo(f"Game {seat.game_id}: you have seat {seat.seat}; with {others}. Play it:\n{back}")
