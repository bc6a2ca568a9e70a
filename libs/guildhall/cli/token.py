"""`guildhall token`: development tokens, signed with a hall's own key."""

import re
from pathlib import Path
from typing import Annotated

import typer

from guildhall.rpc.identity import KEY_FILE, SCOPES, existing_key, mint

DEFAULT_DATA = Path(".data/hall")
DEFAULT_SCOPES = ("play", "seat", "spectate")
_TTL = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="token")(token)


def token(
    subject: Annotated[str, typer.Option(help="Who holds the token; opaque to the hall, for example a player's id.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(SCOPES)}; several with blanks between them, or repeated. "
            f"Default: {', '.join(DEFAULT_SCOPES)}."
        ),
    ] = None,
    ttl: Annotated[str, typer.Option(help="How long it is valid: 90s, 30m, 24h, 7d.")] = "24h",
    data: Annotated[Path, typer.Option(help="Data directory of the hall whose key signs.")] = DEFAULT_DATA,
) -> None:
    """Print a token for a subject, signed with the key of the hall in DATA."""
    match = _TTL.fullmatch(ttl)
    if match is None:
        raise typer.BadParameter(f"{ttl!r} is no duration; say 90s, 30m, 24h or 7d", param_hint="--ttl")
    try:
        key = existing_key(data)
    except FileNotFoundError:
        typer.echo(f"There is no {data / KEY_FILE}: a hall makes it when it starts (guildhall serve all).", err=True)
        raise typer.Exit(1) from None
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    scopes = [word for words in scope or DEFAULT_SCOPES for word in words.split() or [words]]
    try:
        typer.echo(mint(key, subject, scopes, int(match[1]) * _SECONDS[match[2]]))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
