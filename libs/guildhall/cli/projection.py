"""`guildhall projection status|audit|rebuild`: the read models in Redis, beside the log that they are made from."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from redis.exceptions import RedisError

from guildhall.cli.kafka_options import Kafka, KafkaCluster, KafkaConfig, OnKafka, SingleBroker, on_kafka
from guildhall.cli.log import Game, opened, stores
from guildhall.cli.problems import Problem, run
from guildhall.cli.serve import RedisUrl
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host import packs
from guildhall.kernel.packs import BadPack
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.port import EventsTopic, Log
from guildhall.log.provision import MissingTopic
from guildhall.log.recovery import open_store
from guildhall.readmodel.changes import Models
from guildhall.readmodel.connection import open_redis
from guildhall.readmodel.records import DAMAGED, FORMAT
from services.projection import rebuild as building
from services.projection.audit import Audited, Sample, audit
from services.projection.partition import NewerModels, Projected
from services.projection.pools import POOLS
from services.projection.pools_audit import audit_pools
from services.projection.rebuild import Contended, Rebuilt
from services.projection.status import Status, status

Data = Annotated[Path, typer.Option(help="Data directory of a hall on one machine, whose log is a file there.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Look after the read models in Redis (--redis).", no_args_is_help=True)
    group.callback()(lambda: None)
    group.command(name="status")(show_status)
    group.command(name="audit")(run_audit)
    group.command(name="rebuild")(run_rebuild)
    app.add_typer(group, name="projection")


def show_status(
    redis: RedisUrl,
    game: Game = None,
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Print how far the read models are behind the log, and which games stand still and why.

    Exit code 1 if a game stands still, or models are missing or of another format.
    """
    run(_status(on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable), data, redis, game))


def run_audit(
    redis: RedisUrl,
    game_id: Annotated[
        list[str] | None, typer.Option("--game-id", help="Audit this game; may be given again. Default: a sample.")
    ] = None,
    percent: Annotated[
        float, typer.Option(min=0.0, max=100.0, help="How many of a hundred games are sampled; one at least.")
    ] = 5.0,
    salt: Annotated[str | None, typer.Option(help="Samples the same games again. Default: others each time.")] = None,
    mend: Annotated[bool, typer.Option(help="Set right what is wrong.")] = True,
    game: Game = None,
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Recompute games from the log alone and compare: state, feed, history, lists. Reads the whole log.

    Everything may be running. Exit code 1 if anything was wrong, mended or not, or if there is none of a name.
    """
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    sample = Sample(frozenset(game_id or ()), percent, secrets.token_hex(4) if salt is None else salt)
    run(_audit(there, data, redis, game, sample, mend))


def run_rebuild(
    redis: RedisUrl,
    force: Annotated[bool, typer.Option(help="Also where more games would stand still than now.")] = False,
    game: Game = None,
    data: Data = DEFAULT_DATA,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Build the read models from the log again beside the live ones, compare, and switch.

    Everything goes on meanwhile; Redis needs room for both. Exit code 1 where it was not switched.
    """
    there = on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_rebuild(there, data, redis, game, force))


@asynccontextmanager
async def _models(
    there: OnKafka | None, data: Path, redis: str, game: str | None
) -> AsyncIterator[tuple[Models, list[tuple[Projected, EventsTopic]]]]:
    """The models, and each game with its topic, matchmaking after them. Raises Problem, LogError."""
    try:
        client = open_redis(redis)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--redis") from None
    try:
        async with opened(there, data) as (log, _):
            found = await stores(log, game) if game != POOLS.game else []
            await packs.load(await log.compacted(topics.PACKS, 1), [rules for rules, _ in found])
            yield Models(client), [*((rules, store.events) for rules, store in found), *await _pools(log, game)]
    except (RedisError, BadPack, Contended, NewerModels) as error:
        raise Problem(str(error)) from error
    finally:
        await client.aclose()


async def _pools(log: Log, game: str | None) -> list[tuple[Projected, EventsTopic]]:
    """Matchmaking with its topic, if that is meant and there. Raises LogError."""
    if game not in (None, POOLS.game):
        return []
    try:
        return [(POOLS, (await open_store(log, POOLS.game)).events)]
    except MissingTopic:
        if game is not None:
            raise
        return []


async def _status(there: OnKafka | None, data: Path, redis: str, game: str | None) -> None:
    troubled = 0
    async with _models(there, data, redis, game) as (models, games):
        for rules, topic in games:
            found = [await status(rules, topic, partition, models) for partition in range(topic.partitions)]
            typer.echo(_standing(rules, found))
            for line in [line for each in found for line in _troubles(each)]:
                typer.echo(f"  {line}")
                troubled += 1
            for each in found:
                if each.beside:
                    typer.echo(f"  {_left(each)}")
    if troubled:
        raise Problem(f"{troubled} in trouble.")


def _standing(rules: Projected, found: list[Status]) -> str:
    generations = ", ".join(sorted({each.generation for each in found}))
    lag, age = sum(each.lag for each in found), max(each.age_seconds for each in found)
    behind = f"{lag} records behind, the oldest {age:.1f} s old" if lag else "level with the log"
    return f"{rules.game.replace('_', '-')}: {len(found)} partitions, generation {generations}: {behind}"


