"""Where a subject is: for each game in one place at a time."""

from guildhall.kernel.refusal import Refusal
from services.matchmaking.house import is_bot
from services.matchmaking.pool import Game, Party, Pool


def check_person(subject: str) -> None:
    """Raises Refusal BOTS_DO_NOT_QUEUE: bots are sent for."""
    if is_bot(subject):
        raise Refusal("BOTS_DO_NOT_QUEUE", "Bots are sent for; they do not look for games themselves.")


def addressed(subject: str, asking: str, you: str, other: str) -> str:
    """The beginning of a sentence about a subject, as whoever asks is told it."""
    return f"You {you}" if subject == asking else f"{subject} {other}"


def check_free(pool: Pool, subject: str, asking: str) -> None:
    """Whether the subject may look for a game; of its games those count in which it has not resigned. `asking`: who is
    told, the subject itself or the leader of its party.

    Raises Refusal ALREADY_WAITING, ALREADY_AT_TABLE, TOO_MANY_GAMES.
    """
    check_no_place(pool, subject, asking)
    limit = pool.house.games_at_once
    playing = [game for game in map(pool.games.__getitem__, pool.games_of.get(subject, ())) if plays(game, subject)]
    if len(playing) >= limit:
        has = addressed(subject, asking, "have", "has")
        message = f"{has} {limit} unfinished games; finish one first."
        raise Refusal("TOO_MANY_GAMES", message, details={"subject": subject})


def plays(game: Game, subject: str) -> bool:
    """Whether the subject has not given its seat up."""
    return game.subjects.index(subject) not in game.resigned


def check_no_place(pool: Pool, subject: str, asking: str) -> None:
    """Raises Refusal ALREADY_WAITING, ALREADY_AT_TABLE."""
    if subject in pool.ticket_of:
        waits = addressed(subject, asking, "wait", "waits")
        raise Refusal("ALREADY_WAITING", f"{waits} in the queue already.", details={"subject": subject})
    if subject in pool.table_of:
        sits = addressed(subject, asking, "sit", "sits")
        raise Refusal("ALREADY_AT_TABLE", f"{sits} at a table already.", details={"subject": subject})


def check_no_party(pool: Pool, subject: str) -> None:
    """Raises Refusal IN_PARTY."""
    if subject in pool.party_of:
        raise Refusal("IN_PARTY", "Leave your party first.")


def party_of(pool: Pool, subject: str) -> Party:
    """The subject's party. Raises Refusal NOT_IN_PARTY."""
    party_id = pool.party_of.get(subject)
    if party_id is None:
        raise Refusal("NOT_IN_PARTY", "You are in no party.")
    return pool.parties[party_id]


def check_new(created: str, known: object) -> None:
    """Whether an id derived from a command is free. Raises Refusal COMMAND_ID_REUSED: the same command, days ago."""
    if known is not None:
        raise Refusal("COMMAND_ID_REUSED", "This command_id was accepted before.", details={"id": created})
