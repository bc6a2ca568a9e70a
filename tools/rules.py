"""Prints every rule of every game with the tests that hold it; fails if a rule has none (`make rules`).

A rule is a line of `services/<game>/RULES.md`:

    - **AA-41** [Playing an Item 2] a chosen stash item is put revealed into the vacated slot

The number may follow the letters of a series (`TR-D01`). A line ends with `(no behaviour)` if it only describes the
box. A test names the rules that it holds with `@pytest.mark.rule("AA-41", …)`. Only what pytest really collects, and
does not always skip, counts.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NO_BEHAVIOUR = "(no behaviour)"
ENTRY = re.compile(r"- \*\*(?P<id>[A-Z]{2,4}-[A-Z]{0,2}\d+[a-z]?)\*\* \[(?P<place>[^\]]+)\] (?P<text>\S.*)")


@dataclass(frozen=True)
class Rule:
    """One line of a game's RULES.md."""

    id: str
    game: str
    place: str
    """Where the rulebook says it."""
    text: str
    behaves: bool
    """False for what only describes the box, which needs no test."""


def parse(game: str, text: str) -> Iterator[Rule | str]:
    """The rules of one RULES.md in its order, and a sentence for each line that is meant as one but can't be read."""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := ENTRY.fullmatch(line.rstrip()):
            said = match["text"].removesuffix(NO_BEHAVIOUR).rstrip()
            yield Rule(match["id"], game, match["place"], said, not match["text"].endswith(NO_BEHAVIOUR))
        elif re.match(r"\s*[-*] \**[A-Z]+-[A-Z]*\d", line):
            yield f"{game}/RULES.md:{number} is not of the form `- **AA-41** [place in the book] text`"


def register(services: Path) -> tuple[list[Rule], list[str]]:
    """All rules of all games below `services`, and what is wrong with their files."""
    rules: dict[str, Rule] = {}
    faults: list[str] = []
    for file in sorted(services.glob("*/RULES.md")):
        for read in parse(file.parent.name, file.read_text(encoding="utf-8")):
            if isinstance(read, str):
                faults.append(read)
            elif read.id in rules:
                faults.append(f"{read.id} stands twice: in {rules[read.id].game} and in {read.game}")
            else:
                rules[read.id] = read
    return list(rules.values()), faults


class Collector:
    """A plugin of pytest that notes which collected tests name which rule."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}
        self.faults: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if item.get_closest_marker("skip"):
                continue
            # A parametrized test is named once, without its parameters.
            name = item.nodeid.split("[", 1)[0]
            for mark in item.iter_markers("rule"):
                for rule in mark.args:
                    tests = self.tests.setdefault(str(rule), [])
                    if name not in tests:
                        tests.append(name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.faults.append(f"{report.nodeid} cannot be collected: {report.longreprtext}")


def collect(root: Path) -> Collector:
    """The rules that the tests below `root` name."""
    collector = Collector()
    arguments = ["--collect-only", "--quiet", "-p", "no:cacheprovider", f"--rootdir={root}", str(root / "tests")]
    with open(os.devnull, "w") as devnull, contextlib.redirect_stdout(devnull):
        pytest.main(arguments, [collector])
    return collector


def judge(rules: list[Rule], tests: dict[str, list[str]]) -> list[str]:
    """What is wrong: rules that need a test and have none, and tests that name a rule that no game has."""
    known = {rule.id for rule in rules}
    untested = [f"{r.id} has no test: [{r.place}] {r.text}" for r in rules if r.behaves and r.id not in tests]
    unknown = [f"{', '.join(tests[id])}: no game has a rule {id}" for id in sorted(tests.keys() - known)]
    return untested + unknown


def table(rules: list[Rule], tests: dict[str, list[str]]) -> Iterator[str]:
    """The lines to print: for each game a heading, then each rule with its tests."""
    for game in sorted({rule.game for rule in rules}):
        own = [rule for rule in rules if rule.game == game]
        held = sum(rule.id in tests for rule in own)
        still = sum(not rule.behaves and rule.id not in tests for rule in own)
        yield f"{game}: {len(own)} rules, {held} with tests, {still} without behaviour"
        for rule in own:
            yield f"  {rule.id:8}{rule.text}"
            yield from (f"  {'':8}  {test}" for test in tests.get(rule.id, [] if rule.behaves else [NO_BEHAVIOUR]))


def main(root: Path) -> int:
    rules, faults = register(root / "services")
    collected = collect(root)
    faults += collected.faults + judge(rules, collected.tests)
    print("\n".join(table(rules, collected.tests)))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
