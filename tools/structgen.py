"""Writes frozen Structs with their wire code for the packages of the contract (design section 2, "One contract, the .proto").

    python tools/structgen.py gen/guildhall.binpb gen

reads a FileDescriptorSet (protoc --include_imports --include_source_info) and writes `guildhall/<package>/v1/structs.py` under `gen` for every
package `guildhall.<package>.v1` that has messages. What breaks a rule of the contract is named, and nothing is written (exit 1).

Of a message that is called `Command` or `Event` and is one oneof, the struct is the member itself; the module gets
`encode_command`, `decode_command` and the tables that tell the members apart. Messages that contain `google.*` messages are API
envelopes: they are left to the protobuf runtime.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

PACKAGE = re.compile(r"guildhall\.[a-z][a-z0-9_]*\.v[0-9]+")
KERNEL = "guildhall.kernel.v1"
UNIONS = ("Command", "Event")

SCALARS = {
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_MESSAGE: "message",
}
PYTHON_TYPES = {"bool": "bool", "string": "str", "bytes": "bytes"}  # all other scalars are int
DEFAULTS = {"bool": "False", "string": '""', "bytes": 'b""'}  # all others are 0
NUMBERS = ("uint32", "uint64", "int32", "int64", "bool", "enum")

# Values of guildhall.kernel.v1.Audience.
EVERYONE, SEAT, WITNESSES = 1, 2, 3


class ContractError(Exception):
    """The contract breaks a rule; the message names what and where."""


# --- reading the descriptors ---------------------------------------------------------------------------------------


@dataclass
class Contract:
    """The descriptors, and what must be known of all packages before one of them is written."""

    packages: dict[str, list[Descriptor]] = field(default_factory=dict)  # messages without map entries, as declared
    enums: dict[str, list[EnumDescriptor]] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)  # by full name
    optional: set[str] = field(default_factory=set)  # full names of fields declared `optional`
    skipped: set[str] = field(default_factory=set)  # full names of messages left to the protobuf runtime
    strict: set[str] = field(default_factory=set)  # full names of messages that commands reach: nothing may be missing
    options: dict[str, dict[str, int]] = field(default_factory=dict)  # by full name: event_audience, audience, front


def read_contract(data: bytes) -> Contract:
    """The contract in a serialized FileDescriptorSet. Raises ContractError."""
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)  # type: ignore[no-untyped-call]  # the stubs have no type for it
    contract = Contract()
    for file in sorted(files, key=lambda file: file.name):
        if not PACKAGE.fullmatch(file.package):
            continue
        if file.syntax != "proto3":
            raise ContractError(f"{file.name}: only proto3 is supported")
        descriptor = pool.FindFileByName(file.name)
        messages = contract.packages.setdefault(file.package, [])
        enums = contract.enums.setdefault(file.package, [])
        enums += descriptor.enum_types_by_name.values()
        for top in descriptor.message_types_by_name.values():
            for message in _with_nested(top):
                messages.append(message)
                enums += message.enum_types
        _read_comments(contract, file)
        for proto in file.message_type:
            _read_optional(contract, f"{file.package}.{proto.name}", proto)
    _read_options(contract, pool)
    for messages in contract.packages.values():
        for message in messages:
            _check_names(message)
            _check_not_recursive(message, ())
    _find_skipped(contract)
    _find_strict(contract)
    return contract


def _with_nested(message: Descriptor) -> Iterator[Descriptor]:
    if not message.GetOptions().map_entry:
        yield message
        for nested in message.nested_types:
            yield from _with_nested(nested)


def _read_comments(contract: Contract, file: descriptor_pb2.FileDescriptorProto) -> None:
    for location in file.source_code_info.location:
        text = location.leading_comments or location.trailing_comments
        name = _name_at(file, list(location.path))
        if text.strip() and name:
            contract.comments[name] = "\n".join(line.strip() for line in text.strip().splitlines())


def _name_at(file: descriptor_pb2.FileDescriptorProto, path: list[int]) -> str | None:
    """The full name of the message, field, enum or enum value that a path of SourceCodeInfo leads to."""
    name, here = file.package, file
    while path:
        number, *path = path
        if number not in here.DESCRIPTOR.fields_by_number or not path:
            return None
        child, *path = path
        step = here.DESCRIPTOR.fields_by_number[number].name
        if step not in ("message_type", "nested_type", "enum_type", "field", "value"):
            return None
        here = getattr(here, step)[child]
        name = f"{name}.{here.name}"
    return name


def _read_optional(contract: Contract, name: str, message: descriptor_pb2.DescriptorProto) -> None:
    contract.optional.update(f"{name}.{field.name}" for field in message.field if field.proto3_optional)
    for nested in message.nested_type:
        _read_optional(contract, f"{name}.{nested.name}", nested)


def _read_options(contract: Contract, pool: descriptor_pool.DescriptorPool) -> None:
    """Reads the options of audience.proto, through classes of this pool: the default pool does not know them."""
    try:
        event_audience, audience, front = (
            pool.FindExtensionByName(f"{KERNEL}.{name}") for name in ("event_audience", "audience", "front")
        )
    except KeyError:  # a contract without audiences
        return
    message_options, field_options = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.protobuf.{name}"))
        for name in ("MessageOptions", "FieldOptions")
    )

    def read(kind: Any, options: Any, extensions: Iterable[FieldDescriptor]) -> dict[str, int]:
        parsed = kind.FromString(options.SerializeToString())
        return {extension.name: int(parsed.Extensions[extension]) for extension in extensions if parsed.Extensions[extension]}

    for messages in contract.packages.values():
        for message in messages:
            contract.options[message.full_name] = read(message_options, message.GetOptions(), [event_audience])
            for each in message.fields:
                contract.options[each.full_name] = read(field_options, each.GetOptions(), [audience, front])


def is_union(message: Descriptor) -> bool:
    """Whether the message is the Command or Event of its package: one oneof of messages, and nothing else."""
    return (
        message.name in UNIONS
        and message.containing_type is None
        and len(message.oneofs) == 1
        and len(message.fields) > 0
        and all(each.containing_oneof is not None for each in message.fields)
    )


def is_map(each: FieldDescriptor) -> bool:
    return each.message_type is not None and bool(each.message_type.GetOptions().map_entry)


def _check_names(message: Descriptor) -> None:
    if is_union(message):
        members = [each.message_type for each in message.fields]
        if None in members:
            raise ContractError(f"{message.full_name}: every member must be a message")
        if len({member.full_name for member in members}) != len(members):
            raise ContractError(f"{message.full_name}: two members of the same type")
    for each in message.fields:
        if keyword.iskeyword(each.name) or each.name in ("int", "bool", "str", "bytes", "tuple") or each.name.startswith("_"):
            raise ContractError(f"{each.full_name}: no struct can have a field of this name")


def _check_not_recursive(message: Descriptor, above: tuple[str, ...]) -> None:
    if message.full_name in above:
        raise ContractError(f"{message.full_name}: contains itself, so its bytes could nest without end")
    for each in message.fields:
        if each.message_type is not None and PACKAGE.fullmatch(each.message_type.file.package):
            _check_not_recursive(each.message_type, (*above, message.full_name))


def reached(message: Descriptor) -> Iterator[Descriptor]:
    """The message and all that it contains, at any depth."""
    yield message
    for each in message.fields:
        if each.message_type is not None and not is_map(each):
            yield from reached(each.message_type)


def _find_skipped(contract: Contract) -> None:
    for messages in contract.packages.values():
        for message in messages:
            foreign = [m.full_name for m in reached(message) if not PACKAGE.fullmatch(m.file.package)]
            if foreign and is_union(message):
                raise ContractError(f"{message.full_name}: contains {foreign[0]}, of which there is no struct")
            if foreign:
                contract.skipped.add(message.full_name)


def _find_strict(contract: Contract) -> None:
    for messages in contract.packages.values():
        for command in messages:
            if command.name == "Command" and is_union(command):
                for member in command.fields:
                    contract.strict.update(message.full_name for message in reached(member.message_type))
    for messages in contract.packages.values():
        for message in messages:
            if message.full_name in contract.strict:
                for each in message.fields:
                    plain = each.message_type is None and not each.is_repeated and each.containing_oneof is None
                    if plain:
                        raise ContractError(
                            f"{each.full_name}: a singular scalar or enum of a command must be `optional`, so that a missing one "
                            "can be told from 0 and refused"
                        )


# --- writing a module ----------------------------------------------------------------------------------------------


def flat_name(descriptor: Descriptor | EnumDescriptor) -> str:
    """`Outer_Inner` for a nested message or enum."""
    return descriptor.full_name.removeprefix(descriptor.file.package + ".").replace(".", "_")


def kind_of(each: FieldDescriptor) -> str:
    if is_map(each):
        key, value = each.message_type.fields_by_name["key"], each.message_type.fields_by_name["value"]
        if {key.type, value.type} != {FieldDescriptor.TYPE_STRING}:
            raise ContractError(f"{each.full_name}: the only maps are map<string, string>")
        return "string_pairs"
    if each.type not in SCALARS:
        raise ContractError(f"{each.full_name}: its type is not supported; the scalars are {', '.join(NUMBERS)}, string, bytes")
    return SCALARS[each.type]


class Module:
    """The text of one package's `structs.py`, put together."""

    def __init__(self, contract: Contract, package: str) -> None:
        self.contract = contract
        self.package = package
        self.imports: set[str] = set()  # packages
        self.constants: dict[str, str] = {}  # name -> expression
        self.messages = self._in_order()
        self.enums = contract.enums[package]
        names = [flat_name(each) for each in [*self.messages, *self.enums]]
        for name in names:
            if names.count(name) > 1:
                raise ContractError(f"{package}: two types would be called {name}")

    def _in_order(self) -> list[Descriptor]:
        """The package's messages, each after those that it contains."""
        order: dict[str, Descriptor] = {}
        for message in self.contract.packages[self.package]:
            if message.full_name not in self.contract.skipped:
                for part in reversed(list(reached(message))):
                    if part.file.package == self.package:
                        order.setdefault(part.full_name, part)
        return list(order.values())

    def text(self) -> str:
        classes = [line for enum in self.enums for line in ["", "", *self._enum(enum)]]
        codecs: list[str] = []
        for message in self.messages:
            if is_union(message):
                classes += ["", "", *self._union(message)]
                codecs += ["", "", *self._union_codec(message)]
            else:
                classes += ["", "", *self._struct(message)]
                codecs += ["", "", *self._encoder(message), "", "", *self._decoder(message)]
        constants = ["", "", *(f"{name}: _Final = {text}" for name, text in self.constants.items())] if self.constants else []
        head = [
            f'"""Structs and wire code of the package {self.package}. Written by structgen from the `.proto`; do not edit."""',
            "",
            "# ruff: noqa",
            "",
            "from collections.abc import Callable as _Callable",
            "from enum import IntEnum as _IntEnum",
            "from typing import Any as _Any, Final as _Final, TypeAlias as _TypeAlias",
            "",
            "from msgspec import Struct as _Struct",
            "",
            "from guildhall.kernel import wire as _wire",
            *(f"from {package} import structs as {module_alias(package)}" for package in sorted(self.imports)),
        ]
        return "\n".join([*head, *classes, *constants, *codecs, ""])

    # names of things that may live in another package's module

    def ref(self, descriptor: Descriptor | EnumDescriptor, pattern: str = "{}") -> str:
        """How this module calls something of a message or enum, with the pattern's `{}` for its name."""
        name = pattern.format(flat_name(descriptor))
        if descriptor.file.package == self.package:
            return name
        self.imports.add(descriptor.file.package)
        return f"{module_alias(descriptor.file.package)}.{name}"

    def encoder_of(self, message: Descriptor) -> str:
        return self.ref(message, f"encode_{message.name.lower()}" if is_union(message) else "encode_{}")

    def decoder_of(self, message: Descriptor) -> str:
        return self.ref(message, f"decode_{message.name.lower()}" if is_union(message) else "decode_{}")

    # what a field is

    def presence(self, each: FieldDescriptor) -> str:
        if each.is_repeated:
            return "REPEATED"
        if self.oneof(each) is not None:
            return "OPTIONAL"
        if each.containing_type.full_name in self.contract.strict:
            return "REQUIRED"
        if each.message_type is not None or each.full_name in self.contract.optional:
            return "OPTIONAL"
        return "IMPLICIT"

    def oneof(self, each: FieldDescriptor) -> str | None:
        """The oneof that the field was declared in (that of an `optional` field is only the descriptor's)."""
        if each.containing_oneof is None or each.full_name in self.contract.optional:
            return None
        return str(each.containing_oneof.name)

    def element_type(self, each: FieldDescriptor) -> str:
        kind = kind_of(each)
        if kind == "string_pairs":
            return "tuple[str, str]"
        return self.ref(each.message_type) if kind == "message" else PYTHON_TYPES.get(kind, "int")

    def type_of(self, each: FieldDescriptor) -> str:
        element, presence = self.element_type(each), self.presence(each)
        return {"REPEATED": f"tuple[{element}, ...]", "OPTIONAL": f"{element} | None"}.get(presence, element)

    def default(self, each: FieldDescriptor) -> str:
        presence = self.presence(each)
        return {"REPEATED": "()", "OPTIONAL": "None", "REQUIRED": "None"}.get(presence) or DEFAULTS.get(kind_of(each), "0")

    def allowed(self, each: FieldDescriptor) -> str:
        """The constant with the defined values of the field's enum."""
        name = f"_VALUES_{each.enum_type.full_name.replace('.', '_')}"
        if each.enum_type.file.package == self.package:
            name = f"_VALUES_{flat_name(each.enum_type)}"
        self.constants[name] = f"frozenset(map(int, {self.ref(each.enum_type)}))"
        return name

    def numbers(self, each: FieldDescriptor) -> str:
        """The constant with the table that encodes this field's numbers."""
        kind, presence = kind_of(each), self.presence(each)
        if kind == "enum":
            allowed = self.allowed(each)
            name = f"{allowed.replace('_VALUES_', '_NUMBERS_')}_{each.number}_{presence}"
            enum = flat_name(each.enum_type)
            self.constants[name] = f'_wire.choices({each.number}, "{enum}", {allowed}, _wire.Presence.{presence})'
            return name
        name = f"_{kind.upper()}_{each.number}_{presence}"
        self.constants[name] = f'_wire.numbers({each.number}, "{kind}", _wire.Presence.{presence})'
        return name

    def lengths(self, each: FieldDescriptor, presence: str) -> str:
        """The constant with the table of tags and lengths; only IMPLICIT leaves out what is empty."""
        presence = "IMPLICIT" if presence == "IMPLICIT" else "REQUIRED"
        name = f"_LENGTH_{each.number}" + ("_IMPLICIT" if presence == "IMPLICIT" else "")
        self.constants[name] = f"_wire.lengths({each.number}, _wire.Presence.{presence})"
        return name

    # enums and classes

    def _enum(self, enum: EnumDescriptor) -> list[str]:
        prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
        names = {value.name: value.name.removeprefix(prefix) for value in enum.values}
        if not all(short.isidentifier() and not keyword.iskeyword(short) for short in names.values()):
            names = {name: name for name in names}
        lines = [f"class {flat_name(enum)}(_IntEnum):", *_docstring(self._comment(enum.full_name) or f"The enum {enum.full_name}."), ""]
        for value in enum.values:
            lines += [*_comment_lines(self._comment(f"{enum.full_name}.{value.name}")), f"    {names[value.name]} = {value.number}"]
        return lines

    def _struct(self, message: Descriptor) -> list[str]:
        lines = [f"class {flat_name(message)}(_Struct, frozen=True, array_like=True, tag=True, gc=False):"]
        lines += _docstring(self._comment(message.full_name) or f"The message {message.full_name}.")
        fields = _by_number(message)
        required = [each.number for each in fields if self.presence(each) == "REQUIRED"]
        if fields:
            lines.append("")
        for each in fields:
            lines += _comment_lines(self._comment(each.full_name))
            # A default may not stand before a field that has none.
            default = f" = {self.default(each)}" if not required or each.number > required[-1] else ""
            enum = f"  # {self.ref(each.enum_type)}" if kind_of(each) == "enum" else ""
            lines.append(f"    {each.name}: {self.type_of(each)}{default}{enum}")
        return lines

    def _comment(self, name: str) -> str:
        return self.contract.comments.get(name, "")

    def _union(self, union: Descriptor) -> list[str]:
        members = [self.ref(each.message_type) for each in _by_number(union)]
        return [*_comment_lines(self._comment(union.full_name), ""), f"{union.name}: _TypeAlias = {' | '.join(members)}"]

    # codecs

    def _encoder(self, message: Descriptor) -> list[str]:
        name = flat_name(message)
        lines: list[str] = []
        parts: list[str] = []
        for oneof in dict.fromkeys(o for o in map(self.oneof, _by_number(message)) if o):
            members = [each for each in message.fields if self.oneof(each) == oneof]
            if len(members) > 1:
                count = " + ".join(f"(m.{each.name} is not None)" for each in members)
                lines += [f"    if {count} > 1:", f'        raise _wire.WireError("more than one member of {oneof} is set")']
        for each in _by_number(message):
            more, part = self._encode_field(each)
            lines += [f"    {line}" for line in more]
            parts.append(part)
        if not parts:
            result = 'b""'
        elif len(parts) <= 4:
            result = " + ".join(parts)
        else:
            result = f'b"".join(({", ".join(parts)}))'
        return [f"def encode_{name}(m: {name}) -> bytes:", *lines, f"    return {result}"]

    def _encode_field(self, each: FieldDescriptor) -> tuple[list[str], str]:
        """Statements that prepare a field's bytes, and the expression for them."""
        kind, presence, value, local = kind_of(each), self.presence(each), f"m.{each.name}", f"f{each.number}"
        if kind == "string_pairs":
            return [], f'(_wire.string_pairs({each.number}, {value}) if {value} else b"")'
        if kind in NUMBERS and presence != "REPEATED":
            return [], f"{self.numbers(each)}[{value}]"
        length = self.lengths(each, presence)
        if presence == "REPEATED" and kind in NUMBERS:
            packed = f"_wire.packed_uint32({value})" if kind == "uint32" else f'_wire.packed("{kind}", {value})'
            if kind == "enum":
                packed = f'_wire.packed("enum", {value}, {self.allowed(each)})'
            lines = [f'{local} = b""', f"if {value}:", f"    {local} = {packed}", f"    {local} = {length}[len({local})] + {local}"]
            return lines, local
        if kind == "message":
            encode = self.encoder_of(each.message_type) + "({})"
        else:
            encode = "{}.encode()" if kind == "string" else "{}"
        if presence == "REPEATED":
            items = value if kind == "bytes" else f"[{encode.format('item')} for item in {value}]"
            joined = f'b"".join([{length}[len(item)] + item for item in {items}])'
            return [f'{local} = {joined} if {value} else b""'], local
        if presence == "OPTIONAL":
            lines = [f'{local} = b""', f"if {value} is not None:", f"    {local} = {encode.format(value)}"]
            return [*lines, f"    {local} = {length}[len({local})] + {local}"], local
        return [f"{local} = {encode.format(value)}"], f"{length}[len({local})] + {local}"

    def _decoder(self, message: Descriptor) -> list[str]:
        name, fields = flat_name(message), _by_number(message)
        described = "".join(f"\n        {self._field(each)}," for each in fields)
        lines = [
            f"MESSAGE_{name}: _Final = _wire.Message(",
            f'    "{name}",',
            f"    {name},",
            f"    ({described}\n    )," if fields else "    (),",
            ")",
            "",
            "",
            f"def decode_{name}(b: bytes) -> {name}:",
        ]
        strict = f"return MESSAGE_{name}.decode(b)"
        if not fields:
            return [*lines, "    if not b:", f"        return {name}()", f"    {strict}"]
        lines += ["    n = len(b)", '    d = b + b"\\0\\0"', "    i = 0", "    try:"]
        for each in fields:
            lines += [f"        {line}" for line in self._decode_field(each, strict)]
        sound = ["i == n"]
        for oneof in dict.fromkeys(o for o in map(self.oneof, fields) if o):
            members = [f"(f{each.number} is not None)" for each in fields if self.oneof(each) == oneof]
            if len(members) > 1:
                sound.append(f"{' + '.join(members)} <= 1")
        arguments = ", ".join(f"f{each.number}" for each in fields)
        lines += [f"        if {' and '.join(sound)}:", f"            return {name}({arguments})"]
        return [*lines, "    except (IndexError, ValueError):", "        pass", f"    {strict}"]

    def _decode_field(self, each: FieldDescriptor, strict: str) -> list[str]:
        """Statements that read the field at d[i] if it is there, in canonical form, and move i behind it."""
        kind, presence, local = kind_of(each), self.presence(each), f"f{each.number}"
        is_number = kind in NUMBERS
        tag = _varint(each.number << 3 | (0 if is_number and presence != "REPEATED" else 2))
        here = " and ".join(f"d[i{f' + {n}' if n else ''}] == {byte}" for n, byte in enumerate(tag))
        size = len(tag)
        if presence == "REQUIRED":
            lines = [f"if not ({here}):" if size > 1 else f"if d[i] != {tag[0]}:", f"    {strict}"]
            return lines + self._decode_value(each, size, local)
        lines = [f"{local}: {self.type_of(each)} = {self.default(each)}"]
        if presence == "REPEATED" and not is_number:
            items = f"items{each.number}"
            body = self._decode_value(each, size, f"item{each.number}")
            loop = [f"while {here}:", *(f"    {line}" for line in body), f"    {items}.append(item{each.number})"]
            lines += [f"if {here}:", f"    {items}: list[{self.element_type(each)}] = []", *(f"    {line}" for line in loop)]
            if kind == "string_pairs":
                lines += [f"    {local} = _wire.sorted_pairs({items})"]
            else:
                lines += [f"    {local} = tuple({items})"]
            return lines
        return [*lines, f"if {here}:", *(f"    {line}" for line in self._decode_value(each, size, local))]

    def _decode_value(self, each: FieldDescriptor, tag_size: int, local: str) -> list[str]:
        kind, repeated = kind_of(each), each.is_repeated
        if kind in NUMBERS and not repeated:
            if kind == "bool":
                return [
                    f"if d[i + {tag_size}] > 1:",
                    "    raise ValueError",
                    f"{local} = d[i + {tag_size}] == 1",
                    f"i += {tag_size + 1}",
                ]
            reader = "int32" if kind == "enum" else kind
            lines = [
                f"{local} = d[i + {tag_size}]",
                f"if {local} < 128:",
                f"    i += {tag_size + 1}",
                "else:",
                f"    {local}, i = _wire.read_{reader}(d, i + {tag_size})",
            ]
            if kind == "enum":
                lines += [f"if {local} not in {self.allowed(each)}:", "    raise ValueError"]
            return lines
        end = f"e{each.number}"
        lines = [
            f"{end} = d[i + {tag_size}]",
            f"if {end} < 128:",
            f"    i += {tag_size + 1}",
            "else:",
            f"    {end}, i = _wire.read_uint64(d, i + {tag_size})",
            f"{end} += i",
        ]
        content = f"d[i:{end}]"
        if kind in ("uint32", "uint64", "int32", "int64"):
            lines += [f"p{each.number} = {content}"]
            value = f'tuple(p{each.number}) if p{each.number}.isascii() else _wire.read_packed("{kind}", p{each.number})'
        elif kind in NUMBERS:
            allowed = f", {self.allowed(each)}" if kind == "enum" else ""
            value = f'_wire.read_packed("{kind}", {content}{allowed})'
        elif kind == "string_pairs":
            value = f"_wire.string_pair({content})"
        elif kind == "string":
            value = f"{content}.decode()"
        elif kind == "bytes":
            value = content
        else:
            value = f"{self.decoder_of(each.message_type)}({content})"
        return [*lines, f"{local} = {value}", f"i = {end}"]

    def _field(self, each: FieldDescriptor) -> str:
        """The field as `wire.Message` takes it."""
        kind = kind_of(each)
        text = f'_wire.Field({each.number}, "{each.name}", "{kind}", _wire.Presence.{self.presence(each)}, {self.default(each)}'
        if kind == "enum":
            text += f", allowed={self.allowed(each)}"
        if kind == "message":
            text += f", message={self.ref(each.message_type, 'MESSAGE_{}')}"
        oneof = self.oneof(each)
        return text + (f', oneof="{oneof}")' if oneof else ")")

    def _union_codec(self, union: Descriptor) -> list[str]:
        members, name, lower, upper = _by_number(union), union.name, union.name.lower(), union.name.upper()
        lines = [f"{upper}_TYPES: _Final[dict[str, type[{name}]]] = {{"]
        lines += [f'    "{each.name}": {self.ref(each.message_type)},' for each in members]
        lines += ["}", f"{upper}_NAMES: _Final[dict[type[{name}], str]] = {{"]
        lines += [f'    {self.ref(each.message_type)}: "{each.name}",' for each in members]
        lines += ["}"]
        if name == "Event":
            lines += self._audiences(union)
        lines += [
            f"MESSAGE_{name}: _Final = _wire.Message[{name}](",
            f'    "{name}",',
            f'    _wire.only_one("{name}"),',
            "    (",
            *(f"        {self._field(each)}," for each in members),
            "    ),",
            ")",
            f"_{upper}_ENCODERS: _Final[dict[type, tuple[_Callable[[_Any], bytes], _wire.Numbers]]] = {{",
        ]
        for each in members:
            encode = self.encoder_of(each.message_type)
            lines.append(f"    {self.ref(each.message_type)}: ({encode}, {self.lengths(each, 'OPTIONAL')}),")
        lines += ["}", "# By the bytes of the tag, little-endian.", f"_{upper}_DECODERS: _Final[dict[int, _Callable[[bytes], {name}]]] = {{"]
        for each in members:
            tag = int.from_bytes(_varint(each.number << 3 | 2), "little")
            lines.append(f"    {tag}: {self.decoder_of(each.message_type)},")
        return [
            *lines,
            "}",
            "",
            "",
            f"def encode_{lower}({lower}: {name}) -> bytes:",
            "    try:",
            f"        encode, length = _{upper}_ENCODERS[type({lower})]",
            "    except KeyError:",
            f'        raise _wire.WireError(f"{{type({lower}).__name__}} is no {name}") from None',
            f"    body = encode({lower})",
            "    return length[len(body)] + body",
            "",
            "",
            f"def decode_{lower}(b: bytes) -> {name}:",
            "    try:",
            "        tag = b[0]",
            "        i = 1",
            "        if tag > 127:",
            "            tag += b[1] << 8",
            "            i = 2",
            "        size = b[i]",
            "        if size < 128:",
            "            i += 1",
            "        else:",
            "            size, i = _wire.read_uint64(b, i)",
            "        if i + size == len(b):",
            f"            return _{upper}_DECODERS[tag](b[i:])",
            "    except (LookupError, ValueError):",
            "        pass",
            f"    return MESSAGE_{name}.decode(b)",
        ]

    def _audiences(self, union: Descriptor) -> list[str]:
        audiences = [f"AUDIENCE: _Final[dict[type[{union.name}], _wire.EventAudience]] = {{"]
        fronts = [f"FRONTS: _Final[dict[type[{union.name}], tuple[str, ...]]] = {{"]
        for member in _by_number(union):
            event = member.message_type
            self._check_audiences(event)
            name = self.ref(event)
            fields = "".join(
                f'_wire.FieldAudience("{each.name}", {audience}, {self.default(each)}), '
                for each in _by_number(event)
                if (audience := self._option(each, "audience")) > EVERYONE
            )
            audiences.append(f"    {name}: _wire.EventAudience({self._option(event, 'event_audience') or EVERYONE}, ({fields})),")
            fronts.append(f"    {name}: ({''.join(f'{chr(34)}{each.name}{chr(34)}, ' for each in _by_number(event) if self._option(each, 'front'))}),")
        return [*audiences, "}", *fronts, "}"]

    def _option(self, descriptor: Any, name: str) -> int:
        return self.contract.options.get(descriptor.full_name, {}).get(name, 0)

    def _check_audiences(self, event: Descriptor) -> None:
        used = {self._option(event, "event_audience"), *(self._option(each, "audience") for each in event.fields)}
        for audience, needed in ((SEAT, "seat"), (WITNESSES, "witnesses")):
            named = event.fields_by_name.get(needed)
            if audience in used and (named is None or named.is_repeated or kind_of(named) not in ("uint32", "uint64")):
                raise ContractError(f"{event.full_name}: an audience refers to its field `{needed}`, which must be a singular uint32")
        for each in event.fields:
            if self._option(each, "audience") > EVERYONE and self.presence(each) == "REQUIRED":
                raise ContractError(f"{each.full_name}: is part of a command too, so it cannot be cleared for others")
        for part in reached(event):
            options = [self._option(each, name) for each in part.fields for name in ("audience", "front")]
            if part is not event and any([self._option(part, "event_audience"), *options]):
                raise ContractError(
                    f"{part.full_name}: is inside the event {event.full_name}; audiences and fronts are declared on the event's own fields"
                )


def _by_number(message: Descriptor) -> list[FieldDescriptor]:
    return sorted(message.fields, key=lambda each: each.number)


def module_alias(package: str) -> str:
    """`kernel_v1` for `guildhall.kernel.v1`."""
    return package.removeprefix("guildhall.").replace(".", "_")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _docstring(text: str) -> list[str]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"') if '"""' in text or text.endswith('"') else text.replace("\\", "\\\\")
    return [f"    {line}".rstrip() for line in f'"""{escaped}"""'.splitlines()]


def _comment_lines(text: str, indent: str = "    ") -> list[str]:
    return [f"{indent}# {line}".rstrip() for line in text.splitlines()]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: structgen.py DESCRIPTOR_SET OUT_DIR", file=sys.stderr)
        return 2
    try:
        contract = read_contract(Path(arguments[0]).read_bytes())
        modules = {package: Module(contract, package) for package in sorted(contract.packages)}
        texts = {package: module.text() for package, module in modules.items() if module.messages}
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