def _left(found: Status) -> str:
    names = ", ".join(found.beside)
    return f"BESIDE  partition {found.partition}: generation {names}; a rebuild is at work, or the next one removes it"


def _troubles(found: Status) -> list[str]:
    if found.format > FORMAT:
        return [f"NEWER MODELS  partition {found.partition}: of format {found.format}, this program knows {FORMAT}"]
    if found.offset is None:
        return [f"NO MODELS  partition {found.partition}"] if found.end else []
    return [
        f"{'DAMAGED' if stopped.seq == DAMAGED else 'STOPPED'}  {game_id}, partition {found.partition}, "
        f"offset {stopped.offset}, after version {stopped.seq - 1 if stopped.seq else stopped.last_seq}: {stopped.why}"
        for game_id, stopped in found.stopped.items()
    ]


async def _audit(there: OnKafka | None, data: Path, redis: str, game: str | None, sample: Sample, mend: bool) -> None:
    done: list[Audited] = []
    async with _models(there, data, redis, game) as (models, games):
        for rules, topic in games:
            for found in await _audit_topic(rules, topic, models, sample, mend):
                done.append(found)
                name = f"{rules.game.replace('_', '-')}, partition {found.partition}"
                if found.missing:
                    typer.echo(f"{name}: there are no models")
                for what, wrong in found.wrong.items():
                    mended = "mended" if what in found.mended else "NOT mended"
                    typer.echo(f"{name}, {found.of} {what}: wrong {', '.join(wrong)}; {mended}")
    for what in ("game", "rating"):
        those = [found for found in done if found.of == what]
        if those:
            audited, wrong_ones = sum(found.games for found in those), sum(len(found.wrong) for found in those)
            plural = "" if audited == 1 else "s"
            typer.echo(f"{audited} {what}{plural} compared with the log, {wrong_ones} wrong (--salt {sample.salt})")
    if any(found.wrong for found in done) or any(found.missing for found in done):
        raise Problem("The read models were not as the log says.")
    unknown = {*sample.games}.difference(*(found.named for found in done))
    if unknown:
        raise Problem(f"Neither the log nor the models know {', '.join(sorted(unknown))}.")


async def _audit_topic(
    rules: Projected, topic: EventsTopic, models: Models, sample: Sample, mend: bool
) -> list[Audited]:
    sample = replace(sample, lowest=None)
    done: list[Audited] = []
    for partition in range(topic.partitions):
        if isinstance(rules, Rules):
            done.append(await audit(rules, topic, partition, models, sample, mend=mend))
        else:
            done.append(await audit_pools(topic, partition, models, sample, mend=mend))
    if sample.lowest is not None and not any(found.games for found in done):
        # None was drawn, as in a small hall: that is no audit.
        return await _audit_topic(rules, topic, models, Sample({sample.lowest[1]}), mend)
    return done


async def _rebuild(there: OnKafka | None, data: Path, redis: str, game: str | None, force: bool) -> None:
    done: list[Rebuilt] = []
    removing: list[asyncio.Task[None]] = []
    async with _models(there, data, redis, game) as (models, games):
        try:
            for rules, topic in games:
                async for rebuilt in _rebuild_game(rules, topic, models, force):
                    done.append(rebuilt)
                    removing.append(asyncio.create_task(building.remove_old(models, rebuilt)))
        finally:
            await asyncio.gather(*removing)
    records, seconds = sum(each.records for each in done), sum(each.seconds for each in done)
    typer.echo(f"{records} records in {seconds:.1f} s, {records / max(seconds, 0.001):.0f}/s")
    if not all(each.switched for each in done):
        raise Problem("Not everything was switched: this program stops games that another one did not (--force).")


async def _rebuild_game(rules: Projected, topic: EventsTopic, models: Models, force: bool) -> AsyncIterator[Rebuilt]:
    tail = topic.tail()
    try:
        for partition in range(topic.partitions):
            rebuilt = await building.rebuild(rules, topic, tail, partition, models, force=force)
            for line in _rebuilt(rules, rebuilt):
                typer.echo(line)
            yield rebuilt
    finally:
        await tail.close()


def _rebuilt(rules: Projected, done: Rebuilt) -> list[str]:
    name = f"{rules.game.replace('_', '-')}, partition {done.partition}"
    switched = f"generation {done.new.generation} is live" if done.switched else "NOT switched"
    lines = [
        f"{name}: {done.records} records in {done.seconds:.1f} s, {done.compared} games compared, "
        f"{len(done.wrong)} wrong, {len(done.wrong_lists)} lists; {switched}"
    ]
    lines += [f"  was wrong: {what}: {', '.join(wrong)}" for what, wrong in done.wrong.items()]
    lines += [f"  was wrong: list {name}" for name in done.wrong_lists]
    lines += [f"  stands still in the new models only: {game_id}" for game_id in done.stopped]
    return lines
