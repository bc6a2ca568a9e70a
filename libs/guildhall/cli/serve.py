"""`guildhall serve all`: the whole hall in one process. `serve rules|projection|views|matchmaking`: one of several
on Kafka.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from redis.asyncio import Redis

import services
from guildhall.cli import faces
from guildhall.cli.bots import BotsChild, serve_bots, write_bots_key
from guildhall.cli.hints import typed
from guildhall.cli.kafka_options import KafkaCluster, KafkaConfig, OnKafka, SingleBroker
from guildhall.cli.read_side import (
    REDIS_DIRECTORY,
    OneMachine,
    ProjectionProcess,
    ReadSideConfig,
    ViewsConfig,
    ViewsProcess,
)
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host.door import DoorConfig
from guildhall.host.group import group
from guildhall.host.hall import LOG_FILE, Foundation, Hall, HallConfig, Housed
from guildhall.host.process import Process, run_process
from guildhall.kernel.packs import BadPack
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError
from guildhall.log.topics import MATCHMAKING
from guildhall.readmodel.child import NoRedis
from guildhall.readmodel.connection import open_redis
from guildhall.rpc.identity import KEY_FILE, JwksKeys, Keys, existing_key, give_bots_key, public_keys
from guildhall.telemetry import logs
from services.matchmaking.house import HouseRules
from services.matchmaking.process import Matchmaking

ANY_ADDRESS = ("0.0.0.0", "::", "[::]")


class LogFormat(StrEnum):
    """How log lines are written."""

    CONSOLE = "console"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    commands = typer.Typer(help="Serve games.", no_args_is_help=True)
    commands.callback()(lambda: None)
    commands.command(name="all")(serve)
    commands.command(name="rules")(serve_rules)
    commands.command(name="projection")(serve_projection)
    commands.command(name="views")(serve_views)
    commands.command(name="matchmaking")(serve_matchmaking)
    commands.command(name="bots")(serve_bots)
    app.add_typer(commands, name="serve")
    app.command(name="bots-key")(write_bots_key)


def games() -> list[Rules]:
    """The rules of every game: each folder of services/ that has a rules.py, in the order of their names."""
    names = {path.parent.name for root in services.__path__ for path in Path(root).glob("*/rules.py")}
    return [importlib.import_module(f"services.{name}.rules").RULES for name in sorted(names)]


Port = Annotated[int, typer.Option("--port", help="Port to listen on.")]
Address = Annotated[str, typer.Option("--address", help="Address to listen on.")]
LogLines = Annotated[LogFormat, typer.Option("--log-format", help="Log lines for people or for machines.")]
MetricsPort = Annotated[int | None, typer.Option("--metrics-port", help="Port for Prometheus; none: not served.")]
KeysFrom = Annotated[
    str | None,
    typer.Option("--keys", help="Whose tokens count: a file (JWKS or PEM) or a JWKS URL; none: the hall's own key."),
]
KeyDirectory = Annotated[
    Path, typer.Option("--data", help="Directory of the hall's key, the same for all its processes.")
]
Games = Annotated[list[str], typer.Option("--game", help="Game to serve, such as arcane-alley; may be given again.")]
ProjectedGames = Annotated[
    list[str],
    typer.Option("--game", help="Game to fold, such as arcane-alley, or matchmaking; may be given again."),
]
Advertised = Annotated[
    str | None,
    typer.Option(
        "--advertise",
        help="host:port at which the hall's other processes reach this one. Default: where it listens.",
    ),
]
Public = Annotated[
    list[str] | None,
    typer.Option(
        "--public",
        help="Where players connect to play, host:port, as whoever is given a seat is told; GAME=host:port of one game "
        "alone, and may be given again. Default: where they asked for the seat.",
    ),
]
Bootstrap = Annotated[
    str,
    typer.Option("--kafka", envvar="GUILDHALL_KAFKA_BOOTSTRAP", help="Kafka's address: host:port[,host:port…]."),
]
RedisUrl = Annotated[
    str,
    typer.Option(
        "--redis",
        envvar="GUILDHALL_REDIS_URL",
        show_envvar=True,
        help="Redis of the read models: redis://user:password@host:port/0, rediss:// for TLS. It holds secrets.",
    ),
]


def serve(
    port: Port = 50051,
    data: Annotated[Path, typer.Option(help="Directory that keeps everything: log, key.")] = DEFAULT_DATA,
    address: Address = "127.0.0.1",
    log_format: LogLines = LogFormat.CONSOLE,
    metrics_port: MetricsPort = None,
    keys: KeysFrom = None,
    public: Public = None,
) -> None:
    """Serve every game on one port, its data in one directory; Ctrl-C drains and stops.

    The read models are in a Redis of its own, which lives as long as it does and stores them beside the log.
    """
    _configure_logs(log_format)
    served = games()
    told = public_places(public, served)
    machine = OneMachine(served, data / REDIS_DIRECTORY, pools=True)
    config = HallConfig(
        data=data,
        games=served,
        address=address,
        port=port,
        metrics_port=metrics_port,
        keys=_keys(keys),
        beside=lambda: machine,
        housed=matchmaking(served, told, machine.client, here=address not in ANY_ADDRESS),
    )
    bots = BotsChild()

    def started(hall: Hall) -> None:
        give_bots_key(existing_key(data), data)
        reached = "127.0.0.1" if address in ANY_ADDRESS else address
        bots.start(f"{reached}:{hall.port}", data)
        _welcome(hall)

    _run(Hall(config), started, f"on {data}", at_end=bots.stop)


def matchmaking(
    games: list[Rules], public: Mapping[str, str], redis: Callable[[], Redis], *, here: bool = False
) -> Callable[[Foundation], Housed]:
    """Matchmaking of these games, with every bot that they have. `public`: where each is played; of one that is not
    named, `here`, where this process listens, or wherever a player has asked. `redis` connects to the read models.
    """

    def housed(foundation: Foundation) -> Matchmaking:
        mine = foundation.me.address if here else ""
        houses = [
            HouseRules(rules, faces.strengths(rules.game), public=public.get(rules.game, mine)) for rules in games
        ]
        return Matchmaking(houses, foundation, redis)

    return housed


def public_places(told: Sequence[str] | None, games: Sequence[Rules]) -> dict[str, str]:
    """Where each game is played, as `--public` said: one address for all, or for a game. Raises typer.BadParameter."""
    names = [rules.game for rules in games]
    places: dict[str, str] = {}
    for word in told or ():
        game, _, address = word.rpartition("=")
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise typer.BadParameter(f"{word!r} is not host:port, nor GAME=host:port", param_hint="--public")
        if game and faces.game_name(game) not in names:
            raise typer.BadParameter(f"{game} is not served here", param_hint="--public")
        places |= {faces.game_name(game): address} if game else {name: address for name in names if name not in places}
    return places


def serve_rules(
    game: Games,
    kafka: Bootstrap,
    port: Port = 50051,
    data: KeyDirectory = DEFAULT_DATA,
    address: Address = "127.0.0.1",
    advertise: Advertised = None,
    log_format: LogLines = LogFormat.CONSOLE,
    metrics_port: MetricsPort = None,
    keys: KeysFrom = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Serve games on Kafka, as one of any number of processes; SIGTERM drains it.

    The topics must be there (guildhall topics apply); for development, on one broker, they are made.
    """
    _configure_logs(log_format)
    there = OnKafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    config = _one_of_several(there, data, address, port, advertise, metrics_port, keys)
    _run(Hall(replace(config, games=_named(game))), _tell_of_rules, f"on Kafka at {kafka}")


