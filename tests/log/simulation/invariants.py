"""The judge: reads the raw records by a fold rule of his own, and compares what everybody was told and believes."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from guildhall.log import topics
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import NO_CLAIM, Claim, Record
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store, open_store, recover
from guildhall.log.snapshots import Snapshot
from guildhall.log.values import decode
from tests.log.simulation.games import Game, Speech, ends
from tests.log.simulation.owners import Process
from tests.log.virtual_time import virtual_loop

if TYPE_CHECKING:
    from tests.log.simulation.world import World

Commands = dict[str, list[str]]
"""By game."""


@dataclass
class History:
    """What the log means: the games, and at each offset the newest claim and every game's version before it."""

    games: dict[str, Game] = field(default_factory=dict)
    claims: list[int] = field(default_factory=lambda: [NO_CLAIM])
    versions: list[dict[str, int]] = field(default_factory=lambda: [{}])
    broken: list[str] = field(default_factory=list)

    def commands(self) -> Commands:
        return {name: game.commands for name, game in self.games.items()}

    def commands_at(self, offset: int) -> Commands:
        return {name: self.games[name].commands[:version] for name, version in self.versions[offset].items()}


def read_history(records: list[Record], speech: Speech) -> History:
    history = History()
    claim, versions = NO_CLAIM, dict[str, int]()
    for record in records:
        value = decode(record.value)
        if isinstance(value, Claim):
            claim = record.offset
        elif value.claim == claim and value.seq == versions.get(record.key, 0) + 1:
            game = history.games.setdefault(record.key, Game())
            command = speech.command_of(value.body)
            if not speech.legal(game, command) or value.hash != speech.chained(game.digest, value.seq, value.body):
                history.broken.append(f"{record.key} {value.seq}: {command} was decided on another state")
            game.commands.append(command)
            game.digest = value.hash
            versions = {**versions, record.key: value.seq}
        history.claims.append(claim)
        history.versions.append(versions)
    return history


def judge(world: "World") -> None:
    """Tells the world every promise that didn't hold."""
    history = read_history(world.records(), world.speech)
    for what in history.broken:
        world.violate(what)
    judge_answers(world, history)
    for process in world.processes:
        judge_process(world, history, process)
    judge_readers(world, history)


def judge_answers(world: "World", history: History) -> None:
    """Acknowledged once, at the version told; refused, and without effect; fresh, and of nothing but the log."""
    everything = [command for game in history.games.values() for command in game.commands]
    if len(set(everything)) < len(everything):
        world.violate(f"{[c for c in set(everything) if everything.count(c) > 1]} took effect twice")
    games = history.commands()
    for command, (name, version) in world.accepted.items():
        if games.get(name, [])[version - 1 : version] != [command]:
            world.violate(f"{command} was accepted at {name} {version}, where there is {games.get(name)}")
    for command, (name, answer) in world.refused.items():
        if command in everything and command not in world.accepted:
            world.violate(f"{command} was refused, and took effect")
        if answer.version is not None and answer.version < history.versions[answer.asked].get(name, 0):
            world.violate(f"{command}, sent at {answer.asked}, was refused at {name} {answer.version}: stale")
    for asked, name, commands in world.answers:
        if len(commands) < history.versions[asked].get(name, 0):
            world.violate(f"{name} was shown at {len(commands)}, asked for at {asked}: stale")
        if list(commands) != games.get(name, [])[: len(commands)]:
            world.violate(f"{name} was shown as {commands}")


def judge_process(world: "World", history: History, process: Process) -> None:
    """What it has folded is what the log says up to there, and it has read all of it."""
    if process.writer is None:
        world.violate(f"{process.instance} never started")
        return
    position = process.writer.position
    if position.next_offset < len(history.claims) - 1:
        world.violate(f"{process.instance} reads on to {position} only")
    if position.newest_claim != history.claims[position.next_offset]:
        world.violate(f"{process.instance} at {position} missed the claim {history.claims[position.next_offset]}")
    expected = history.commands_at(position.next_offset)
    games = process.known_games()
    for name, commands in expected.items():
        game = games.get(name)
        if process.writer.last_seq(name) != len(commands):
            world.violate(f"{process.instance} has {name} at {process.writer.last_seq(name)}, not {len(commands)}")
        if game is None and not ends(commands[-1]):
            world.violate(f"{process.instance} at {position} has lost {name}")
        if game is not None and game.commands != commands:
            world.violate(f"{process.instance} at {position} has {name} as {game.commands}, not {commands}")
    if not games.keys() <= expected.keys():
        world.violate(f"{process.instance} made up {games.keys() - expected.keys()}")


def judge_readers(world: "World", history: History) -> None:
    """Readers from zero, from any position, and from any checkpoint that was ever stored, agree."""
    expected, end = history.commands(), len(history.claims) - 1
    with virtual_loop() as loop:

        async def read(start: FoldState, seen: Commands) -> None:
            def told(verdict: Verdict) -> None:
                if isinstance(verdict, Effective):
                    seen.setdefault(verdict.aggregate_id, []).append(world.speech.command_of(verdict.entry.body))

            events = await world.broker.log().events(topics.events("sim"), 1)
            await fold_to_end(events, 0, start, told)
            if seen != expected:
                world.violate(f"a reader sees {seen}")

        async def start(broker: MemoryBroker, what: str) -> None:
            try:
                seen = await recovered(await open_store(broker.log(), "sim", 1), world.speech)
            except Exception as error:
                world.violate(f"a start from {what} failed: {error!r}")
                return
            for name, commands in expected.items():
                # Of a finished game, its marker may be all that is told.
                if seen.get(name) != commands and not (name not in seen and ends(commands[-1])):
                    world.violate(f"a start from {what} sees {name} as {seen.get(name)}, not {commands}")
            if not seen.keys() <= expected.keys():
                world.violate(f"a start from {what} makes up {seen.keys() - expected.keys()}")

        async def all_of_them() -> None:
            await read(FoldState(), {})
            offset = world.rng.randrange(end + 1)
            state = FoldState(offset, history.claims[offset], None, dict(history.versions[offset]))
            await read(state, history.commands_at(offset))
            await start(world.broker, "what is stored")
            if world.kept:
                await start(some_other_store(world), "an older checkpoint and other snapshots")

        loop.run_until(loop.create_task(all_of_them()))


async def recovered(store: Store, speech: Speech) -> Commands:
    seen: Commands = {}

    def restore(name: str, snapshot: Snapshot) -> None:
        seen[name] = list(speech.commands_in(snapshot.state))

    def told(verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            commands = seen.setdefault(verdict.aggregate_id, [])
            if len(commands) != verdict.entry.seq - 1:
                raise AssertionError(f"{verdict.aggregate_id} {verdict.entry.seq} was told after {len(commands)}")
            commands.append(speech.command_of(verdict.entry.body))

    await recover(store, 0, speech.schema, restore, told)
    return seen


def some_other_store(world: "World") -> MemoryBroker:
    """The same events and markers, but of everything else any value that was ever stored, or none."""
    broker = MemoryBroker()
    broker.events = world.broker.events
    broker.compacted = {topics.markers("sim"): world.broker.compacted[topics.markers("sim")]}
    for (topic, key), values in world.kept.items():
        value = world.rng.choice(values)
        if value is not None and world.rng.random() < 0.9:
            keys = broker.compacted.setdefault(topic, [{}])[0]
            keys[key] = Record(len(keys), key, value)
    return broker
