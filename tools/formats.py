"""Checks that the states of old games can still be read: hall and frames only gain fields, at the end, with defaults.

Logs carry agendas, and states of taken back versions, for ever. So once a game is released, its folder's `formats.json`
holds the fields of its hall, of everything in it, and of its frames; `make check` compares the code with it. A game
without that file is not released and may change as it likes.

    python tools/formats.py              compare
    python tools/formats.py --release    write formats.json of every game, and proto/released.binpb (tools/breaking.py)
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from guildhall.kernel.rules import Rules

ROOT = Path(__file__).resolve().parent.parent
SERVICES = ROOT / "services"
FROZEN = "formats.json"
RELEASED = ROOT / "proto" / "released.binpb"

Formats = dict[str, list[str]]
"""Of each struct its fields as `name: type`, in their order. A frame is named `frame <tag>`."""


def games() -> list[str]:
    """The folders of services/ that are a game."""
    return sorted(file.parent.name for file in SERVICES.glob("*/rules.py"))


def rules_of(game: str) -> Rules:
    """The RULES of a game by the name of its folder."""
    rules = importlib.import_module(f"services.{game}.rules").RULES
    assert isinstance(rules, Rules)
    return rules


def structs_of(rules: Rules) -> dict[str, type[msgspec.Struct]]:
    """Every struct that a state or an agenda of the game holds, by its name in `Formats`."""
    found: dict[str, type[msgspec.Struct]] = {}
    for hint in (rules.hall, *rules.frames):
        _find(hint, found)
    return found


def _find(hint: Any, found: dict[str, type[msgspec.Struct]]) -> None:
    for argument in get_args(hint):
        _find(argument, found)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        name = _name_of(hint)
        if name not in found:
            found[name] = hint
            for field in get_type_hints(hint, include_extras=True).values():
                _find(field, found)


def _name_of(struct: type[msgspec.Struct]) -> str:
    tag = struct.__struct_config__.tag
    return struct.__qualname__ if tag is None else f"frame {tag}"


def formats_of(rules: Rules) -> Formats:
    """The fields of all structs of a game."""
    return {name: fields_of(struct) for name, struct in sorted(structs_of(rules).items())}


def fields_of(struct: type[msgspec.Struct]) -> list[str]:
    """`name: type` of each field, in the order of the encoding."""
    hints = get_type_hints(struct, include_extras=True)
    return [f"{name}: {type_name(hints[name])}" for name in struct.__struct_fields__]


def type_name(hint: Any) -> str:
    """A type as far as its encoding depends on it: what only classifies a field for blinding is left out."""
    if hasattr(hint, "__metadata__"):
        return type_name(hint.__origin__)
    arguments = get_args(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _name_of(hint)
    head = getattr(hint, "__qualname__", str(hint)) if isinstance(hint, type) or not arguments else "union"
    if arguments and hasattr(hint, "__origin__"):
        head = hint.__origin__.__qualname__
    return f"{head}[{', '.join(map(type_name, arguments))}]" if arguments else str(head)


def broken(game: str, frozen: Formats, structs: dict[str, type[msgspec.Struct]]) -> list[str]:
    """A sentence for each way in which old bytes could not be read any more."""
    faults = []
    for name, fields in frozen.items():
        struct = structs.get(name)
        if struct is None:
            faults.append(f"{game}: {name} is gone; old games hold it")
            continue
        now = fields_of(struct)
        if now[: len(fields)] != fields:
            faults.append(f"{game}: the fields of {name} were ({', '.join(fields)}) and now begin otherwise")
        required = len(struct.__struct_fields__) - len(struct.__struct_defaults__)
        faults += [
            f"{game}: {name} has gained `{field}` without a default"
            for position, field in enumerate(now)
            if len(fields) <= position < required
        ]
        if not struct.__struct_config__.array_like:
            faults.append(f"{game}: {name} is not array_like any more")
    return faults


def release(image: Path) -> None:
    """Write what later changes are compared with."""
    for game in games():
        text = json.dumps(formats_of(rules_of(game)), indent=1) + "\n"
        (SERVICES / game / FROZEN).write_text(text, encoding="utf-8")
    files = FileDescriptorSet.FromString(image.read_bytes())
    for file in files.file:
        file.ClearField("source_code_info")
    RELEASED.write_bytes(files.SerializeToString(deterministic=True))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Compare the state formats of released games with the code.")
    parser.add_argument("--release", action="store_true", help="make the formats as they are now the frozen ones")
    if parser.parse_args(arguments).release:
        release(ROOT / "gen" / "guildhall.binpb")
        return 0
    faults: list[str] = []
    for game in games():
        file = SERVICES / game / FROZEN
        if file.exists():
            faults += broken(game, json.loads(file.read_text(encoding="utf-8")), structs_of(rules_of(game)))
        else:
            print(f"{game} is not released: its formats may change")
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
