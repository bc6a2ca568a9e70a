"""On which cluster a log lies: its id is remembered, so that nobody serves from another one by a slip of an address."""

import os
from pathlib import Path

import msgspec

from guildhall.log.errors import LogUnreadable
from guildhall.telemetry import logs

FILE = "kafka.cluster"
"""Name of the file in a data directory that remembers the cluster's id."""

CLUSTER_KEY = "cluster"
"""Under which `guildhall.operations` keeps the id of the cluster that it was made on."""

_log = logs.get("log")


class WrongCluster(LogUnreadable):
    """The cluster is not the one that the log lies on."""


class Home(msgspec.Struct, frozen=True):
    """What is known beforehand: the cluster's id, if somebody said it, and a file that remembers it."""

    cluster: str = ""
    file: Path | None = None

    def check(self, bootstrap: str, found: str) -> None:
        """Raises `WrongCluster`, OSError where the file cannot be read."""
        if self.cluster and found != self.cluster:
            raise WrongCluster(bootstrap, f"this is the cluster {found}, not {self.cluster}: check the address")
        remembered = self.remembered()
        if remembered and found != remembered:
            raise WrongCluster(
                bootstrap,
                f"this is the cluster {found}, but the log lies on {remembered}: check the address, "
                f"or if the log was moved on purpose, remove {self.file}",
            )

    def check_stored(self, bootstrap: str, found: str, stored: str) -> None:
        """`stored` is what the log itself says. Raises `WrongCluster`."""
        if found != stored:
            raise WrongCluster(
                bootstrap,
                f"this is the cluster {found}, and its topics are copies of those on {stored}: "
                "a copy has other offsets, so nobody can serve from it",
            )

    def remembered(self) -> str:
        """The id that the file holds; "" where there is none."""
        try:
            return self.file.read_text(encoding="utf-8").strip() if self.file is not None else ""
        except FileNotFoundError:
            return ""

    def remember(self, found: str) -> None:
        """Write the file, if it isn't there. Where that is impossible, only what was said beforehand can be checked."""
        if self.file is None or self.remembered():
            return
        beside = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            beside.write_text(found + "\n", encoding="utf-8")
            beside.replace(self.file)
        except OSError as error:
            _log.warning("the cluster's id cannot be remembered", file=str(self.file), why=logs.said(error))
