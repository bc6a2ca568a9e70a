"""`guildhall options`: every option and ruling of a game, as other commands take them."""

import re

import pytest
from typer.testing import CliRunner

from guildhall.cli import faces
from guildhall.cli.main import command_line
from guildhall.cli.options import pairs
from guildhall.kernel.rules import resolve


def said(*words: str) -> str:
    result = CliRunner().invoke(command_line(words[0]), list(words), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("game", faces.games())
def test_what_is_listed_can_be_chosen_and_is_all(game: str) -> None:
    rules = faces.rules(game)
    listed = re.findall(r"^  (\w+)=(\S+)$", said("options", game.replace("_", "-")), re.MULTILINE)
    options, rulings = listed[: len(rules.options)], listed[len(rules.options) :]
    for here, declared, what in ((options, rules.options, "option"), (rulings, rules.rulings, "ruling")):
        assert [name for name, _ in here] == [choosable.name for choosable in declared]
        defaults = [(name, "" if values == "TEXT" else values.split("|")[0]) for name, values in here]
        assert dict(defaults) == resolve({}, declared, what)
        for name, values in here:
            for value in values.split("|"):
                resolve(dict(pairs([f"{name}={value}"], "")), declared, what)


@pytest.mark.parametrize("command", [["play"], ["queue"], ["table", "create"]])
def test_whoever_chooses_is_told_where_they_are_listed(command: list[str]) -> None:
    assert said(*command, "--help").count("guildhall options GAME") == 2
