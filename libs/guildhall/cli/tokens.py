"""Who asks at the command line, and tokens for its requests, signed with the key of a hall's data directory."""

import getpass
from collections.abc import Sequence
from pathlib import Path

from guildhall.cli.problems import Problem
from guildhall.rpc.identity import KEY_FILE, existing_key, mint

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
