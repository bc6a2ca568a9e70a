"""Who plays: each sends commands until it has an answer, through any process, and remembers what it was told."""

import asyncio
from typing import TYPE_CHECKING

from tests.log.simulation.games import OWN, body_of
from tests.log.simulation.owners import GAMES, Accepted, Answer, Process, Refused

if TYPE_CHECKING:
    from tests.log.simulation.world import World

CLIENTS = 4
COMMANDS = 8


async def client(world: "World", number: int) -> None:
    rng = world.rng
    for n in range(COMMANDS):
        name, command = rng.choice(GAMES), f"{number}.{n}"
        if rng.random() < 0.4:
            command += f"@{world.seen[name]}"
        elif rng.random() < world.profile.ends:
            command += "!"
        body = body_of(command, OWN.max_record_bytes if rng.random() < 0.04 else 0)
        await send(world, name, command, body)
        if rng.random() < 0.2:  # once more, later, whatever the answer was
            await asyncio.sleep(rng.uniform(0, 0.3))
            await send(world, name, command, body)
        await asyncio.sleep(rng.uniform(0, 0.4))


async def send(world: "World", name: str, command: str, body: bytes) -> None:
    """Until there is an answer. What is sent again may take effect, though it was refused before."""
    world.refused.pop(command, None)
    while True:
        answer = await try_once(world, name, command, body)
        world.tell(f"{command} for {name}: {answer}")
        match answer:
            case Accepted(version):
                world.seen[name] = max(world.seen[name], version)
                first = world.accepted.setdefault(command, (name, version))
                if first != (name, version):
                    world.violate(f"{command} was accepted at {first}, then at {(name, version)}")
                return
            case Refused():
                world.refused[command] = (name, answer)
                world.meet("refused" if answer.version is not None else "refused for no state")
                return
        await asyncio.sleep(world.rng.uniform(0.0, 0.1))


async def try_once(world: "World", name: str, command: str, body: bytes) -> Answer | None:
    asking = some_process(world)
    request = asking.go(asking.command, name, command, body)
    await asyncio.wait((request.done,), timeout=world.profile.patience)
    if request.done.done():
        return request.done.result()
    request.give_up()
    return None


def some_process(world: "World") -> Process:
    """Mostly one that serves, as far as anybody knows."""
    serving = [process for process in world.processes if process.serving]
    return world.rng.choice(serving if serving and world.rng.random() < 0.9 else world.processes)


async def spectator(world: "World") -> None:
    """Looks at games, through any process that serves."""
    while not world.calm:
        await asyncio.sleep(world.rng.uniform(0, 0.2))
        asking = some_process(world)
        asking.go(asking.read, world.rng.choice(GAMES))
