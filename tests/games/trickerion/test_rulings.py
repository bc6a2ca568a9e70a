"""RULES.md and the code offer the same rulings."""

import re

import pytest

from guildhall.kernel.decide import Creation, created_event
from services.trickerion.rules import RULES
from tests.house.layout import ROOT

SERVICE = ROOT / "services" / "trickerion"
LINES = (SERVICE / "RULES.md").read_text(encoding="utf-8")
TOLD = re.findall(r"- \*\*(TR-[A-Z]+\d+)\*\* \[(\w+) = ([^\]]+)\]", LINES)
"""Id, name and values of each ruling that can be chosen, as RULES.md has them."""


@pytest.mark.rule("TR-C1", "TR-C2", "TR-C6")
def test_the_register_has_the_rulings_of_the_code() -> None:
    told = {name: (tuple(values.split(" | ")), id_) for id_, name, values in reversed(TOLD)}
    assert told == {ruling.name: (ruling.values, ruling.ref) for ruling in RULES.rulings}
    assert all(ruling.default == ruling.values[0] for ruling in RULES.rulings if ruling.values)
    assert [id_ for id_, name, _ in TOLD if name == "edition"] == ["TR-C1", "TR-C2", "TR-C6"]


def test_the_code_names_only_what_the_register_has() -> None:
    """A refusal, an option, a comment with an id that no line has would lead nowhere."""
    known = set(re.findall(r"- \*\*(TR-[A-Z]*\d+)\*\* \[", LINES))
    files = [*SERVICE.rglob("*.py"), *SERVICE.rglob("*.yaml")]
    named = {id_ for file in files for id_ in re.findall(r"\bTR-[A-Z]*\d+", file.read_text(encoding="utf-8"))}
    assert len(named) > 200 and named <= known
    assert {option.ref for option in RULES.options} <= known


def test_a_game_keeps_all_its_rulings() -> None:
    chosen = {ruling.name: ruling.values[-1] for ruling in RULES.rulings if ruling.values}
    for rulings in ({}, chosen):
        created = created_event(RULES, Creation(["a", "b"], rulings=rulings), "a-game", bytes(32))
        kept = {setting.name: setting.value for setting in created.rulings}
        assert kept == {ruling.name: rulings.get(ruling.name, ruling.default) for ruling in RULES.rulings}
        hall = RULES.new_hall(created)
        flags = [getattr(hall.rulings, name) for name in hall.rulings.__struct_fields__]
        assert flags == [bool(rulings)] * len(RULES.rulings)
