"""The generated Structs speak protobuf: what they write and read is what the protobuf runtime writes and reads."""

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import msgspec
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from guildhall.kernel import wire
from guildhall.kernel.v1 import structs as kernel_v1
from guildhall.kernel.wire import EventAudience, FieldAudience, WireError
from tools import gen

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "kernel" / "protos"
SAMPLE_PACKAGE = "guildhall.sample.v1"


# --- building ------------------------------------------------------------------------------------------------------


def compile_protos(image: Path, *roots: Path) -> None:
    """Write the descriptor set of all files below the roots, as the build makes it."""
    files = sorted(str(path.relative_to(root)) for root in roots for path in root.rglob("*.proto"))
    paths = [f"--proto_path={root}" for root in (*roots, ROOT / "proto", gen.COMMON_PROTOS)]
    options = [f"--descriptor_set_out={image}", "--include_imports", "--include_source_info"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *paths, *options, *files], check=True)


def run_structgen(image: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "tools" / "structgen.py"), str(image), str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def sample_image() -> bytes:
    with TemporaryDirectory() as directory:
        image = Path(directory, "image.binpb")
        compile_protos(image, SAMPLE)
        return image.read_bytes()


@cache
def sample() -> Any:
    """The structs module of the sample package; it stands on the kernel's in gen/."""
    with TemporaryDirectory() as directory:
        image = Path(directory, "image.binpb")
        image.write_bytes(sample_image())
        done = run_structgen(image, Path(directory))
        assert done.returncode == 0, done.stderr
        path = Path(directory, *SAMPLE_PACKAGE.split("."), "structs.py")
        spec = importlib.util.spec_from_file_location(f"{SAMPLE_PACKAGE}.structs", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where msgspec looks the types of annotations up
        spec.loader.exec_module(module)
        return module


class Subject:
    """One generated message: its module, and its descriptor in the protobuf runtime."""

    def __init__(self, module: ModuleType, descriptor: Descriptor, strict: set[str]) -> None:
        self.module = module
        self.descriptor = descriptor
        self.strict = strict
        self.name = descriptor.full_name.removeprefix(descriptor.file.package + ".").replace(".", "_")
        codec = self.name.lower() if is_union(descriptor) else self.name
        self.encode: Callable[[Any], bytes] = getattr(module, f"encode_{codec}")
        self.decode: Callable[[bytes], Any] = getattr(module, f"decode_{codec}")
        self.message: wire.Message[Any] = getattr(module, f"MESSAGE_{self.name}")
        self.runtime: Any = message_factory.GetMessageClass(descriptor)


def is_union(descriptor: Descriptor) -> bool:
    return (
        descriptor.name in ("Command", "Event") and descriptor.containing_type is None and len(descriptor.oneofs) == 1
    )


def inside(descriptor: Descriptor) -> Iterator[Descriptor]:
    yield descriptor
    for field in descriptor.fields:
        if field.message_type is not None:
            yield from inside(field.message_type)


@cache
def subjects() -> dict[str, Subject]:
    """Every message of every generated module, by full name."""
    found: dict[str, Subject] = {}
    for image in ((ROOT / "gen" / "guildhall.binpb").read_bytes(), sample_image()):
        pool = descriptor_pool.DescriptorPool()
        files = descriptor_pb2.FileDescriptorSet.FromString(image).file
        for file in files:
            pool.Add(file)
        descriptors = [
            each
            for file in files
            if file.package.startswith("guildhall.")
            for message in file.message_type
            for each in with_nested(pool.FindMessageTypeByName(f"{file.package}.{message.name}"))
        ]
        commands = [each for each in descriptors if each.name == "Command" and is_union(each)]
        strict = {each.full_name for command in commands for each in inside(command)} - {c.full_name for c in commands}
        for each in descriptors:
            package = each.file.package
            foreign = any(not part.full_name.startswith("guildhall.") for part in inside(each))
            if not foreign and each.full_name not in found:
                module = sample() if package == SAMPLE_PACKAGE else importlib.import_module(f"{package}.structs")
                found[each.full_name] = Subject(module, each, strict)
    return found


def with_nested(descriptor: Descriptor) -> Iterator[Descriptor]:
    if not descriptor.GetOptions().map_entry:
        yield descriptor
        for nested in descriptor.nested_types:
            yield from with_nested(nested)


# --- what the protobuf runtime holds, as structs hold it -----------------------------------------------------------


def plain(value: Any) -> Any:
    """A runtime message as (name, fields by number) all the way down, None where a field with presence is absent."""
    if not hasattr(value, "DESCRIPTOR"):
        return value
    descriptor = value.DESCRIPTOR
    if is_union(descriptor):
        return plain(getattr(value, value.WhichOneof(descriptor.oneofs[0].name)))
    values = []
    for field in sorted(descriptor.fields, key=lambda field: int(field.number)):
        content = getattr(value, field.name)
        if field.is_repeated:
            pairs = hasattr(content, "items")
            values.append(tuple(sorted(content.items())) if pairs else tuple(plain(item) for item in content))
        else:
            values.append(plain(content) if not field.has_presence or value.HasField(field.name) else None)
    return (descriptor.full_name.removeprefix(descriptor.file.package + ".").replace(".", "_"), *values)


def plain_struct(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, *(plain_struct(getattr(value, name)) for name in value.__struct_fields__))
    return tuple(map(plain_struct, value)) if isinstance(value, tuple) else value


def has_a_struct(value: Any, strict: set[str]) -> bool:
    """Whether what the runtime read is also in order for us: no undefined enum value, nothing required missing."""
    descriptor = value.DESCRIPTOR
    if is_union(descriptor) and value.WhichOneof(descriptor.oneofs[0].name) is None:
        return False
    for field in descriptor.fields:
        content = getattr(value, field.name)
        if field.enum_type is not None:
            numbers = content if field.is_repeated else [content]
            if any(number not in field.enum_type.values_by_number for number in numbers):
                return False
        in_oneof = field.containing_oneof is not None and not field.containing_oneof.name.startswith("_")
        absent = not field.is_repeated and field.has_presence and not value.HasField(field.name)
        if absent and not in_oneof and descriptor.full_name in strict:
            return False
        if field.message_type is not None and not field.message_type.GetOptions().map_entry and not absent:
            messages = content if field.is_repeated else [content]
            if not all(has_a_struct(message, strict) for message in messages):
                return False
    return True


# --- any message ---------------------------------------------------------------------------------------------------

INTEGERS: dict[int, tuple[int, int]] = {
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
}


def scalars(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.type in INTEGERS:
        low, high = INTEGERS[field.type]
        edges = [n for n in (0, 1, 127, 128, 2**14 - 1, 2**14, 2**21, 2**28, low, high) if n <= high]
        return st.one_of(st.integers(0, 200), st.sampled_from(edges), st.integers(low, high))
    if field.enum_type is not None:
        return st.sampled_from(sorted(field.enum_type.values_by_number))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.one_of(st.binary(max_size=4), st.sampled_from([b"\0" * 127, b"\xff" * 128, b"x" * 20_000]))
    return st.one_of(st.text(max_size=4), st.sampled_from(["ä" * 64, "x" * 300]))


# No key is the beginning of another: the runtime puts the longer of such two first, and other runtimes the shorter.
PAIRS = st.dictionaries(st.text(min_size=2, max_size=2), st.text(max_size=3), max_size=3)


@st.composite
def messages(draw: st.DrawFn, subject: Subject) -> Any:
    """A runtime message with everything set that may not be missing."""

    def fill(message: Any, depth: int) -> Any:
        descriptor = message.DESCRIPTOR
        declared = [oneof for oneof in descriptor.oneofs if not oneof.name.startswith("_")]
        none = [] if is_union(descriptor) else [None]
        chosen = {
            oneof.name: draw(st.sampled_from([*none, *(field.name for field in oneof.fields)])) for oneof in declared
        }
        must = descriptor.full_name in subject.strict
        for field in descriptor.fields:
            in_oneof = field.containing_oneof is not None and field.containing_oneof.name in chosen
            if in_oneof and chosen[field.containing_oneof.name] != field.name:
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                getattr(message, field.name).update(draw(PAIRS))
            elif field.is_repeated:
                values = getattr(message, field.name)
                if field.message_type is None:
                    values.extend(draw(st.lists(scalars(field), max_size=5)))
                else:
                    for _ in range(draw(st.integers(0, 3 if depth < 2 else 1))):
                        fill(values.add(), depth + 1)
            elif must or in_oneof or draw(st.booleans()):
                if field.message_type is None:
                    setattr(message, field.name, draw(scalars(field)))
                else:
                    getattr(message, field.name).SetInParent()
                    fill(getattr(message, field.name), depth + 1)
        return message

    return fill(subject.runtime(), 0)


NAMES = sorted(subjects())
# There are hundreds of messages, each with its own run of examples.
some_examples = settings(max_examples=min(settings().max_examples // 10, 500))
every_message = pytest.mark.parametrize("name", NAMES)


@every_message
@some_examples
@given(data=st.data())
def test_bytes_are_those_of_the_runtime(name: str, data: st.DataObject) -> None:
    subject = subjects()[name]
    message = data.draw(messages(subject))
    encoded = message.SerializeToString(deterministic=True)
    struct = subject.decode(encoded)
    assert plain_struct(struct) == plain(message)
    assert subject.encode(struct) == encoded
    assert subject.message.decode(encoded) == struct
    assert hash(struct) == hash(subject.decode(encoded))


@every_message
@some_examples
@given(data=st.data())
def test_any_bytes_are_read_as_the_runtime_reads_them_or_refused(name: str, data: st.DataObject) -> None:
    subject = subjects()[name]
    damaged = bytearray(data.draw(messages(subject)).SerializeToString(deterministic=True)[:2000])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        removed = data.draw(st.integers(0, 3))
        damaged[at : at + removed] = data.draw(st.binary(max_size=3))
    check_like_the_runtime(subject, bytes(damaged))
    check_like_the_runtime(subject, data.draw(st.binary(max_size=40)))


def check_like_the_runtime(subject: Subject, encoded: bytes) -> None:
    message = subject.runtime()
    try:
        message.ParseFromString(encoded)
        readable = has_a_struct(message, subject.strict)
        message.DiscardUnknownFields()
    except DecodeError:
        readable = False
    try:
        struct = subject.decode(encoded)
    except WireError as error:
        # Refused although readable: only what is not canonical may be.
        assert not readable or message.SerializeToString(deterministic=True) != encoded, error
        with pytest.raises(WireError) as again:
            subject.message.decode(encoded)
        assert (again.value.message, again.value.path) == (error.message, error.path)
    else:
        assert readable
        assert plain_struct(struct) == plain(message)
        assert subject.message.decode(encoded) == struct


# --- strict reading ------------------------------------------------------------------------------------------------

UNDO = bytes([1 << 3 | 2, 0])
DRAW = bytes([0x82, 1, 0])


def play(body: bytes) -> bytes:
    return bytes([0x8A, 1, len(body)]) + body


WHOLE = b"\x08\x03\x18\x01\x20\x01\x2a\x04\x08\x01\x10\x02\x32\x01n\x3a\x01t\xa0\x01\x07"


def test_a_whole_command_is_read() -> None:
    s = sample()
    assert s.decode_command(play(WHOLE)) == s.Play(3, (), 1, True, s.Place(1, 2), "n", b"t", (), None, None, 7)


@pytest.mark.parametrize(
    ("encoded", "path", "required", "words"),
    [
        (b"", "", True, "Command is empty"),
        (UNDO + DRAW, "", False, "undo and draw are both set"),
        (DRAW + DRAW, "draw", False, "occurs twice"),
        (b"\x92\x01\x00", "", False, "unknown field 18"),
        (play(b""), "play.card", True, "missing"),
        (play(WHOLE.replace(b"\x08\x03", b"", 1)), "play.card", True, "missing"),
        (play(WHOLE.replace(b"\x08\x01\x10\x02", b"\x08\x01\x08\x02")), "play.place.x", False, "occurs twice"),
        (play(WHOLE.replace(b"\x2a\x04\x08\x01\x10\x02", b"\x2a\x02\x08\x01")), "play.place.y", True, "missing"),
        (play(WHOLE.replace(b"\x18\x01", b"\x18\x03")), "play.item", False, "not a defined value"),
        (play(WHOLE.replace(b"\x20\x01", b"\x20\x02")), "play.face_up", False, "not a value of bool"),
        (play(WHOLE.replace(b"\x32\x01n", b"\x32\x01\xff")), "play.note", False, "UTF-8"),
        (play(WHOLE.replace(b"\x08\x03", b"\x08\x83\x00", 1)), "play.card", False, "over-long"),
        (play(WHOLE.replace(b"\x08\x03", b"\x08\xff\xff\xff\xff\x1f", 1)), "play.card", False, "not a value of uint32"),
        (play(WHOLE.replace(b"\xa0\x01\x07", b"\xa0\x01" + b"\xff" * 9 + b"\x02")), "play.far", False, "64 bits"),
        (play(WHOLE.replace(b"\xa0\x01\x07", b"\xa0\x01" + b"\xff" * 10 + b"\x01")), "play.far", False, "64 bits"),
        (play(WHOLE.replace(b"\x08\x03", b"\x0d\x03\x00\x00\x00", 1)), "play.card", False, "wrong wire type"),
        (play(WHOLE.replace(b"\x32\x01n", b"\x30\x01")), "play.note", False, "wrong wire type"),
        (play(WHOLE[:-1]), "play.far", False, "truncated"),
        (play(WHOLE)[:-1], "play", False, "truncated"),
        (play(WHOLE) + b"\x00", "", False, "unknown field 0"),
        (play(WHOLE) + b"\x8a", "", False, "bad tag"),
        (play(WHOLE + b"\x42\x02\x08\x01"), "play.path[0].y", True, "missing"),
        (play(WHOLE + b"\x42\x04\x08\x01\x10\x01" + b"\x42\x02\x10\x01"), "play.path[1].x", True, "missing"),
        (play(WHOLE + b"\x50\x01\x4a\x04\x08\x01\x10\x01"), "play", False, "at and slot are both set"),
    ],
)
def test_what_does_not_fit_is_named(encoded: bytes, path: str, required: bool, words: str) -> None:
    with pytest.raises(WireError) as refused:
        sample().decode_command(encoded)
    assert (refused.value.path, refused.value.required) == (path, required)
    assert words in str(refused.value)


def test_two_members_of_a_oneof_are_refused_in_canonical_order_too() -> None:
    with pytest.raises(WireError, match="claim and entry are both set"):
        kernel_v1.decode_LogValue(b"\x0a\x00\x12\x00")


def test_maps_are_read_in_any_order() -> None:
    a, b = b"\xc2\x02\x06\x0a\x01a\x12\x011", b"\xc2\x02\x06\x0a\x01b\x12\x012"
    assert sample().decode_Shapes(b + a) == sample().decode_Shapes(a + b)


def test_map_keys_are_unique() -> None:
    entry = b"\xc2\x02\x06\x0a\x01k\x12\x01v"
    assert sample().decode_Shapes(entry).words == (("k", "v"),)
    with pytest.raises(WireError, match="words: the key 'k' occurs twice"):
        sample().decode_Shapes(entry + entry)


@pytest.mark.parametrize(
    "encoded",
    [
        b"\xfa\x01\x03\x01\x81\x01",  # packed
        b"\xf8\x01\x01\xf8\x01\x81\x01",  # unpacked
        b"\xf8\x01\x01\xfa\x01\x02\x81\x01",  # mixed
        b"\xfa\x01\x01\x01\xfa\x01\x02\x81\x01",  # packed, in two pieces
    ],
)
def test_lists_may_be_packed_or_not(encoded: bytes) -> None:
    assert sample().decode_Shapes(encoded).u32s == (1, 129)


def test_fields_may_be_in_any_order() -> None:
    s = sample()
    assert s.decode_Scored(b"\x18\x03\x08\x01\x10\x02") == s.Scored(1, 2, 3)


# --- strict writing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s.encode_Scored(s.Scored(-1)),
        lambda s: s.encode_Scored(s.Scored(2**32)),
        lambda s: s.encode_Scored(s.Scored(None)),
        lambda s: s.encode_Place(s.Place(1, 2**31)),
        lambda s: s.encode_Place(s.Place(None, 0)),
        lambda s: s.encode_Peeked(s.Peeked(1, 3)),
        lambda s: s.encode_Drawn(s.Drawn(0, 0, (1, -1))),
        lambda s: s.encode_Shapes(s.Shapes(items=(3,))),
        lambda s: s.encode_Shapes(s.Shapes(words=(("k", "v"), ("k", "w")))),
        lambda s: s.encode_Shapes(s.Shapes(number=0, name="")),
        lambda s: s.encode_command(s.Scored()),
        lambda s: s.encode_event(s.Draw()),
    ],
)
def test_values_that_do_not_fit_are_not_written(make: Callable[[Any], bytes]) -> None:
    with pytest.raises(WireError):
        make(sample())


def test_maps_are_written_in_order() -> None:
    s = sample()
    pairs = (("", "0"), ("a", "1"), ("aa", "2"), ("b", "3"))
    encoded = s.encode_Shapes(s.Shapes(words=pairs[::-1]))
    assert encoded == s.encode_Shapes(s.Shapes(words=pairs))
    assert s.decode_Shapes(encoded).words == pairs
    runtime = subjects()["guildhall.sample.v1.Shapes"].runtime
    assert dict(runtime.FromString(encoded).words) == dict(pairs)


def test_maps_are_bounded() -> None:
    """Reading stops at the first entry too many, whatever comes behind it; large ones are not remembered."""
    s, most = sample(), wire.MOST_PAIRS
    pairs = tuple((f"{number:04}", "") for number in range(most))
    encoded = s.encode_Shapes(s.Shapes(words=pairs))
    assert s.decode_Shapes(encoded).words == s.MESSAGE_Shapes.decode(encoded).words == pairs
    with pytest.raises(WireError):
        s.encode_Shapes(s.Shapes(words=(*pairs, ("more", ""))))
    one = s.encode_Shapes(s.Shapes(words=(("more", ""),)))
    for decode in (s.decode_Shapes, s.MESSAGE_Shapes.decode):
        with pytest.raises(WireError, match=f"more than {most} entries"):
            decode(encoded + one + b"\xff\xff")
    remembered = wire._remembered_pairs.cache_info().currsize
    s.encode_Shapes(s.Shapes(words=(("large", "x" * 5_000),)))
    assert wire._remembered_pairs.cache_info().currsize == remembered


# --- what a module offers ------------------------------------------------------------------------------------------


def test_structs_are_values() -> None:
    s = sample()
    assert s.Scored() == s.Scored(0, 0, 0) and len({s.Scored(1), s.Scored(1), s.Scored(2)}) == 2
    with pytest.raises(TypeError, match="cells"):
        s.Play(3)
    with pytest.raises(AttributeError):
        s.Scored().gold = 1
    # The members can be told apart wherever msgspec stores them.
    either: Any = msgspec.json.Decoder(s.Command)
    assert either.decode(msgspec.json.encode(s.Draw())) == s.Draw()


def test_members_by_name() -> None:
    s = sample()
    assert {"undo": kernel_v1.Undo, "draw": s.Draw, "play": s.Play} == s.COMMAND_TYPES
    assert {type_: name for name, type_ in s.COMMAND_TYPES.items()} == s.COMMAND_NAMES
    assert list(s.EVENT_TYPES) == ["game_created", "scored", "drawn", "peeked"]
    assert {type_: name for name, type_ in s.EVENT_TYPES.items()} == s.EVENT_NAMES


def test_audiences_and_fronts() -> None:
    s = sample()
    seat, witnesses, nobody = kernel_v1.Audience.SEAT, kernel_v1.Audience.WITNESSES, kernel_v1.Audience.NOBODY
    everyone = kernel_v1.Audience.EVERYONE
    assert s.AUDIENCE[s.Scored] == EventAudience(everyone, ())
    assert s.AUDIENCE[s.Drawn] == EventAudience(
        everyone, (FieldAudience("card", seat, 0), FieldAudience("others", nobody, ()))
    )
    assert s.AUDIENCE[s.Peeked] == EventAudience(
        witnesses,
        (
            FieldAudience("item", witnesses, 0),
            FieldAudience("shapes", nobody, None),
            FieldAudience("word", nobody, ""),
        ),
    )
    assert FieldAudience("seed", nobody, b"") in s.AUDIENCE[kernel_v1.GameCreated].fields
    assert s.AUDIENCE.keys() == s.FRONTS.keys() == s.EVENT_NAMES.keys()
    assert [(type_, names) for type_, names in s.FRONTS.items() if names] == [(s.Drawn, ("card",))]


def test_enums_comments_and_envelopes() -> None:
    s = sample()
    assert (s.Item.DOLL, s.Item.FAR, s.Item.NEGATIVE) == (1, 300, -1)
    assert s.Shapes_Inner_Mode.MODE_1 == 1  # `1` alone would be no name
    assert s.Play.__doc__ == 'Plays a card; the text ends with a "quote"'
    assert not hasattr(s, "Stamped") and not hasattr(s, "Envelope")


# --- the generator -------------------------------------------------------------------------------------------------


def test_the_same_contract_gives_the_same_text(tmp_path: Path) -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(sample_image()).file
    own = [file for file in files if file.package.startswith("guildhall.kernel")]
    # Any order in which each file stands after its imports.
    foreign = [file for file in files if not file.package.startswith("guildhall.")]
    audience_first = sorted(own, key=lambda file: (bool(file.dependency), file.name))
    rest = [file for file in files if file.package == SAMPLE_PACKAGE]
    texts = []
    for n, order in enumerate((files, [*foreign, *audience_first, *rest])):
        image = tmp_path / f"{n}.binpb"
        image.write_bytes(descriptor_pb2.FileDescriptorSet(file=order).SerializeToString())
        assert run_structgen(image, tmp_path / str(n)).returncode == 0
        modules = sorted((tmp_path / str(n)).rglob("structs.py"))
        texts.append([(module.relative_to(tmp_path / str(n)), module.read_text()) for module in modules])
    assert texts[0] == texts[1]
    assert [str(path.parent) for path, _ in texts[0]] == ["guildhall/kernel/v1", "guildhall/sample/v1"]


COMMAND = "message Command { oneof command { Move move = 16; } }"
EVENT = "message Event { oneof event { Moved moved = 16; } }"
AUDIENCE = "(guildhall.kernel.v1.audience)"


@pytest.mark.parametrize(
    ("proto", "named"),
    [
        (f"message Move {{ uint32 to = 1; }} {COMMAND}", "Move.to"),
        (f"message Move {{ optional uint32 to = 1; bool far = 2; }} {COMMAND}", "Move.far"),
        (f"message Move {{ Place to = 1; }} message Place {{ uint32 x = 1; }} {COMMAND}", "Place.x"),
        (f"message Move {{ google.protobuf.Timestamp at = 1; }} {COMMAND}", "Move.at"),
        ("message Command { oneof command { uint32 move = 16; } }", "Command"),
        (f"message Moved {{ uint32 to = 1 [{AUDIENCE} = AUDIENCE_SEAT]; }} {EVENT}", "Moved"),
        (f"message Moved {{ repeated uint32 seat = 1 [{AUDIENCE} = AUDIENCE_SEAT]; }} {EVENT}", "Moved"),
        (f"message Moved {{ uint32 seat = 1 [{AUDIENCE} = AUDIENCE_WITNESSES]; }} {EVENT}", "Moved"),
        ("message Moved { option (guildhall.kernel.v1.event_audience) = AUDIENCE_SEAT; } " + EVENT, "Moved"),
        (f"message Moved {{ A a = 1; }} message A {{ uint32 x = 1 [{AUDIENCE} = AUDIENCE_NOBODY]; }} {EVENT}", "A"),
        (
            f"message Moved {{ A a = 1; }} message A {{ uint32 x = 1 [(guildhall.kernel.v1.front) = true]; }} {EVENT}",
            "A",
        ),
        (
            f"message Moved {{ optional uint32 x = 1 [{AUDIENCE} = AUDIENCE_NOBODY]; }} {EVENT}"
            "message Command { oneof command { Moved moved = 16; } }",
            "Moved.x",
        ),
        ("message Chain { Chain next = 1; }", "Chain"),
        ("message Odd { double x = 1; }", "Odd.x"),
        ("message Odd { map<string, uint32> x = 1; }", "Odd.x"),
        ("message Odd { uint32 class = 1; }", "Odd.class"),
        ("message A { message B {} } message A_B {}", "A_B"),
    ],
)
def test_what_breaks_a_rule_of_the_contract_is_named(tmp_path: Path, proto: str, named: str) -> None:
    source = tmp_path / "proto" / "guildhall" / "bad" / "v1" / "bad.proto"
    source.parent.mkdir(parents=True)
    imports = ("google/protobuf/timestamp.proto", "guildhall/kernel/v1/audience.proto")
    head = "".join(f'import "{path}";\n' for path in imports)
    source.write_text(f'syntax = "proto3";\npackage guildhall.bad.v1;\n{head}{proto}\n')
    image = tmp_path / "image.binpb"
    compile_protos(image, tmp_path / "proto")
    done = run_structgen(image, tmp_path / "out")
    assert done.returncode == 1
    assert f"guildhall.bad.v1.{named}:" in done.stderr or f"called {named}" in done.stderr
    assert not (tmp_path / "out").exists()
