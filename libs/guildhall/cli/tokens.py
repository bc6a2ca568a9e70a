"""Who asks at the command line, and tokens for its requests, signed with the key of a hall's data directory."""

import getpass
from collections.abc import Sequence
from pathlib import Path

from guildhall.cli.problems import Problem
from guildhall.rpc.identity import BOTS_KEY_FILE, KEY_FILE, existing_key, given_bots_key, mint

DAY = 24 * 3600


def default_name() -> str:
    """The name of whoever is logged in."""
    try:
        return getpass.getuser()
    except OSError:
        return "you"


def dev_token(data: Path, subject: str, scopes: Sequence[str]) -> str:
    """A token for a day. Raises Problem where the directory has no key or the subject cannot be one."""
    try:
        return mint(existing_key(data), subject, scopes, DAY)
    except FileNotFoundError:
        raise Problem(
            f"There is no {data / KEY_FILE}: the hall makes it when it starts (make run). "
            "Is --data the directory of your hall?"
        ) from None
    except (ValueError, OSError) as error:
        raise Problem(str(error)) from None


def bot_token(directory: Path, subject: str) -> str:
    """A token of one of the hall's bots for a day, signed with the bots' key. Raises Problem where it is not there."""
    try:
        return mint(given_bots_key(directory), subject, ["play"], DAY)
    except FileNotFoundError:
        raise Problem(
            f"There is no {directory / BOTS_KEY_FILE}: guildhall bots-key makes it from the hall's key "
            "(guildhall serve all does that by itself)."
        ) from None
    except (ValueError, OSError) as error:
        raise Problem(str(error)) from None
