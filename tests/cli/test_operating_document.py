"""docs/operating.md says what is so: its commands work as they stand, its metrics and its links are there."""

import asyncio
import re
import sqlite3
from pathlib import Path

from typer.testing import CliRunner

from guildhall.cli.client import Client
from guildhall.cli.main import command_line
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import LOG_FILE
from guildhall.telemetry.metrics import REGISTRY
from tests.cli.hall import RunningHall, running_hall
from tests.cli.operating_document import DOCUMENT, commands
from tests.services.hall import forget_stored


def begun(hall: RunningHall) -> str:
    async def create() -> str:
        async with Client("arcane_alley", hall.server, dev_token(hall.data, "Zoe", ["play", "seat"])) as client:
            return await client.create(subjects=("Zoe", "Yan"))

    return asyncio.run(create())


def run(words: list[str], hall: RunningHall, names: dict[str, str]) -> str:
    """A command of the document, towards this hall."""
    words = [names.get(word, hall.server if word == "hall-0:50051" else word) for word in words]
    result = CliRunner().invoke(command_line(words[0]), [*words, "--data", str(hall.data)])
    assert result.exit_code == 0, (words, result.output)
    return result.output


def test_the_commands_work_as_they_stand(tmp_path: Path) -> None:
    with running_hall(tmp_path) as first:
        names = {"$GAME": begun(first), "$BROKEN": begun(first)}
        run(["game", "pause", "$BROKEN", "--why", "to have a second version", "--server", first.server], first, names)
        first.stop()
    forget_stored(tmp_path, package="arcane_alley")
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        newest = 'SELECT max("offset") FROM records WHERE key = ?'
        statement = f'UPDATE records SET value = ? WHERE key = ? AND "offset" = ({newest})'
        log.execute(statement, (b"junk", names["$BROKEN"], names["$BROKEN"]))
    log.close()
    with running_hall(tmp_path) as hall:
        told = {" ".join(words[:2]): run(words, hall, names) for words in commands()}
        assert hall.process.wait() == 0, "the last one drains it"
    assert {"owners --server", "owners --from-log", "log verify", "game repair", "game abort"} <= told.keys()
    assert "quarantined" in told["game list"] and "is whole" in told["log verify"]


def test_every_alarm_is_of_a_metric_and_is_explained() -> None:
    known = {sample.name for metric in REGISTRY.collect() for sample in metric.samples}
    known |= {metric.name + "_total" for metric in REGISTRY.collect() if metric.type == "counter"}
    known |= {metric.name for metric in REGISTRY.collect()}
    named = set(re.findall(r"\bguildhall_[a-z_]+", DOCUMENT))
    assert len(named) >= 9 and named <= known
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", DOCUMENT, re.MULTILINE)
    }
    linked = re.findall(r"\]\(#([^)]*)\)", DOCUMENT)
    assert len(linked) >= 9 and set(linked) <= headings


def test_its_links_lead_somewhere() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    files = re.findall(r"\]\(([^)#]+\.md)\)", DOCUMENT)
    assert files and all((docs / file).exists() for file in files)


def test_every_order_and_option_that_it_names_is_there() -> None:
    def helped(*words: str) -> str:
        return CliRunner().invoke(command_line(words[0]), [*words, "--help"], env={"COLUMNS": "200"}).output

    for command in re.findall(r"\| `guildhall ([a-z ]+)` \|", DOCUMENT):
        assert "--why" in helped(*command.split()) and "--check" in helped(*command.split())
    for variable, option in re.findall(r"\| `(GUILDHALL_[A-Z_]+)` \| `(--[a-z-]+)` \|", DOCUMENT):
        assert option in helped("log", "stats") and variable in helped("log", "stats")
    assert re.search(r"--events.*--secrets", helped("log", "show"), re.DOTALL)
