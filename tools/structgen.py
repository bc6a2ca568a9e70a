"""Writes frozen Structs with their wire code from the contract (design section 2, "One contract, the .proto").

    python tools/structgen.py gen/guildhall.binpb gen

reads a FileDescriptorSet (protoc --include_imports --include_source_info) and writes under `gen`, for every package
`guildhall.<package>.v1` that has messages, `guildhall/<package>/v1/structs.py`. What breaks a rule of the contract is
named, and nothing is written (exit 1).

Of a message that is called `Command` or `Event` and is one oneof, the struct is the member itself; the module gets
`encode_command`, `decode_command` and the tables that tell the members apart. Messages that contain messages of
`google.*` are API envelopes: they are left to the protobuf runtime.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

PACKAGE = re.compile(r"guildhall\.[a-z][a-z0-9_]*\.v[0-9]+")
KERNEL = "guildhall.kernel.v1"

KINDS = {
    FieldDescriptorProto.TYPE_UINT32: "uint32",
    FieldDescriptorProto.TYPE_UINT64: "uint64",
    FieldDescriptorProto.TYPE_INT32: "int32",
    FieldDescriptorProto.TYPE_INT64: "int64",
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_ENUM: "enum",
    FieldDescriptorProto.TYPE_STRING: "string",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_MESSAGE: "message",
}
NUMBERS = ("uint32", "uint64", "int32", "int64", "bool", "enum")  # varints on the wire
PYTHON_TYPES = {"bool": "bool", "string": "str", "bytes": "bytes", "string_pairs": "tuple[str, str]"}  # the rest: int
DEFAULTS = {"bool": "False", "string": '""', "bytes": 'b""'}  # the rest: 0
TOLD_AGAIN = {
    "guildhall.matchmaking.v1.GameTerms": 256,
    "guildhall.matchmaking.v1.Ticket": 4_096,
    "guildhall.matchmaking.v1.EndedTicket": 16_384,
}
"""Messages that others tell again and again as they were: so many of each are kept as they are encoded, but of what a
request says, which can be made up without end, none.
"""
RESERVED = ("int", "bool", "str", "bytes", "tuple")  # as a field's name it would hide the type from the fields after it

# guildhall.kernel.v1.Audience
EVERYONE, SEAT, WITNESSES = 1, 2, 3


class ContractError(Exception):
    """The contract breaks a rule; the message names what and where."""


# --- the contract --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Enum:
    package: str
    full_name: str
    values: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """`Outer_Inner` for a nested enum."""
        return self.full_name.removeprefix(self.package + ".").replace(".", "_")


@dataclass(frozen=True)
class Field:
    name: str
    full_name: str
    number: int
    kind: str  # of KINDS, or string_pairs for a map<string, string>
    repeated: bool
    optional: bool  # declared `optional`
    oneof: str | None
    type_name: str  # full name of its message or enum
    audience: int
    front: bool

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS


@dataclass(frozen=True)
class Message:
    package: str
    full_name: str
    fields: tuple[Field, ...]  # by number
    audience: int

    @property
    def name(self) -> str:
        """`Outer_Inner` for a nested message."""
        return self.full_name.removeprefix(self.package + ".").replace(".", "_")

    @property
    def is_union(self) -> bool:
        """Whether it is the Command or the Event of its package: one oneof, and nothing else."""
        return (
            self.name in ("Command", "Event")
            and len({f.oneof for f in self.fields} - {None}) == 1
            and all(f.oneof for f in self.fields)
        )

    @property
    def codec(self) -> str:
        """What follows `encode_` and `decode_` in the names of its functions."""
        return self.name.lower() if self.is_union else self.name


@dataclass
class Contract:
    """All packages, their types by full name in the order of declaration."""

    messages: dict[str, Message] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)  # messages left to the protobuf runtime
    strict: set[str] = field(default_factory=set)  # messages that commands reach: nothing in them may be missing

    def inside(self, message: Message) -> Iterator[Message]:
        """The message and all that it contains at any depth, but for foreign ones."""
        yield message
        for each in message.fields:
            if each.type_name in self.messages:
                yield from self.inside(self.messages[each.type_name])

    def presence(self, message: Message, each: Field) -> str:
        """The name of the field's `wire.Presence`."""
        if each.repeated:
            return "REPEATED"
        if each.oneof is None and message.full_name in self.strict:
            return "REQUIRED"
        return "OPTIONAL" if each.oneof or each.optional or each.kind == "message" else "IMPLICIT"


