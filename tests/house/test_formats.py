"""Formats of released games only gain fields with defaults (tools/formats.py)."""

import json

import msgspec
import pytest

from guildhall.kernel.frames import Frame
from tests.house.layout import SERVICES, games
from tools import formats


class Purse(msgspec.Struct, array_like=True):
    gold: int
    names: list[str]


FROZEN = {"Purse": ["gold: int", "names: list[str]"]}


def broken(struct: type[msgspec.Struct]) -> list[str]:
    return formats.broken("a_game", FROZEN, {"Purse": struct})


def test_the_same_fields_are_fine() -> None:
    assert broken(Purse) == []


def test_a_field_with_a_default_may_be_gained() -> None:
    class More(Purse, array_like=True):
        silver: int = 0

    assert broken(More) == []
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Purse(1, [])), type=More) == More(1, [], 0)


def test_a_field_without_a_default_breaks_old_bytes() -> None:
    class More(Purse, array_like=True):
        silver: int

    assert broken(More) == ["a_game: Purse has gained `silver: int` without a default"]
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(Purse(1, [])), type=More)


@pytest.mark.parametrize(
    "fields",
    [
        [("names", list[str]), ("gold", int)],
        [("gold", int)],
        [("gold", str), ("names", list[str])],
        [("coins", int), ("names", list[str])],
    ],
    ids=["order", "gone", "type", "name"],
)
def test_old_fields_stay_as_they_are(fields: list[tuple[str, type]]) -> None:
    [fault] = broken(msgspec.defstruct("Purse", fields, array_like=True))
    assert "now begin otherwise" in fault


def test_a_struct_that_old_games_hold_stays() -> None:
    assert formats.broken("a_game", FROZEN, {}) == ["a_game: Purse is gone; old games hold it"]


def test_another_encoding_breaks_old_bytes() -> None:
    [fault] = broken(msgspec.defstruct("Purse", [("gold", int), ("names", list[str])]))
    assert "array_like" in fault


def test_frames_go_by_their_tags_and_all_that_a_state_holds_is_listed() -> None:
    class Pay(Frame, tag="pay"):
        purse: Purse
        due: int | None

    found: dict[str, type[msgspec.Struct]] = {}
    formats._find(Pay, found)
    assert {name: formats.fields_of(struct) for name, struct in found.items()} == {
        "frame pay": ["purse: Purse", "due: union[int, NoneType]"],
        "Purse": FROZEN["Purse"],
    }


@pytest.mark.parametrize("game", sorted(games()))
def test_the_states_of_released_games_can_be_read(game: str) -> None:
    structs = formats.structs_of(formats.rules_of(game))
    assert len(structs) > 1
    file = SERVICES / game / formats.FROZEN
    if file.exists():
        assert formats.broken(game, json.loads(file.read_text(encoding="utf-8")), structs) == []
    if formats.RELEASED.exists():
        assert file.exists(), "a game of the release has its formats frozen"
