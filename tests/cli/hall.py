"""A real hall as a process of its own, and the command line as processes beside it."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GUILDHALL = [sys.executable, "-c", "from guildhall.cli.main import main; main()"]


class RunningHall:
    """Where it is."""

    def __init__(self, process: "subprocess.Popen[str]", server: str, data: Path) -> None:
        self.process = process
        self.server = server
        self.data = data

    @property
    def there(self) -> list[str]:
        """The options that lead a command to it."""
        return ["--server", self.server, "--data", str(self.data)]

    @property
    def said(self) -> str:
        """What all processes over this directory have told their operators."""
        return (self.data / "said").read_text()

    def stop(self) -> None:
        """Drain."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@contextmanager
def running_hall(data: Path, port: str = "0") -> Iterator[RunningHall]:
    """A hall over that directory on that port, or on a free one."""
    with serving(data, "all", "--port", port) as running:
        yield running


@contextmanager
def serving(data: Path, *words: str) -> Iterator[RunningHall]:
    """A process of `guildhall serve`, with what it says in a file beside its data."""
    data.mkdir(exist_ok=True)
    with open(data / "said", "ab") as said:
        process = subprocess.Popen(
            [*GUILDHALL, "serve", *words, "--data", str(data)], stdout=subprocess.PIPE, stderr=said, text=True
        )
    try:
        assert process.stdout is not None
        found = None
        for line in process.stdout:
            found = re.search(r"listens on ([\d.]+:\d+)", line)
            if found:
                break
        assert found, "the hall did not start"
        yield RunningHall(process, found[1], data)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def following(words: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A command that runs until it is ended."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def guildhall(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run([*GUILDHALL, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
