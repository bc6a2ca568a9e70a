"""`guildhall serve all`: the whole hall in one process. `guildhall serve rules`: one of several processes on Kafka."""

import importlib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import services
from guildhall.cli import faces
from guildhall.cli.hints import typed
from guildhall.cli.kafka_options import KafkaCluster, KafkaConfig, OnKafka, SingleBroker
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host.group import group
from guildhall.host.hall import LOG_FILE, Hall, HallConfig, run_process
from guildhall.kernel.packs import BadPack
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError
from guildhall.rpc.identity import KEY_FILE, JwksKeys, Keys, public_keys
from guildhall.telemetry import logs


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
    app.add_typer(commands, name="serve")


def games() -> list[Rules]:
    """The rules of every game: each folder of services/ that has a rules.py, in the order of their names."""
    names = {path.parent.name for root in services.__path__ for path in Path(root).glob("*/rules.py")}
    return [importlib.import_module(f"services.{name}.rules").RULES for name in sorted(names)]


def serve(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 50051,
    data: Annotated[Path, typer.Option(help="Directory that keeps everything: log, key.")] = DEFAULT_DATA,
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    log_format: Annotated[LogFormat, typer.Option(help="Log lines for people or for machines.")] = LogFormat.CONSOLE,
    metrics_port: Annotated[int | None, typer.Option(help="Port for Prometheus; none: not served.")] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Whose tokens count: a file (JWKS or PEM) or a JWKS URL; none: the hall's own key."),
    ] = None,
) -> None:
    """Serve every game on one port, its data in one directory; Ctrl-C drains and stops."""
    logs.configure("json" if log_format is LogFormat.JSON else "console")
    config = HallConfig(
        data=data, games=games(), address=address, port=port, metrics_port=metrics_port, keys=_keys(keys)
    )
    _run(config, _welcome, f"on {data}")


def serve_rules(
    game: Annotated[list[str], typer.Option(help="Game to serve, such as arcane-alley; may be given again.")],
    kafka: Annotated[
        str, typer.Option(envvar="GUILDHALL_KAFKA_BOOTSTRAP", help="Kafka's address: host:port[,host:port…].")
    ],
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 50051,
    data: Annotated[Path, typer.Option(help="Directory of the hall's key, the same for all its processes.")] = (
        DEFAULT_DATA
    ),
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    advertise: Annotated[
        str | None,
        typer.Option(help="host:port at which the hall's other processes reach this one. Default: where it listens."),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Log lines for people or for machines.")] = LogFormat.CONSOLE,
    metrics_port: Annotated[int | None, typer.Option(help="Port for Prometheus; none: not served.")] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Whose tokens count: a file (JWKS or PEM) or a JWKS URL; none: the hall's own key."),
    ] = None,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Serve games on Kafka, as one of any number of processes; SIGTERM drains it.

    The topics must be there (guildhall topics apply); for development, on one broker, they are made.
    """
    logs.configure("json" if log_format is LogFormat.JSON else "console")
    if advertise is None and address in ("0.0.0.0", "::", "[::]"):
        raise typer.BadParameter(f"others cannot reach {address}: say at which address", param_hint="--advertise")
    there = OnKafka(kafka, kafka_config, kafka_cluster, single_broker_not_durable)
    config = HallConfig(
        data=data,
        games=[faces.rules(faces.game_name(name)) for name in dict.fromkeys(game)],
        address=address,
        port=port,
        advertise=advertise,
        metrics_port=metrics_port,
        keys=_keys(keys),
        open_log=lambda file: there.open(file.parent, make_topics=single_broker_not_durable),
        join=group,
        one_of_several=True,
    )
    _run(config, _welcome_rules, f"on Kafka at {kafka}")


def _run(config: HallConfig, started: Callable[[Hall], None], where: str) -> None:
    try:
        run_process(config, started)
    except (LogError, BadPack, OSError, ValueError) as error:
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
    names = ", ".join(rules.game.replace("_", "-") for rules in config.games)
    here = f"{config.address}:{hall.port}"
    first = config.games[0].game.replace("_", "-") if config.games else ""
    lines = [
        f"Guildhall listens on {here} (gRPC, with health and reflection)",
        f"  games   {names}",
        f"  data    {config.data / LOG_FILE}",
        f"  key     {config.data / KEY_FILE}, id {hall.key_id}"
        + ("" if config.keys is None else " (its tokens don't count: --keys)"),
        f"  token   {typed('token', '--subject', 'alice', data=config.data)}",
        f"  play    {typed('play', first, server=here, data=config.data)}",
        "  stop    Ctrl-C",
    ]
    typer.echo("\n".join(lines))


def _welcome_rules(hall: Hall) -> None:
    config = hall.config
    names = ", ".join(rules.game.replace("_", "-") for rules in config.games)
    typer.echo(f"Guildhall listens on {config.address}:{hall.port} (gRPC, with health and reflection): {names}")
