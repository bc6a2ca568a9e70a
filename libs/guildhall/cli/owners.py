"""`guildhall owners`: which process serves which partition, by the hall itself or by the log."""

from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.game import Data
from guildhall.cli.kafka_options import Kafka, KafkaCluster, KafkaConfig, OnKafka, SingleBroker, on_kafka
from guildhall.cli.log import books, opened
from guildhall.cli.operator import PROBE_SECONDS, Name, Operator, Token, operator
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host import owners as topic
from guildhall.log.port import NO_CLAIM, Claim
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import checkpointed
from guildhall.log.topics import MATCHMAKING
from guildhall.operations.v1 import structs as o
from guildhall.rpc.probe import alive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="owners")(owners)


def owners(
    server: Annotated[str, typer.Option(help="Where any process of the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
    from_log: Annotated[
        bool, typer.Option("--from-log", help="Ask the log, not the hall: also when no process runs.")
    ] = False,
    kafka: Kafka = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Print which process serves which partition, and how its games stand.

    By asking the hall: one process, and then every other that it knows of. Or, with --from-log, by the newest claims in
    the log on Kafka (--kafka) or of one machine (--data), with whether who made them answers.

    Exit code 1 if the hall, when asked, has a partition that nobody serves, or whose process does not answer.
    """
    if from_log:
        run(_from_log(on_kafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable), data))
    else:
        run(_from_hall(operator(server, data, name, token)))


async def _from_hall(there: Operator) -> None:
    hall = await there.hall()
    found = hall.owners()
    for owner in found:
        state = hall.unheard.get(owner.instance) or _counts(owner)
        typer.echo(_line(owner.game, owner.partition, owner.claim, owner.address, owner.instance, state))
    served = [owner for owner in found if owner.here]
    processes = len({owner.instance for owner in served})
    sums = {what: sum(getattr(owner, what) for owner in found) for what in ("quarantined", "stuck", "paused")}
    troubled = ", ".join(f"{count} {what}" for what, count in sums.items() if count) or "no game in trouble"
    by = f"{processes} process{'es' * (processes != 1)}"
    typer.echo(f"{len(served)} of {len(found)} partitions are served, by {by}; {troubled}")
    if unknown := hall.unknown():
        raise Problem("\n".join(unknown))


def _counts(owner: o.PartitionOwner) -> str:
    if not owner.here:
        return "served by nobody"
    told = [f"{owner.games} {'pools' if owner.game == MATCHMAKING else 'games'}"]
    told += [f"{count} {what}" for what in ("quarantined", "stuck", "paused") if (count := getattr(owner, what))]
    return ", ".join(told)


async def _from_log(there: OnKafka | None, data: Path) -> None:
    async with opened(there, data) as (log, _):
        named = {(owner.game, owner.partition): owner for owner in await topic.read(log)}
        there_is: dict[Claim, bool] = {}
        for book, store in await books(log, None):
            for partition in range(store.events.partitions):
                state = await checkpointed(store, partition)
                await fold_to_end(store.events, partition, state, lambda verdict: None)
                by = state.owner
                entry = named.get((book.name, partition))
                if by is None and entry is not None and entry.claim == state.newest_claim:
                    by = Claim(entry.instance, entry.address)  # made before the checkpoint
                said = (
                    "claimed by nobody" if state.newest_claim == NO_CLAIM else "its claim is older than what was read"
                )
                if by is not None:
                    if by not in there_is:
                        there_is[by] = await alive(by.address, by.instance, PROBE_SECONDS)
                    said = "answers" if there_is[by] else "does not answer"
                address, instance = (by.address, by.instance) if by is not None else ("", "")
                typer.echo(_line(book.name, partition, state.newest_claim, address, instance, said))


def _line(game: str, partition: int, claim: int, address: str, instance: str, state: str) -> str:
    place = f"{game.replace('_', '-')}/{partition}"
    return f"{place:<20} claim {claim:<8} {address or '-':<22} {instance[:12] or '-':<12}  {state}"
