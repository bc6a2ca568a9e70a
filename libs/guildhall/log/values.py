"""Wire form of a log value: `guildhall.kernel.v1.LogValue`, written and read by hand.

    LogValue { oneof value { Claim claim = 1; Entry entry = 2; } }
    Claim    { string instance = 1; string address = 2; }
    Entry    { int64 claim = 1; bytes hash = 2; bytes body = 3; uint64 seq = 4; }

By hand because this is the inner loop of every reader, and because the log must be stricter than a protobuf runtime:
only the canonical encoding is a value, so a flipped bit can't hide in a field that nobody reads.
"""

from guildhall.log.errors import BadValue
from guildhall.log.port import Claim, Entry

_MAX_INT64 = (1 << 63) - 1
_MAX_UINT64 = (1 << 64) - 1
_SHORT = [bytes((number,)) for number in range(0x80)]


def encode_claim(claim: Claim) -> bytes:
    """A claim's value. Raises ValueError without an instance: nobody could recognise it."""
    if not claim.instance:
        raise ValueError("a claim needs an instance")
    inner = _bytes_field(1, claim.instance.encode()) + _bytes_field(2, claim.address.encode())
    return b"\x0a" + _varint(len(inner)) + inner


def encode_entry(entry: Entry) -> bytes:
    """An entry's value. Raises ValueError for a seq below 1, a negative claim, or no hash."""
    claim, digest, body, seq = entry.claim, entry.hash, entry.body, entry.seq
    if not (0 <= claim <= _MAX_INT64 and 1 <= seq <= _MAX_UINT64 and digest):
        raise ValueError("an entry needs a claim, a seq from 1, and a hash")
    parts = [b"\x08" + _varint(claim)] if claim else []
    parts += b"\x12", _varint(len(digest)), digest
    if body:
        parts += b"\x1a", _varint(len(body)), body
    parts += b"\x20", _varint(seq)
    inner = b"".join(parts)
    return b"\x12" + _varint(len(inner)) + inner


def decode(value: bytes) -> Claim | Entry:
    """The value in these bytes. Raises `BadValue` for anything but the canonical encoding of one claim or entry."""
    try:
        tag = value[0]
        length, start = _read_varint(value, 1)
        if start + length != len(value):
            raise BadValue(f"{len(value) - start} bytes where {length} are announced")
        if tag == 0x12:
            return _entry(value, start)
        if tag == 0x0A:
            return _claim(value, start)
    except IndexError:
        raise BadValue("truncated") from None
    raise BadValue(f"unknown kind of value: tag {tag:#x}")


def _entry(value: bytes, at: int) -> Entry:
    """Field by field in their order: the canonical encoding leaves no other."""
    claim, body = 0, b""
    tag = value[at]
    if tag == 0x08:
        claim, at = _read_number(value, at + 1)
        if claim > _MAX_INT64:
            raise BadValue("a negative claim")
        tag = value[at]
    if tag != 0x12:
        raise BadValue(f"field tag {tag:#x} where an entry's hash is to be")
    digest, at = _read_bytes(value, at + 1)
    tag = value[at]
    if tag == 0x1A:
        body, at = _read_bytes(value, at + 1)
        tag = value[at]
    if tag != 0x20:
        raise BadValue(f"field tag {tag:#x} where an entry's seq is to be")
    seq, at = _read_number(value, at + 1)
    if at != len(value):
        raise BadValue(f"field tag {value[at]:#x} behind an entry's last field")
    return Entry(claim, digest, body, seq)


def _claim(value: bytes, at: int) -> Claim:
    texts = {0x0A: "", 0x12: ""}
    end, last = len(value), 0
    while at < end:
        tag = value[at]
        if tag not in texts:
            raise BadValue(f"unknown field: tag {tag:#x}")
        if tag <= last:
            raise BadValue(f"field tag {tag:#x} out of order")
        last = tag
        raw, at = _read_bytes(value, at + 1)
        try:
            texts[tag] = raw.decode()
        except UnicodeDecodeError:
            raise BadValue("text that isn't UTF-8") from None
    if not texts[0x0A]:
        raise BadValue("a claim without an instance")
    return Claim(texts[0x0A], texts[0x12])


def _bytes_field(number: int, data: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(data)) + data if data else b""


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _SHORT[number]
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    number, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise BadValue("a number of more than 64 bits")
    if byte == 0 or number > _MAX_UINT64:
        raise BadValue("a number that isn't canonical, or too large")
    return number, at + 1


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A varint that is not 0, which is written by leaving its field out."""
    number = data[at]
    if 0 < number < 0x80:
        return number, at + 1
    number, at = _read_varint(data, at)
    if not number:
        raise BadValue("a field written although empty")
    return number, at


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_number(data, at)
    end = at + length
    if end > len(data):
        raise BadValue("truncated")
    return data[at:end], end
