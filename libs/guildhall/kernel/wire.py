"""What the generated wire code stands on: protobuf's wire format, read strictly and written canonically.

`tools/structgen.py` writes one `structs.py` per package of the contract (design section 2, "One contract, the
.proto"). Its encoders read their bytes out of the tables made here, and its decoders go straight through bytes that are
canonical. Whatever is not (another field order, an unpacked list, any error) goes to `Message.decode`, which takes its
time, accepts what is legal and names what isn't.

Source of the format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2

# Two bytes of a varint that goes on, for each 14 bits.
_GROUPS: Final = tuple(bytes((bits & 0x7F | 0x80, bits >> 7 | 0x80)) for bits in range(0x4000))

# Encoded small numbers are kept, larger ones are made each time, so that a table cannot grow without bound.
_KEPT: Final = 0x4000

MOST_PAIRS: Final = 256
"""Entries of a map. Each takes many times its bytes to read and to keep, and no game has so many options."""

_REMEMBERED: Final = 4_096
"""Characters of a map whose bytes are remembered."""

_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "enum": (-(2**31), 2**31 - 1),
    "bool": (0, 1),
}


class WireError(ValueError):
    """Bytes or values that do not fit the contract.

    `path` leads to the field, for example `play.cell` or `slots[2].name`; it is empty for the message itself.
    `required` is true if and only if the field is missing and must not be.
    """

    def __init__(self, message: str, path: str = "", *, required: bool = False) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path
        self.required = required


class FieldAudience(NamedTuple):
    """A field that not everybody sees: its name, its `guildhall.kernel.v1.Audience`, and what the others get."""

    name: str
    audience: int
    default: Any


class EventAudience(NamedTuple):
    """Who sees that an event happened (a `guildhall.kernel.v1.Audience`), and its fields that not everybody sees."""

    event: int
    fields: tuple[FieldAudience, ...]


class Presence(Enum):
    """When a field is on the wire, and what stands for it in the struct when it is not."""

    IMPLICIT = 1  # Not when it is the default.
    OPTIONAL = 2  # Not when it is None.
    REQUIRED = 3  # Always; missing is an error.
    REPEATED = 4  # Once per element of a tuple, or once for all of them (packed).


# --- writing -------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """The base-128 varint of a number from 0 to 2**64 - 1, shortest form."""
    out = b""
    while value > 0x3FFF:
        out += _GROUPS[value & 0x3FFF]
        value >>= 14
    return out + (bytes((value,)) if value < 0x80 else bytes((value & 0x7F | 0x80, value >> 7)))


class Numbers(dict[int | None, bytes]):
    """Value of one field -> its bytes, tag included; filled as values are met.

    A dict, because nothing else in CPython finds the bytes of a small number as fast.
    Raises WireError for a value that the field's type cannot hold, and for None where a value must be.
    """

    def __init__(self, prefix: bytes, name: str, low: int, high: int, known: Mapping[int | None, bytes]) -> None:
        super().__init__(known)
        self._prefix = prefix
        self._name = name
        self._low = low
        self._high = high

    def __missing__(self, value: int | None) -> bytes:
        if not isinstance(value, int) or not self._low <= value <= self._high:
            raise WireError(f"{value!r} is not a value of {self._name}")
        encoded = self._prefix + varint(value & 0xFFFF_FFFF_FFFF_FFFF)
        if 0 <= value < _KEPT:
            self[int(value)] = encoded
        return encoded


@cache
def numbers(number: int, kind: str, presence: Presence) -> Numbers:
    """The table of an integer or bool field (`kind` as in the `.proto`) with this field number."""
    return Numbers(varint(number << 3 | _VARINT), kind, *_RANGES[kind], _absent(presence))


@cache
def choices(number: int, name: str, values: frozenset[int], presence: Presence) -> Numbers:
    """The table of an enum field: holds the defined values, and no other."""
    tag = varint(number << 3 | _VARINT)
    known: dict[int | None, bytes] = {value: tag + varint(value & 0xFFFF_FFFF_FFFF_FFFF) for value in values}
    return Numbers(tag, name, 0, -1, known | _absent(presence))


@cache
def lengths(number: int, presence: Presence) -> Numbers:
    """The table of the tag and length before a string, bytes, message or packed field; length in bytes."""
    known: dict[int | None, bytes] = {0: b""} if presence is Presence.IMPLICIT else {}
    return Numbers(varint(number << 3 | _LENGTH_DELIMITED), "length", 0, 2**31 - 1, known)


def _absent(presence: Presence) -> dict[int | None, bytes]:
    if presence is Presence.IMPLICIT:
        return {0: b""}
    return {None: b""} if presence is Presence.OPTIONAL else {}


def packed(kind: str, values: Iterable[int], allowed: frozenset[int] | None = None) -> bytes:
    """The elements of a packed field, without tag and length. Raises WireError for a value that is not `allowed`."""
    low, high = _RANGES[kind]
    parts = []
    for value in values:
        if not isinstance(value, int) or not low <= value <= high or (allowed is not None and value not in allowed):
            raise WireError(f"{value!r} is not a value of {kind}")
        parts.append(varint(value & 0xFFFF_FFFF_FFFF_FFFF))
    return b"".join(parts)


def packed_uint32(values: tuple[int, ...]) -> bytes:
    """`packed("uint32", values)`, quick when all are small."""
    try:
        small = bytes(values)
    except (TypeError, ValueError):  # not a byte each
        return packed("uint32", values)
    return small if small.isascii() else packed("uint32", values)


def string_pairs(number: int, pairs: Iterable[tuple[str, str]]) -> bytes:
    """A whole `map<string, string>` field, tags included, sorted by key. Raises WireError when a key is there twice,
    and for more than `MOST_PAIRS` entries.

    Protobuf leaves the order of a map open: upb puts "aa" before "a" where others and we do not.
    """
    pairs = tuple(pairs)
    if len(pairs) > MOST_PAIRS:
        raise WireError(f"{len(pairs)} entries, at most {MOST_PAIRS} may be")
    if sum(map(len, chain.from_iterable(pairs))) > _REMEMBERED:
        return _string_pairs(number, pairs)
    return _remembered_pairs(number, pairs)


def _string_pairs(number: int, pairs: tuple[tuple[str, str], ...]) -> bytes:
    field, key_length, value_length = (lengths(n, Presence.REPEATED) for n in (number, 1, 2))
    entries = sorted((key.encode(), value.encode()) for key, value in pairs)
    if len({key for key, _ in entries}) != len(entries):
        raise WireError("the same key twice")
    out: list[bytes] = []
    for key, value in entries:
        entry = key_length[len(key)] + key + value_length[len(value)] + value
        out += (field[len(entry)], entry)
    return b"".join(out)


# Many messages tell of the same few choices.
_remembered_pairs = lru_cache(maxsize=256)(_string_pairs)


# --- reading -------------------------------------------------------------------------------------------------------


_SHIFTS: Final = tuple(range(0, 70, 7))


def read_uint64(data: bytes, at: int) -> tuple[int, int]:
    """The varint at `at` and the offset behind it. Raises WireError when it is cut off, over-long or beyond 64 bits."""
    value = 0
    try:
        for shift in _SHIFTS:
            byte = data[at]
            at += 1
            if byte < 0x80:
                if byte == 0 and shift:
                    raise WireError("over-long varint")
                value |= byte << shift
                if value > 0xFFFF_FFFF_FFFF_FFFF:
                    break
                return value, at
            value |= (byte & 0x7F) << shift
    except IndexError:
        raise WireError("truncated") from None
    raise WireError("varint beyond 64 bits")


def read_int64(data: bytes, at: int) -> tuple[int, int]:
    """As `read_uint64`, for two's complement."""
    value, end = read_uint64(data, at)
    return (value - 2**64 if value >= 2**63 else value), end


