"""Games over a real hall: created, played, watched, stopped, started again."""

from pathlib import Path
from random import Random

from tests.services.hall import hall, table


async def test_a_whole_game_is_played(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        version = await game.play(Random(1))
        view = await game.clients[1].view(game.game_id)
        assert view.game.version == version and view.game.ended is not None


async def test_a_stopped_hall_goes_on_where_it_was(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        version = await game.play(Random(2), 12)
        before = [await client.legal(game.game_id) for client in game.clients]
        game_id = game.game_id
    async with hall(tmp_path) as running, table(running) as game:
        game.game_id = game_id
        assert [await client.legal(game_id) for client in game.clients] == before
        assert (await game.clients[0].view(game_id)).game.version == version
        await game.play(Random(3))