def read_contract(data: bytes) -> Contract:
    """The contract in a serialized FileDescriptorSet. Raises ContractError."""
    contract = Contract()
    files, options = _parse(data)
    for file in sorted(files, key=lambda file: str(file.name)):
        if PACKAGE.fullmatch(file.package):
            if file.syntax != "proto3":
                raise ContractError(f"{file.name}: is not proto3")
            _read_comments(contract, file)
            for enum in file.enum_type:
                _read_enum(contract, file.package, file.package, enum)
            for message in file.message_type:
                _read_message(contract, options, file.package, file.package, message)
    for message in contract.messages.values():
        _check_not_recursive(contract, message, ())
    _find_skipped(contract)
    _find_strict(contract)
    for message in contract.messages.values():
        if message.name == "Event" and message.is_union:
            for each in message.fields:
                _check_audiences(contract, contract.messages[each.type_name], message)
    return contract


def _parse(data: bytes) -> tuple[Any, dict[str, Any]]:
    """The files, and the options of audience.proto by name.

    Both come from a pool of their own: options are only read by message classes that know them.
    """
    pool = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    for file in files:
        pool.Add(file)
    try:
        options = {
            name: pool.FindExtensionByName(f"{KERNEL}.{name}") for name in ("event_audience", "audience", "front")
        }
        files_class: Any = message_factory.GetMessageClass(
            pool.FindMessageTypeByName("google.protobuf.FileDescriptorSet")
        )
    except KeyError:  # a contract without audiences
        return files, {}
    return files_class.FromString(data).file, options


def _read_comments(contract: Contract, file: Any) -> None:
    for location in file.source_code_info.location:
        text = str(location.leading_comments or location.trailing_comments).strip()
        name = _name_at(file, list(location.path))
        if text and name:
            contract.comments[name] = "\n".join(line.strip() for line in text.splitlines())


def _name_at(file: Any, path: list[int]) -> str | None:
    """The full name of the message, field, enum or value that a path of SourceCodeInfo leads to; None for the rest."""
    name, here = file.package, file
    while path:
        step = here.DESCRIPTOR.fields_by_number[path[0]].name
        if step not in ("message_type", "nested_type", "enum_type", "field", "value") or len(path) < 2:
            return None
        here = getattr(here, step)[path[1]]
        name = f"{name}.{here.name}"
        path = path[2:]
    return str(name)


def _read_enum(contract: Contract, package: str, scope: str, proto: Any) -> None:
    full_name = f"{scope}.{proto.name}"
    values = tuple((value.name, value.number) for value in proto.value)
    contract.enums[full_name] = Enum(package, full_name, values)