def read_uint32(data: bytes, at: int) -> tuple[int, int]:
    """As `read_uint64`, and WireError for a number beyond 32 bits."""
    value, end = read_uint64(data, at)
    if value > 0xFFFF_FFFF:
        raise WireError(f"{value} is not a value of uint32")
    return value, end


def read_int32(data: bytes, at: int) -> tuple[int, int]:
    """As `read_int64`, and WireError for a number beyond 32 bits. A negative one takes ten bytes, as it is written."""
    value, end = read_int64(data, at)
    if not -(2**31) <= value < 2**31:
        raise WireError(f"{value} is not a value of int32")
    return value, end


def read_packed(kind: str, data: bytes, allowed: frozenset[int] | None = None) -> tuple[Any, ...]:
    """The elements of a packed field. Raises WireError for one that is malformed, out of range or not `allowed`."""
    values: list[int] = []
    at = 0
    while at < len(data):
        value, at = _read_number(kind, allowed, data, at)
        values.append(value)
    return tuple(values)


def _read_number(kind: str, allowed: frozenset[int] | None, data: bytes, at: int) -> tuple[int, int]:
    value, end = _READERS[kind](data, at)
    if kind == "bool":
        if value > 1:
            raise WireError(f"{value} is not a value of bool")
        return bool(value), end
    if allowed is not None and value not in allowed:
        raise WireError(f"{value} is not a defined value of the enum")
    return value, end


_READERS: Final[Mapping[str, Callable[[bytes, int], tuple[int, int]]]] = {
    "uint32": read_uint32,
    "uint64": read_uint64,
    "int32": read_int32,
    "int64": read_int64,
    "enum": read_int32,
    "bool": read_uint64,
}


class Field(NamedTuple):
    """One field of a `Message`. `kind` is the scalar type as in the `.proto`, or `enum`, `message`, `string_pairs`."""

    number: int
    name: str
    kind: str
    presence: Presence
    default: Any = None
    allowed: frozenset[int] | None = None
    message: Message[Any] | None = None
    oneof: str | None = None