def serve_projection(
    game: ProjectedGames,
    kafka: Bootstrap,
    redis: RedisUrl,
    port: Annotated[int, typer.Option(help="Port for health.")] = 50052,
    data: KeyDirectory = DEFAULT_DATA,
    address: Address = "127.0.0.1",
    log_format: LogLines = LogFormat.CONSOLE,
    metrics_port: MetricsPort = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Fold games, and matchmaking, from Kafka into read models in Redis; SIGTERM ends it.

    Several may run: of each partition one does the work, the others stand by.
    """
    _configure_logs(log_format)
    there = OnKafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    config = ReadSideConfig(
        data=data,
        games=_named([name for name in game if name != MATCHMAKING]),
        pools=MATCHMAKING in game,
        address=address,
        port=port,
        metrics_port=metrics_port,
        open_log=lambda: there.open(data, make_topics=single_broker_not_durable),
        one_of_several=True,
        redis=redis,
    )
    process = ProjectionProcess(config)
    _run(process, _tell_of_projection, f"on Kafka at {kafka}", lambda: process.failure is None)


def serve_views(
    game: Games,
    kafka: Bootstrap,
    redis: RedisUrl,
    port: Port = 50053,
    data: KeyDirectory = DEFAULT_DATA,
    address: Address = "127.0.0.1",
    log_format: LogLines = LogFormat.CONSOLE,
    metrics_port: MetricsPort = None,
    keys: KeysFrom = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Serve views and streams of games from the read models in Redis, as one of any number of processes; SIGTERM
    drains it.
    """
    _configure_logs(log_format)
    there = OnKafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    config = ViewsConfig(
        data=data,
        games=_named(game),
        address=address,
        port=port,
        metrics_port=metrics_port,
        keys=_keys(keys),
        open_log=lambda: there.open(data, make_topics=single_broker_not_durable),
        one_of_several=True,
        redis=redis,
    )
    _run(ViewsProcess(config), _tell_of_views, f"on Kafka at {kafka}")


def serve_matchmaking(
    game: Annotated[
        list[str],
        typer.Option(help="Game to match, such as arcane-alley; may be given again. The same for all such processes."),
    ],
    kafka: Bootstrap,
    redis: RedisUrl,
    port: Port = 50054,
    data: KeyDirectory = DEFAULT_DATA,
    address: Address = "127.0.0.1",
    advertise: Advertised = None,
    log_format: LogLines = LogFormat.CONSOLE,
    metrics_port: MetricsPort = None,
    keys: KeysFrom = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
    public: Public = None,
) -> None:
    """Serve the matchmaking of games on Kafka, as one of any number of processes; SIGTERM drains it.

    Ratings are read from the models in Redis that serve projection --game matchmaking keeps.
    """
    _configure_logs(log_format)
    _check_redis(redis)
    served = _named(game)
    told = public_places(public, served)
    there = OnKafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    config = _one_of_several(there, data, address, port, advertise, metrics_port, keys)
    housed = matchmaking(served, told, partial(open_redis, redis))
    _run(Hall(replace(config, housed=housed)), _tell_of_matchmaking, f"on Kafka at {kafka}")


def _one_of_several(
    there: OnKafka,
    data: Path,
    address: str,
    port: int,
    advertise: str | None,
    metrics_port: int | None,
    keys: str | None,
) -> HallConfig:
    """A hall's process on Kafka that shares its partitions with others; what it serves is still to be said."""
    if advertise is None and address in ANY_ADDRESS:
        raise typer.BadParameter(f"others cannot reach {address}: say at which address", param_hint="--advertise")
    return HallConfig(
        data=data,
        games=[],
        address=address,
        port=port,
        advertise=advertise,
        metrics_port=metrics_port,
        keys=_keys(keys),
        open_log=lambda file: there.open(file.parent, make_topics=there.single_broker_not_durable),
        join=group,
        one_of_several=True,
    )


def _check_redis(redis: str) -> None:
    try:
        open_redis(redis)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--redis") from None


def _configure_logs(log_format: LogFormat) -> None:
    logs.configure("json" if log_format is LogFormat.JSON else "console")


def _named(names: list[str]) -> list[Rules]:
    return [faces.rules(faces.game_name(name)) for name in dict.fromkeys(names)]


P = TypeVar("P", bound=Process)


def _run(
    process: P,
    started: Callable[[P], None],
    where: str,
    well: Callable[[], bool] = lambda: True,
    at_end: Callable[[], None] = lambda: None,
) -> None:
    """Run it to its end; `well()` says afterwards whether it ended as it should, `at_end()` is called in any case."""
    try:
        run_process(process, started, well, at_end)
    except (LogError, BadPack, NoRedis, OSError, ValueError) as error:
        typer.echo(f"The hall does not start {where}: {error}", err=True)
        raise typer.Exit(1) from None


def _keys(source: str | None) -> Keys | None:
    if source is None:
        return None
    if source.startswith(("http://", "https://")):
        return JwksKeys(source)
    try:
        return public_keys(Path(source))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--keys") from None


def _welcome(hall: Hall) -> None:
    config = hall.config
    names = ", ".join(faces.typed_name(rules.game) for rules in config.games)
    here = f"{config.address}:{hall.port}"
    plays = [typed("play", faces.typed_name(rules.game), server=here, data=config.data) for rules in config.games]
    lines = [
        f"Guildhall listens on {here} (gRPC, with health and reflection)",
        f"  games   {names}",
        f"  data    {config.data / LOG_FILE}",
        f"  key     {config.data / KEY_FILE}, id {hall.key_id}"
        + ("" if config.keys is None else " (its tokens don't count: --keys)"),
        f"  token   {typed('token', '--subject', 'alice', data=config.data)}",
        *(f"  {'' if number else 'play':8}{play}" for number, play in enumerate(plays)),
        "  stop    Ctrl-C",
    ]
    typer.echo("\n".join(lines))


def _tell_of_rules(hall: Hall) -> None:
    _tell("Guildhall", hall.config, hall.port, hall.config.games)


def _tell_of_projection(process: ProjectionProcess) -> None:
    config = process.config
    _tell("Guildhall's projection", config, process.port, config.games, [MATCHMAKING] if config.pools else [])


def _tell_of_views(process: ViewsProcess) -> None:
    _tell("Guildhall's views", process.config, process.port, process.config.games)


def _tell_of_matchmaking(hall: Hall) -> None:
    typer.echo(
        f"Guildhall's matchmaking listens on {hall.config.address}:{hall.port} (gRPC, with health and reflection)"
    )


def _tell(what: str, config: DoorConfig, port: int, served: Sequence[Rules], besides: Sequence[str] = ()) -> None:
    names = ", ".join([*(faces.typed_name(rules.game) for rules in served), *besides])
    typer.echo(f"{what} listens on {config.address}:{port} (gRPC, with health and reflection): {names}")