def _read_message(contract: Contract, options: dict[str, Any], package: str, scope: str, proto: Any) -> None:
    full_name = f"{scope}.{proto.name}"
    maps = {f".{full_name}.{nested.name}": nested for nested in proto.nested_type if nested.options.map_entry}
    for enum in proto.enum_type:
        _read_enum(contract, package, full_name, enum)
    for nested in proto.nested_type:
        if not nested.options.map_entry:
            _read_message(contract, options, package, full_name, nested)

    def option(of: Any, name: str) -> int:
        return int(of.options.Extensions[options[name]]) if options else 0

    fields = []
    for each in sorted(proto.field, key=lambda each: int(each.number)):
        where = f"{full_name}.{each.name}"
        if keyword.iskeyword(each.name) or each.name in RESERVED or each.name.startswith("_"):
            raise ContractError(f"{where}: a struct cannot have a field of this name")
        kind = KINDS.get(each.type)
        if each.type_name in maps:
            kind = "string_pairs"
            if any(part.type != FieldDescriptorProto.TYPE_STRING for part in maps[each.type_name].field):
                raise ContractError(f"{where}: is not a map<string, string>, the only map there is a struct for")
        if kind is None:
            raise ContractError(f"{where}: its type is none of {', '.join(KINDS.values())}")
        in_oneof = each.HasField("oneof_index") and not each.proto3_optional
        fields.append(
            Field(
                name=each.name,
                full_name=where,
                number=each.number,
                kind=kind,
                repeated=each.label == FieldDescriptorProto.LABEL_REPEATED,
                optional=each.proto3_optional,
                oneof=proto.oneof_decl[each.oneof_index].name if in_oneof else None,
                type_name=each.type_name.removeprefix("."),
                audience=option(each, "audience"),
                front=bool(option(each, "front")),
            )
        )
    message = Message(package, full_name, tuple(fields), option(proto, "event_audience"))
    contract.messages[full_name] = message
    if message.is_union:
        types = [each.type_name if each.kind == "message" else None for each in fields]
        if None in types or len(set(types)) < len(types):
            raise ContractError(f"{full_name}: its members must be messages, each of another type")


def _check_not_recursive(contract: Contract, message: Message, above: tuple[str, ...]) -> None:
    if message.full_name in above:
        raise ContractError(f"{message.full_name}: contains itself, so its bytes could nest without end")
    for each in message.fields:
        if each.type_name in contract.messages:
            _check_not_recursive(contract, contract.messages[each.type_name], (*above, message.full_name))


def _find_skipped(contract: Contract) -> None:
    for message in contract.messages.values():
        for part in contract.inside(message):
            for each in part.fields:
                if each.kind in ("message", "enum") and each.type_name not in {**contract.messages, **contract.enums}:
                    contract.skipped.add(message.full_name)
                    if message.is_union:
                        raise ContractError(f"{each.full_name}: is in a {message.name}, but there is no struct for it")


def _find_strict(contract: Contract) -> None:
    for command in contract.messages.values():
        if command.name == "Command" and command.is_union:
            members = [contract.messages[each.type_name] for each in command.fields]
            contract.strict.update(part.full_name for member in members for part in contract.inside(member))
    for message in contract.messages.values():
        for each in message.fields if message.full_name in contract.strict else ():
            if each.kind != "message" and not (each.repeated or each.optional or each.oneof):
                raise ContractError(
                    f"{each.full_name}: a singular scalar or enum of a command must be `optional`, "
                    "so that a missing one is refused and never read as 0"
                )


def _check_audiences(contract: Contract, event: Message, union: Message) -> None:
    used = {event.audience, *(each.audience for each in event.fields)}
    for audience, name in ((SEAT, "seat"), (WITNESSES, "witnesses")):
        if audience in used and not any(
            each.name == name and each.kind in ("uint32", "uint64") and not each.repeated for each in event.fields
        ):
            raise ContractError(
                f"{event.full_name}: has an audience that is told by its field uint32 {name}, but no such field"
            )
    for each in event.fields:
        if each.audience > EVERYONE and contract.presence(event, each) == "REQUIRED":
            raise ContractError(f"{each.full_name}: is part of a command too, so it cannot be cleared for others")
    for part in contract.inside(event):
        if part is not event and (part.audience or any(each.audience or each.front for each in part.fields)):
            raise ContractError(
                f"{part.full_name}: is inside {event.full_name} of {union.full_name}; "
                "audiences and fronts are declared on the event's own fields"
            )


# --- the text of a module ------------------------------------------------------------------------------------------


