"""Games under way: their results come from the game's log, each exactly once."""

from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import GameOver, ResultsTaken, SeatResigned
from services.matchmaking import offers, ratings
from services.matchmaking.commands import GameMade, TakeResults
from services.matchmaking.step import Step


def take(step: Step, command: TakeResults) -> None:
    """Take in the results of a stretch of the game's log, and how far it reaches; nothing of what is known.

    Raises Refusal RESULTS_TAKEN where the pool does not stand at the beginning of the stretch.
    """
    pool = step.pool
    next_offset, _ = pool.positions.get(command.partition, (0, 0))
    if command.from_offset != next_offset:
        raise Refusal("RESULTS_TAKEN", f"Partition {command.partition} is taken in up to {next_offset}.")
    for left in command.resigned:
        if left.game_id in pool.starting:
            offers.made(step, GameMade(pool.starting[left.game_id]))
        playing = pool.games.get(left.game_id)
        if playing is not None and left.seat not in playing.resigned:
            step.emit(SeatResigned(left.game_id, left.seat))
    for result in command.results:
        if result.game_id in pool.starting:
            offers.made(step, GameMade(pool.starting[result.game_id]))
        game = pool.games.get(result.game_id)
        if game is None:
            continue
        step.emit(GameOver(game.game_id, result.reason, result.ranks, result.at_ms))
        if ratings.counts(game, result):
            for rated in ratings.rate(pool, game, result):
                step.emit(rated)
    if command.next_offset > next_offset:
        step.emit(ResultsTaken(command.partition, command.next_offset, command.newest_claim))
