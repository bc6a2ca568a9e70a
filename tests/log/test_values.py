"""Wire form of log values: the contract's bytes, and nothing but them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guildhall.kernel.v1 import log_pb2
from guildhall.log.errors import BadValue
from guildhall.log.port import Claim, Entry
from guildhall.log.values import decode, encode_claim, encode_entry

entries = st.builds(
    Entry,
    claim=st.integers(0, 2**63 - 1),
    hash=st.binary(min_size=1, max_size=200),
    body=st.binary(max_size=400),
    seq=st.integers(1, 2**64 - 1),
)
text = st.text(st.characters(codec="utf-8"), max_size=200)
claims = st.builds(Claim, instance=text.filter(bool), address=text)


def encode(value: Claim | Entry) -> bytes:
    return encode_claim(value) if isinstance(value, Claim) else encode_entry(value)


@given(entries | claims)
def test_what_is_encoded_is_decoded(value: Claim | Entry) -> None:
    assert decode(encode(value)) == value


@given(entries)
def test_entries_have_the_bytes_of_the_contract(entry: Entry) -> None:
    message = log_pb2.LogValue(entry=log_pb2.Entry(claim=entry.claim, hash=entry.hash, body=entry.body, seq=entry.seq))
    assert encode_entry(entry) == message.SerializeToString(deterministic=True)


@given(claims)
def test_claims_have_the_bytes_of_the_contract(claim: Claim) -> None:
    message = log_pb2.LogValue(claim=log_pb2.Claim(instance=claim.instance, address=claim.address))
    assert encode_claim(claim) == message.SerializeToString(deterministic=True)


@given(entries | claims, st.data())
def test_a_truncated_value_is_refused(value: Claim | Entry, data: st.DataObject) -> None:
    whole = encode(value)
    with pytest.raises(BadValue):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(entries | claims, st.binary(min_size=1, max_size=20))
def test_a_value_with_more_behind_it_is_refused(value: Claim | Entry, more: bytes) -> None:
    with pytest.raises(BadValue):
        decode(encode(value) + more)


@given(st.binary(max_size=60) | (entries | claims).map(encode), st.data())
def test_other_bytes_are_refused_or_are_exactly_the_encoding(start: bytes, data: st.DataObject) -> None:
    """Whatever is accepted encodes to the very same bytes, so no value has two forms."""
    flipped = bytearray(start)
    if flipped:
        flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= data.draw(st.integers(0, 255))
    try:
        value = decode(bytes(flipped))
    except BadValue:
        return
    assert encode(value) == bytes(flipped)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x12\x00",  # an entry of nothing
        b"\x0a\x00",  # a claim of nothing
        b"\x0a\x03\x12\x01a",  # a claim without an instance
        b"\x0a\x03\x0a\x01\xff",  # an instance that isn't text
        b"\x0a\x06\x0a\x01a\x1a\x01b",  # a claim with an unknown field
        b"\x0a\x06\x12\x01a\x0a\x01b",  # fields in another order
        b"\x12\x03\x12\x01h",  # no seq
        b"\x12\x02\x20\x01",  # no hash
        b"\x12\x07\x12\x01h\x20\x01\x28\x01",  # an unknown field
        b"\x12\x07\x12\x01h\x12\x01h\x20\x01",  # a field twice
        b"\x12\x07\x08\x00\x12\x01h\x20\x01",  # a claim of 0 written out
        b"\x12\x06\x12\x01h\x20\x81\x00",  # a seq in more bytes than it needs
        b"\x12\x0f\x12\x01h\x20" + b"\xff" * 9 + b"\x02",  # a seq beyond 64 bits
        b"\x12\x10\x08" + b"\xff" * 9 + b"\x01" + b"\x12\x01h\x20\x01",  # a negative claim
        b"\x1a\x05\x12\x01h\x20\x01",  # another kind of value
        b"\x12" + b"\xff" * 1000,
    ],
)
def test_what_no_writer_writes_is_refused(value: bytes) -> None:
    with pytest.raises(BadValue):
        decode(value)


def test_what_no_reader_reads_is_not_written() -> None:
    with pytest.raises(ValueError):
        encode_claim(Claim("", "address"))
    for bad in (Entry(-1, b"h", b"", 1), Entry(0, b"", b"", 1), Entry(0, b"h", b"", 0), Entry(0, b"h", b"", 2**64)):
        with pytest.raises(ValueError):
            encode_entry(bad)