class Module:
    """The text of one package's `structs.py`; `text` puts it together."""

    def __init__(self, contract: Contract, package: str) -> None:
        self.contract = contract
        self.package = package
        self.imports: set[str] = set()  # packages
        self.constants: dict[str, str] = {}  # name -> expression
        self.enums = [enum for enum in contract.enums.values() if enum.package == package]
        self.messages = self._in_order()
        self._kept = {name: most for name, most in TOLD_AGAIN.items() if name.rpartition(".")[0] == package}
        for name in self._kept.keys() - {message.full_name for message in self.messages}:
            raise ContractError(f"{name}: told again and again, but there is no such message")
        names = Counter([*(enum.name for enum in self.enums), *(message.name for message in self.messages)])
        for name, count in names.items():
            if count > 1:
                raise ContractError(f"{package}: two types would be called {name}")

    def _in_order(self) -> list[Message]:
        """The package's messages, each after those that it contains."""
        order: dict[str, Message] = {}

        def add(message: Message) -> None:
            for each in message.fields:
                if each.type_name in self.contract.messages:
                    add(self.contract.messages[each.type_name])
            if message.package == self.package:
                order.setdefault(message.full_name, message)

        for message in self.contract.messages.values():
            if message.package == self.package and message.full_name not in self.contract.skipped:
                add(message)
        return list(order.values())

    def text(self) -> str:
        classes = [line for enum in self.enums for line in ["", "", *self._enum(enum)]]
        codecs: list[str] = []
        for message in self.messages:
            if message.is_union:
                classes += ["", "", *self._union(message)]
                codecs += ["", "", *self._union_tables(message), *self._union_codec(message)]
            else:
                classes += ["", "", *self._struct(message)]
                codecs += ["", "", *self._encoder(message), "", "", *self._decoder(message)]
        constants = [f"{name}: _Final = {text}" for name, text in self.constants.items()]
        head = [
            f'"""Structs and wire code of {self.package}. Written by tools/structgen.py; do not edit."""',
            "",
            "# ruff: noqa",
            "",
            "from collections.abc import Callable as _Callable",
            "from enum import IntEnum as _IntEnum",
            *(["from functools import lru_cache as _lru_cache"] if self._kept else []),
            "from typing import Any as _Any, Final as _Final, TypeAlias as _TypeAlias",
            "",
            "from msgspec import Struct as _Struct",
            "",
            "from guildhall.kernel import wire as _wire",
            *(f"from {package} import structs as {_alias(package)}" for package in sorted(self.imports)),
        ]
        return "\n".join([*head, *classes, "", "", *constants, *codecs, ""])

    def ref(self, of: Message | Enum, pattern: str = "{}") -> str:
        """How this module calls something of a message or enum, with the pattern's `{}` for its name."""
        name = pattern.format(of.codec if isinstance(of, Message) and pattern != "{}" else of.name)
        if of.package == self.package:
            return name
        self.imports.add(of.package)
        return f"{_alias(of.package)}.{name}"

    def message_of(self, each: Field) -> Message:
        return self.contract.messages[each.type_name]

    def element_type(self, each: Field) -> str:
        return self.ref(self.message_of(each)) if each.kind == "message" else PYTHON_TYPES.get(each.kind, "int")

    def type_of(self, each: Field, presence: str) -> str:
        element = self.element_type(each)
        return {"REPEATED": f"tuple[{element}, ...]", "OPTIONAL": f"{element} | None"}.get(presence, element)

    def values(self, each: Field) -> str:
        """The constant with the defined values of the field's enum."""
        enum = self.contract.enums[each.type_name]
        name = f"_VALUES_{self.ref(enum).replace('.', '_')}"
        self.constants[name] = f"frozenset(map(int, {self.ref(enum)}))"
        return name

    def numbers(self, each: Field, presence: str) -> str:
        """The constant with the table that encodes this field's numbers."""
        if each.kind == "enum":
            values = self.values(each)
            name = f"{values.replace('_VALUES_', '_ENUM_')}_{each.number}_{presence}"
            table = f'choices({each.number}, "{self.contract.enums[each.type_name].name}", {values}'
        else:
            name = f"_{each.kind.upper()}_{each.number}_{presence}"
            table = f'numbers({each.number}, "{each.kind}"'
        self.constants[name] = f"_wire.{table}, _wire.Presence.{presence})"
        return name

    def lengths(self, each: Field, presence: str) -> str:
        """The constant with the table of this field's tags and lengths; with IMPLICIT, nothing stands for length 0."""
        name = f"_LENGTH_{each.number}_IMPLICIT" if presence == "IMPLICIT" else f"_LENGTH_{each.number}"
        presence = "IMPLICIT" if presence == "IMPLICIT" else "REQUIRED"
        self.constants[name] = f"_wire.lengths({each.number}, _wire.Presence.{presence})"
        return name

    # classes

    def _enum(self, enum: Enum) -> list[str]:
        prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.full_name.rpartition(".")[2]).upper() + "_"
        short = {name: name.removeprefix(prefix) for name, _ in enum.values}
        if not all(name.isidentifier() and not keyword.iskeyword(name) for name in short.values()):
            short = {name: name for name, _ in enum.values}
        lines = [f"class {enum.name}(_IntEnum):", *self._docstring(enum.full_name), ""]
        for name, number in enum.values:
            lines += [*self._comment(f"{enum.full_name}.{name}", "    "), f"    {short[name]} = {number}"]
        return lines

    def _struct(self, message: Message) -> list[str]:
        lines = [f"class {message.name}(_Struct, frozen=True, array_like=True, tag=True, gc=False):"]
        lines += [*self._docstring(message.full_name), *([""] if message.fields else [])]
        presences = [self.contract.presence(message, each) for each in message.fields]
        for i, (each, presence) in enumerate(zip(message.fields, presences, strict=True)):
            # A field may not have a default before one that has none.
            default = "" if "REQUIRED" in presences[i:] else f" = {_default(each, presence)}"
            enum = f"  # {self.ref(self.contract.enums[each.type_name])}" if each.kind == "enum" else ""
            lines += [
                *self._comment(each.full_name, "    "),
                f"    {each.name}: {self.type_of(each, presence)}{default}{enum}",
            ]
        return lines

    def _union(self, union: Message) -> list[str]:
        members = " | ".join(self.ref(self.message_of(each)) for each in union.fields)
        return [*self._comment(union.full_name, ""), f"{union.name}: _TypeAlias = {members}"]

    def _docstring(self, full_name: str) -> list[str]:
        text = self.contract.comments.get(full_name, f"{full_name}.").replace("\\", "\\\\").replace('"', '\\"')
        return [f"    {line}".rstrip() for line in f'"""{text}"""'.splitlines()]

    def _comment(self, full_name: str, indent: str) -> list[str]:
        return [f"{indent}# {line}".rstrip() for line in self.contract.comments.get(full_name, "").splitlines()]

    # encoders

    def _encoder(self, message: Message) -> list[str]:
        lines: list[str] = []
        parts: list[str] = []
        for oneof, members in _oneofs(message).items():
            lines += [
                f"    if {' + '.join(f'(m.{each.name} is not None)' for each in members)} > 1:",
                f'        raise _wire.WireError("more than one member of {oneof} is set")',
            ]
        for each in message.fields:
            presence = self.contract.presence(message, each)
            more, part = self._encode_field(each, presence, asked=message.name.endswith("Request"))
            lines += [f"    {line}" for line in more]
            parts.append(part)
        kept = self._kept.get(message.full_name)
        if not parts:
            return [f"def encode_{message.name}(m: {message.name}) -> bytes:", '    return b""']
        # Measured: up to about four parts, + is quicker than join.
        result = " + ".join(parts) if len(parts) <= 4 else f'b"".join(({", ".join(parts)}))'
        return [
            f"def encode_{message.name}(m: {message.name}) -> bytes:",
            *lines,
            f"    return {result}",
            *(
                []
                if kept is None
                else ["", "", f"_kept_{message.name} = _lru_cache(maxsize={kept})(encode_{message.name})"]
            ),
        ]

    def _encode_field(self, each: Field, presence: str, *, asked: bool) -> tuple[list[str], str]:
        """Statements that prepare the field's bytes, and the expression for them."""
        value, local = f"m.{each.name}", f"f{each.number}"
        if each.kind == "string_pairs":
            return [], f'(_wire.string_pairs({each.number}, {value}) if {value} else b"")'
        if each.is_number and not each.repeated:
            return [], f"{self.numbers(each, presence)}[{value}]"
        length = self.lengths(each, presence)
        if each.is_number:
            packed = f'packed("{each.kind}", {value}' + (f", {self.values(each)})" if each.kind == "enum" else ")")
            if each.kind == "uint32":
                packed = f"packed_uint32({value})"
            return _if_present(local, value, f"_wire.{packed}", length), local
        kept = not asked and each.kind == "message" and each.type_name in self._kept
        codec = "_kept_{}" if kept else "encode_{}"
        encode = {"string": "{}.encode()", "bytes": "{}"}.get(each.kind) or self.ref(self.message_of(each), codec)
        encode = encode if "{}" in encode else encode + "({})"
        if each.repeated:
            # Measured: a loop is quicker than a comprehension, which is a call of its own.
            encoded, parts = ("item" if encode == "{}" else f"b{each.number}"), f"p{each.number}"
            return [
                f'{local} = b""',
                f"if {value}:",
                f"    {parts}: list[bytes] = []",
                f"    for item in {value}:",
                *([] if encoded == "item" else [f"        {encoded} = {encode.format('item')}"]),
                f"        {parts} += ({length}[len({encoded})], {encoded})",
                f'    {local} = b"".join({parts})',
            ], local
        if presence == "OPTIONAL":
            return _if_present(local, f"{value} is not None", encode.format(value), length), local
        return [f"{local} = {encode.format(value)}"], f"{length}[len({local})] + {local}"

    # decoders

    def _decoder(self, message: Message) -> list[str]:
        name = message.name
        strict = f"return MESSAGE_{name}.decode(b)"
        presences = [self.contract.presence(message, each) for each in message.fields]
        lines = [
            f"MESSAGE_{name}: _Final = _wire.Message(",
            f'    "{name}",',
            f"    {name},",
            "    (",
            *(
                f"        {self._field(each, presence)},"
                for each, presence in zip(message.fields, presences, strict=True)
            ),
            "    ),",
            ")",
            "",
            "",
            f"def decode_{name}(b: bytes) -> {name}:",
        ]
        if not message.fields:
            return [*lines, "    if not b:", f"        return {name}()", f"    {strict}"]
        # Two zeros are no tag and no end of a longer varint, so nothing has to ask whether the bytes are at their end.
        lines += ["    n = len(b)", '    d = b + b"\\0\\0"', "    i = 0", "    try:"]
        for each, presence in zip(message.fields, presences, strict=True):
            lines += [f"        {line}" for line in self._decode_field(each, presence, strict)]
        sound = ["i == n"]
        for members in _oneofs(message).values():
            sound.append(f"{' + '.join(f'(f{each.number} is not None)' for each in members)} <= 1")
        arguments = ", ".join(f"f{each.number}" for each in message.fields)
        lines += [f"        if {' and '.join(sound)}:", f"            return {name}({arguments})"]
        return [*lines, "    except (IndexError, ValueError):", "        pass", f"    {strict}"]

    def _decode_field(self, each: Field, presence: str, strict: str) -> list[str]:
        """Statements that read the field if it is at d[i] in canonical form, and move i behind it."""
        local = f"f{each.number}"
        tag = _varint(each.number << 3 | (0 if each.is_number and not each.repeated else 2))
        tests = [f"d[i + {n}] == {byte}" if n else f"d[i] == {byte}" for n, byte in enumerate(tag)]
        here = " and ".join(tests)
        if presence == "REQUIRED":
            return [f"if not ({here}):", f"    {strict}", *self._decode_value(each, len(tag), local)]
        lines = [f"{local}: {self.type_of(each, presence)} = {_default(each, presence)}", f"if {here}:"]
        if each.repeated and not each.is_number:
            items, item = f"items{each.number}", f"item{each.number}"
            value, more = f"tuple({items})", here
            if each.kind == "string_pairs":
                # Whatever comes behind the last one is no next field, so it is `strict` that refuses it.
                value, more = f"_wire.sorted_pairs({items})", f"{here} and len({items}) < _wire.MOST_PAIRS"
            return [
                *lines,
                f"    {items}: list[{self.element_type(each)}] = []",
                f"    while {more}:",
                *(f"        {line}" for line in self._decode_value(each, len(tag), item)),
                f"        {items}.append({item})",
                f"    {local} = {value}",
            ]
        return [*lines, *(f"    {line}" for line in self._decode_value(each, len(tag), local))]

    def _decode_value(self, each: Field, tag_size: int, local: str) -> list[str]:
        if each.is_number and not each.repeated:
            if each.kind == "bool":
                value = f"d[i + {tag_size}]"
                return [f"if {value} > 1:", "    raise ValueError", f"{local} = {value} == 1", f"i += {tag_size + 1}"]
            lines = _read_varint(local, tag_size, "int32" if each.kind == "enum" else each.kind)
            if each.kind == "enum":
                lines += [f"if {local} not in {self.values(each)}:", "    raise ValueError"]
            return lines
        end, content = f"e{each.number}", f"d[i:e{each.number}]"
        lines = [*_read_varint(end, tag_size, "uint64"), f"{end} += i"]
        if each.kind in ("bool", "enum"):
            values = f", {self.values(each)}" if each.kind == "enum" else ""
            value = f'_wire.read_packed("{each.kind}", {content}{values})'
        elif each.is_number:
            part = f"p{each.number}"
            lines.append(f"{part} = {content}")
            value = f'tuple({part}) if {part}.isascii() else _wire.read_packed("{each.kind}", {part})'
        elif each.kind == "message":
            value = f"{self.ref(self.message_of(each), 'decode_{}')}({content})"
        else:
            simple = {"string": "{}.decode()", "bytes": "{}", "string_pairs": "_wire.string_pair({})"}
            value = simple[each.kind].format(content)
        return [*lines, f"{local} = {value}", f"i = {end}"]

    def _field(self, each: Field, presence: str) -> str:
        """The field as `wire.Message` takes it."""
        parts = [
            str(each.number),
            f'"{each.name}"',
            f'"{each.kind}"',
            f"_wire.Presence.{presence}",
            _default(each, presence),
        ]
        if each.kind == "enum":
            parts.append(f"allowed={self.values(each)}")
        if each.kind == "message":
            message = self.message_of(each)
            parts.append(f"message={self.ref(message, f'MESSAGE_{message.name}')}")
        if each.oneof:
            parts.append(f'oneof="{each.oneof}"')
        return f"_wire.Field({', '.join(parts)})"

    # Command and Event

    def _union_tables(self, union: Message) -> list[str]:
        members = [(each, self.message_of(each), self.ref(self.message_of(each))) for each in union.fields]
        upper, name = union.name.upper(), union.name
        lines = [
            f"{upper}_TYPES: _Final[dict[str, type[{name}]]] = {{",
            *(f'    "{each.name}": {struct},' for each, _, struct in members),
            "}",
            f"{upper}_NAMES: _Final[dict[type[{name}], str]] = {{",
            *(f'    {struct}: "{each.name}",' for each, _, struct in members),
            "}",
        ]
        if union.name == "Event":
            lines += [
                f"AUDIENCE: _Final[dict[type[{name}], _wire.EventAudience]] = {{",
                *(f"    {struct}: {self._audience(event)}," for _, event, struct in members),
                "}",
                f"FRONTS: _Final[dict[type[{name}], tuple[str, ...]]] = {{",
                *(f"    {struct}: {tuple(f.name for f in event.fields if f.front)!r}," for _, event, struct in members),
                "}",
            ]
        return [
            *lines,
            f"MESSAGE_{name}: _Final = _wire.Message[{name}](",
            f'    "{name}",',
            f'    _wire.only_one("{name}"),',
            "    (",
            *(f"        {self._field(each, 'OPTIONAL')}," for each, _, _ in members),
            "    ),",
            ")",
            f"_{upper}_ENCODERS: _Final[dict[type, tuple[_Callable[[_Any], bytes], _wire.Numbers]]] = {{",
            *(
                f"    {struct}: ({self.ref(message, 'encode_{}')}, {self.lengths(each, 'OPTIONAL')}),"
                for each, message, struct in members
            ),
            "}",
            "# By the bytes of the tag, little-endian.",
            f"_{upper}_DECODERS: _Final[dict[int, _Callable[[bytes], {name}]]] = {{",
            *(
                f"    {int.from_bytes(_varint(each.number << 3 | 2), 'little')}: {self.ref(message, 'decode_{}')},"
                for each, message, _ in members
            ),
            "}",
            "",
            "",
        ]

    def _audience(self, event: Message) -> str:
        fields = ""
        for each in event.fields:
            if each.audience > EVERYONE:
                default = _default(each, self.contract.presence(event, each))
                fields += f'_wire.FieldAudience("{each.name}", {each.audience}, {default}), '
        return f"_wire.EventAudience({event.audience or EVERYONE}, ({fields}))"

    def _union_codec(self, union: Message) -> list[str]:
        text = UNION_CODEC.format(name=union.name, lower=union.name.lower(), upper=union.name.upper())
        return text.strip().splitlines()


