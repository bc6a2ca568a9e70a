"""`guildhall serve all`: the whole hall in one process."""

import asyncio
import importlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import services
from guildhall.cli.token import DEFAULT_DATA
from guildhall.host.hall import LOG_FILE, Hall, HallConfig, serve_all
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
    group = typer.Typer(help="Serve games.", no_args_is_help=True)
    group.callback()(lambda: None)
    group.command(name="all")(serve)
    app.add_typer(group, name="serve")


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
    config = HallConfig(data, games(), address, port, metrics_port, _keys(keys))
    try:
        asyncio.run(serve_all(config, _welcome))
    except (LogError, BadPack, OSError, ValueError) as error:
        typer.echo(f"The hall does not start on {data}: {error}", err=True)
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
    where = "" if config.data == DEFAULT_DATA else f" --data {config.data}"
    there = "" if hall.port == 50051 and config.address == "127.0.0.1" else f" --server {config.address}:{hall.port}"
    first = config.games[0].game.replace("_", "-") if config.games else ""
    lines = [
        f"Guildhall listens on {config.address}:{hall.port} (gRPC, with health and reflection)",
        f"  games   {names}",
        f"  data    {config.data / LOG_FILE}",
        f"  key     {config.data / KEY_FILE}, id {hall.key_id}"
        + ("" if config.keys is None else " (its tokens don't count: --keys)"),
        f"  token   .venv/bin/guildhall token --subject alice{where}",
        f"  play    .venv/bin/guildhall play {first}{there}{where}",
        "  stop    Ctrl-C",
    ]
    typer.echo("\n".join(lines))
