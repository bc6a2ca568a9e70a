"""`guildhall queue`: wait for others who want to play the same, and get a seat."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, HallError, NoHall
from guildhall.cli.hints import Here
from guildhall.cli.matchmaker import Matchmaker, soon
from guildhall.cli.options import ClockSeconds, Options, Rulings, game_terms
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import DAY, default_name, dev_token
from guildhall.cli.ways_out import waiting, with_ways_out
from guildhall.kernel.rules import Choosable
from guildhall.matchmaking.v1.structs import BotFill, EndedTicket, GameSeat, GameTerms, State, Ticket, TicketOutcome

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Wish:
    """What was asked for; of a ticket that is there already it only has to be true."""

    terms: GameTerms
    seats: tuple[int, ...]
    bots: BotFill | None
    wait_ms: int

    def fits(self, ticket: Ticket) -> bool:
        """Whether the ticket is for what is wished; whatever was left open fits."""
        there = ticket.terms or GameTerms()
        return (
            (not self.seats or self.seats == ticket.seats)
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
    wait: Annotated[int, typer.Option(min=1, max=DAY, help="Seconds to wait at most.")] = 1800,
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
    run(_queue(chosen, Wish(terms, tuple(players or ()), fill, wait * 1000), here))


def open_matchmaker(game: str, here: Here) -> Matchmaker:
    """A client of matchmaking for whoever typed the command. Raises Problem."""
    return Matchmaker(game, here.server, dev_token(here.data, here.me, ["play"]), PATIENCE_SECONDS, typer.echo)


async def _leave(game: str, here: Here) -> None:
    async with open_matchmaker(game, here) as matchmaker:
        await matchmaker.ready()
        ticket = (await matchmaker.state()).ticket
        if ticket is None:
            raise Problem("You do not wait in the queue.")
        seat = await _cancelled(matchmaker, ticket.ticket_id)
        if seat is not None:
            tell_game(game, seat, here)


async def _queue(game: str, wish: Wish, here: Here) -> None:
    async with open_matchmaker(game, here) as matchmaker:
        await matchmaker.ready()
        ticket_id = ""
        try:
            with with_ways_out(faces.typed_name(game), here):
                ticket_id = await _enter(matchmaker, wish, here)
            seat = await _matched(matchmaker, ticket_id)
        except Problem:
            raise
        except BaseException as end:
            # Where it ended before its answer came, the ticket may be there all the same.
            if ticket_id or isinstance(end, asyncio.CancelledError | NoHall):
                await _take_back(matchmaker, ticket_id, here)
            raise
        tell_game(game, seat, here)


async def _enter(matchmaker: Matchmaker, wish: Wish, here: Here) -> str:
    """The id of a ticket for what is wished: the one that is there, else a new one. Raises Problem, HallError."""
    game, there = matchmaker.about, (await matchmaker.state()).ticket
    if there is None:
        answer = await matchmaker.ask(
            "CreateTicket", terms=wish.terms, seats=wish.seats, bots=wish.bots, wait_ms=wish.wait_ms
        )
        typer.echo("You wait in the queue. Ctrl-C takes your ticket back.")
        return str(answer.ticket_id)
    told = f"You wait in the queue already, {_described(game, there)}"
    if not wish.fits(there):
        raise Problem(f"{told}. {waiting(faces.typed_name(game), here)}")
    typer.echo(f"{told}: you go on with that ticket. Ctrl-C takes it back.")
    return there.ticket_id


def _described(game: str, ticket: Ticket) -> str:
    """What a ticket is for, as far as it is not what everybody gets who says nothing."""
    rules, terms = faces.rules(game), ticket.terms or GameTerms()
    chosen = _chosen(terms.options, rules.options) + _chosen(terms.rulings, rules.rulings)
    bots = [f"{ticket.bots.strength} bots"] if ticket.bots else []
    clock = [f"a clock of {terms.clock.decision_ms // 1000} seconds"] if terms.clock else []
    return ", ".join([f"for {' or '.join(map(str, ticket.seats))} players", *bots, *clock, *chosen])


def _chosen(settings: Sequence[tuple[str, str]], declared: Sequence[Choosable]) -> list[str]:
    usual = {(choosable.name, choosable.default) for choosable in declared}
    return [f"{name}={value}" for name, value in settings if (name, value) not in usual]


async def _take_back(matchmaker: Matchmaker, ticket_id: str, here: Here) -> None:
    """Cancel the ticket ("": the one that is there, if any), and say what came of that; tell the game where it is too
    late. A hall that does not answer keeps nobody.
    """
    game = faces.typed_name(matchmaker.about)
    try:
        seat = await soon(_cancelled(matchmaker, ticket_id))
    except (TimeoutError, HallError) as error:
        why = "The hall does not answer" if isinstance(error, TimeoutError | NoHall) else str(error).rstrip(".")
        typer.echo(f"{why}: your ticket may still stand. {waiting(game, here)}", err=True)
        return
    if seat is not None:
        tell_game(matchmaker.about, seat, here)


async def _cancelled(matchmaker: Matchmaker, ticket_id: str) -> GameSeat | None:
    """Whether a game has come of the ticket before it could be cancelled: the seat. Raises HallError."""
    state = await matchmaker.state()
    there = state.ticket.ticket_id if state.ticket is not None else ""
    if there and there == (ticket_id or there):
        try:
            await matchmaker.ask("CancelTicket", ticket_id=there)
        except HallError as error:
            if error.reason == "GAME_STARTING":
                typer.echo("It is too late to take your ticket back: all have confirmed.")
                return await _matched(matchmaker, there)
            if error.reason != "TICKET_NOT_FOUND":
                raise
            state = await matchmaker.state()
        else:
            typer.echo("Your ticket is taken back.")
            return None
    return _seat(state, ticket_id or there)


def _seat(state: State, ticket_id: str) -> GameSeat | None:
    """The seat that came of the ticket."""
    made = {ended.game_id for ended in state.ended if ended.ticket_id == ticket_id}
    return next((seat for seat in state.games if seat.game_id in made), None)


async def _matched(matchmaker: Matchmaker, ticket_id: str) -> GameSeat:
    """The seat that comes of the ticket. Raises Problem where none does, HallError."""
    offered, waited = "", 0
    async for state in matchmaker.states():
        seat = _seat(state, ticket_id)
        if seat is not None:
            return seat
        for ended in state.ended:
            if ended.ticket_id == ticket_id:
                raise Problem(_why_over(ended, waited))
        if state.ticket is None or state.ticket.ticket_id != ticket_id:
            raise Problem(
                "Your ticket is over, too long ago for the hall to tell how. Your games: guildhall games mine."
            )
        waited = (state.ticket.expires_ms - state.ticket.since_ms) // 1000
        offer = state.offer
        if offered and (offer is None or offer.offer_id != offered):
            typer.echo("Somebody has not confirmed: you wait on, in your old place.")
        offered = "" if offer is None else offer.offer_id
        if offer is not None and not offer.you_confirmed:
            typer.echo(f"A game of {offer.seats} is offered; you confirm.")
            await matchmaker.confirm(offer.offer_id)
    raise AssertionError("the stream of states ended")


def _why_over(ended: EndedTicket, waited: int) -> str:
    """`waited`: in seconds, as long as the ticket was to wait; 0: not known."""
    return {
        TicketOutcome.MATCHED: "You were matched, and that game is over. Your games: guildhall games mine.",
        TicketOutcome.EXPIRED: f"Nobody was found in {waited} seconds." if waited else "Nobody was found in time.",
        TicketOutcome.CANCELLED: "Your ticket was taken back.",
        TicketOutcome.NOT_CONFIRMED: "Your ticket is over: a game was offered, and you did not confirm in time.",
        TicketOutcome.GAME_REFUSED: "Your ticket is over: the game could not be made.",
    }.get(TicketOutcome(ended.outcome), "Your ticket is over. Your games: guildhall games mine.")


def tell_game(game: str, seat: GameSeat, here: Here) -> None:
    """Say which game it is, and how to play it."""
    others = ", ".join(faces.shown(subject) for subject in seat.subjects if subject != here.me)
    back = here.typed("play", faces.typed_name(game), "--resume", seat.game_id, server=seat.address)
    typer.echo(f"Game {seat.game_id}: you have seat {seat.seat}; with {others}. Play it:\n{back}")