UNION_CODEC = """
def encode_{lower}({lower}: {name}) -> bytes:
    try:
        encode, length = _{upper}_ENCODERS[type({lower})]
    except KeyError:
        raise _wire.WireError(f"{{type({lower}).__name__}} is no {name}") from None
    body = encode({lower})
    return length[len(body)] + body


def decode_{lower}(b: bytes) -> {name}:
    try:
        tag = b[0]
        i = 1
        if tag > 127:
            tag += b[1] << 8
            i = 2
        size = b[i]
        if size < 128:
            i += 1
        else:
            size, i = _wire.read_uint64(b, i)
        if i + size == len(b):
            return _{upper}_DECODERS[tag](b[i:])
    except (LookupError, ValueError):
        pass
    return MESSAGE_{name}.decode(b)
"""


def _oneofs(message: Message) -> dict[str, list[Field]]:
    """The members of each oneof that has several."""
    members: dict[str, list[Field]] = {}
    for each in message.fields:
        if each.oneof:
            members.setdefault(each.oneof, []).append(each)
    return {oneof: fields for oneof, fields in members.items() if len(fields) > 1}


def _default(each: Field, presence: str) -> str:
    """What the struct holds when the field is not on the wire; a REQUIRED one has nothing to say here."""
    if presence == "IMPLICIT":
        return DEFAULTS.get(each.kind, "0")
    return "()" if presence == "REPEATED" else "None"


def _if_present(local: str, condition: str, content: str, length: str) -> list[str]:
    return [
        f'{local} = b""',
        f"if {condition}:",
        f"    {local} = {content}",
        f"    {local} = {length}[len({local})] + {local}",
    ]


def _read_varint(local: str, tag_size: int, reader: str) -> list[str]:
    return [
        f"{local} = d[i + {tag_size}]",
        f"if {local} < 128:",
        f"    i += {tag_size + 1}",
        "else:",
        f"    {local}, i = _wire.read_{reader}(d, i + {tag_size})",
    ]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _alias(package: str) -> str:
    """`kernel_v1` for `guildhall.kernel.v1`."""
    return package.removeprefix("guildhall.").replace(".", "_")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: structgen.py DESCRIPTOR_SET OUT_DIR", file=sys.stderr)
        return 2
    try:
        contract = read_contract(Path(arguments[0]).read_bytes())
        packages = sorted({message.package for message in contract.messages.values()})
        modules = [Module(contract, package) for package in packages]
        texts = {module.package: module.text() for module in modules if module.messages}
    except ContractError as error:
        print(f"structgen: {error}", file=sys.stderr)
        return 1
    for package, text in texts.items():
        path = Path(arguments[1], *package.split("."), "structs.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
