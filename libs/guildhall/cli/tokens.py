"""Who asks at the command line, and the tokens of its requests: the one that the environment holds, else one that is
signed with the key of a hall's data directory.
"""

import getpass
import os
from collections.abc import Sequence
from pathlib import Path

import jwt

from guildhall.cli.problems import Problem
from guildhall.rpc.identity import BOTS_KEY_FILE, KEY_FILE, existing_key, given_bots_key, mint

DAY = 24 * 3600
HELD = "GUILDHALL_TOKEN"
"""The variable of the environment with the token of somebody who was given one, and has no hall's key."""


def is_guest() -> bool:
    """Whether the environment holds a token."""
    return HELD in os.environ


def default_name() -> str:
    """The subject of the token in the environment; without one, the name of whoever is logged in. Raises Problem."""
    if is_guest():
        return _subject(os.environ[HELD])
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # which of them depends on the version of Python
        return "you"


def dev_token(data: Path, subject: str, scopes: Sequence[str]) -> str:
    """The environment's token if it is the subject's, else one for a day. Raises Problem where the directory has no key
    or the subject cannot be one.
    """
    holder = _subject(os.environ[HELD]) if is_guest() else ""
    if holder == subject:
        return os.environ[HELD]
    try:
        return mint(existing_key(data), subject, scopes, DAY)
    except FileNotFoundError:
        if holder:
            raise Problem(f"The token in {HELD} is {holder}'s, not {subject}'s; leave --name out.") from None
        raise Problem(
            f"There is no {data / KEY_FILE}: the hall makes it when it starts (make run). "
            "Is --data the directory of your hall? At somebody else's hall you need a token of theirs for "
            f"{subject!r}, in {HELD}."
        ) from None
    except (ValueError, OSError) as error:
        raise Problem(str(error)) from None


def _subject(token: str) -> str:
    """Whose it says that it is; the hall looks whether it is true. Raises Problem."""
    try:
        return str(jwt.decode(token, options={"verify_signature": False})["sub"])
    except (jwt.PyJWTError, KeyError):
        raise Problem(f"What is in {HELD} is no token.") from None


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