class Message(Generic[T]):
    """How to read one message, strictly. `make` takes the values of the fields in the order of `fields`."""

    def __init__(self, name: str, make: Callable[..., T], fields: tuple[Field, ...]) -> None:
        self.name = name
        self._make = make
        self._fields = fields
        self._by_number = {field.number: field for field in fields}

    def decode(self, data: bytes, path: str = "") -> T:
        """The struct that `data` encodes; `path` leads to this message.

        Any field order is accepted, and packed, unpacked and mixed lists. Raises WireError for: an unknown field, a
        wrong wire type, a number out of range or over-long, an undefined enum value, invalid UTF-8, a truncated field,
        a singular field or a map key that occurs twice, a map of more than `MOST_PAIRS` entries, two members of a
        oneof, a required field that is missing.
        """
        found: dict[int, Any] = {}
        at = 0
        while at < len(data):
            at = self._read_field(data, at, path, found)
        oneofs: dict[str, str] = {}
        values = []
        for field in self._fields:
            value = found.get(field.number)
            if value is None:
                if field.presence is Presence.REQUIRED:
                    raise WireError("missing", _join(path, field.name), required=True)
                value = field.default
            elif field.oneof is not None:
                other = oneofs.setdefault(field.oneof, field.name)
                if other != field.name:
                    raise WireError(f"{other} and {field.name} are both set, at most one may be", path)
            elif field.kind == "string_pairs":
                value = tuple(sorted(value.items()))
            elif field.presence is Presence.REPEATED:
                value = tuple(value)
            values.append(value)
        try:
            return self._make(*values)
        except WireError as error:
            raise WireError(error.message, _join(path, error.path), required=error.required) from None

    def _read_field(self, data: bytes, at: int, path: str, found: dict[int, Any]) -> int:
        """Reads the field at `at` into `found` and returns the offset behind it."""
        try:
            tag, at = read_uint32(data, at)
        except WireError as error:
            raise WireError(f"bad tag: {error.message}", path) from None
        number, wire_type = tag >> 3, tag & 7
        field = self._by_number.get(number)
        if field is None:
            raise WireError(f"unknown field {number} of {self.name}", path)
        before = found.get(number)
        where = _join(path, field.name)
        if field.presence is Presence.REPEATED:
            if field.kind == "message":
                where += f"[{len(before or ())}]"
        elif before is not None:
            raise WireError("occurs twice", where)
        try:
            if field.kind in _READERS:
                if wire_type == _VARINT:
                    value, at = _read_number(field.kind, field.allowed, data, at)
                    return _keep(found, field, value, at)
                if wire_type != _LENGTH_DELIMITED or field.presence is not Presence.REPEATED:
                    raise WireError(f"wrong wire type {wire_type}")
                content, at = _read_content(data, at)
                found.setdefault(number, []).extend(read_packed(field.kind, content, field.allowed))
                return at
            if wire_type != _LENGTH_DELIMITED:
                raise WireError(f"wrong wire type {wire_type}")
            content, at = _read_content(data, at)
        except WireError as error:
            raise WireError(error.message, where) from None
        if field.kind == "string_pairs":
            pairs = found.setdefault(number, {})
            if len(pairs) == MOST_PAIRS:
                raise WireError(f"more than {MOST_PAIRS} entries", where)
            key, text = _PAIR.decode(content, where)
            if key in pairs:
                raise WireError(f"the key {key!r} occurs twice", where)
            pairs[key] = text
            return at
        return _keep(found, field, _read_value(field, content, where), at)


def _keep(found: dict[int, Any], field: Field, value: Any, end: int) -> int:
    if field.presence is Presence.REPEATED:
        found.setdefault(field.number, []).append(value)
    else:
        found[field.number] = value
    return end


def _read_content(data: bytes, at: int) -> tuple[bytes, int]:
    length, start = read_uint64(data, at)
    end = start + length
    if end > len(data):
        raise WireError("truncated")
    return data[start:end], end


def _read_value(field: Field, content: bytes, path: str) -> Any:
    if field.message is not None:
        return field.message.decode(content, path)
    if field.kind == "bytes":
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise WireError("not valid UTF-8", path) from None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def only_one(name: str) -> Callable[..., Any]:
    """The `make` of a message that is one oneof and nothing else: the member that is set; WireError if none is."""

    def make(*members: Any) -> Any:
        for member in members:
            if member is not None:
                return member
        raise WireError(f"{name} is empty", required=True)

    return make


_PAIR: Final = Message[tuple[str, str]](
    "entry",
    lambda key, value: (key, value),
    (Field(1, "key", "string", Presence.IMPLICIT, ""), Field(2, "value", "string", Presence.IMPLICIT, "")),
)


def string_pair(entry: bytes) -> tuple[str, str]:
    """Key and value of one entry of a `map<string, string>` field. Raises WireError."""
    return _PAIR.decode(entry)


def sorted_pairs(pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """A whole map, sorted by key. Raises WireError when a key is there twice."""
    if len(dict(pairs)) != len(pairs):
        raise WireError("the same key twice")
    return tuple(sorted(pairs))
