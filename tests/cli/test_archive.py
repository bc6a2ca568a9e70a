"""An exported game that was altered is found out."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from guildhall.cli import archive
from guildhall.cli.archive import FORMAT, Archive, Stored
from guildhall.cli.problems import Problem
from guildhall.kernel import ids
from guildhall.kernel.v1.structs import Draw, decode_Record, encode_Record
from guildhall.kernel.verify import Altered
from tests.cli.random_games import PACK, records


@pytest.fixture(scope="module")
def whole() -> Archive:
    return Archive(FORMAT, "arcane_alley", "game 3", PACK, [Stored(*record) for record in records(3, 3)])


def test_an_honest_one_verifies(whole: Archive) -> None:
    verified = archive.check(whole)
    assert verified.versions == len(whole.records) and verified.draws >= 4


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.99])
def test_one_flipped_bit_of_a_body_or_a_hash_is_found(whole: Archive, at: float) -> None:
    number = int(at * len(whole.records))
    record = whole.records[number]
    for part in ("body", "hash"):
        data = bytearray(getattr(record, part))
        data[int(at * len(data))] ^= 1
        altered = [*whole.records]
        altered[number] = replace(record, **{part: bytes(data)})
        with pytest.raises(Altered):
            archive.check(replace(whole, records=altered))


def rehashed(whole: Archive, number: int, body: bytes) -> Archive:
    """The game with one body replaced and all hashes made anew, as a hall that cheats would write it."""
    seed = archive.check(whole).game.created.seed
    made: list[Stored] = []
    before = b""
    for index, record in enumerate(whole.records):
        honest = decode_Record(body if index == number else record.body)
        new = encode_Record(replace(honest, prev_hash=before))
        before = ids.version_hash(before, seed, honest.seq, new)
        made.append(Stored(new, before))
    return replace(whole, records=made)


def test_an_altered_draw_is_found_though_all_hashes_fit(whole: Archive) -> None:
    number = next(n for n, record in enumerate(whole.records) if len(decode_Record(record.body).draws) > 0)
    record = decode_Record(whole.records[number].body)
    first = record.draws[0]
    results = ((first.results[0] + 1) % first.bounds[0], *first.results[1:])
    draws = (Draw(first.n, first.bounds, results), *record.draws[1:])
    with pytest.raises(Altered, match=r"draw \d+ of version \d+ is not the seed's"):
        archive.check(rehashed(whole, number, encode_Record(replace(record, draws=draws))))


def test_a_missing_last_version_another_pack_another_name_are_found(whole: Archive) -> None:
    for altered, said in (
        (replace(whole, records=whole.records[:-1]), "later versions are missing"),
        (replace(whole, pack=PACK + b"\n"), "content pack"),
        (replace(whole, game_id="another"), "are of game"),
        (replace(whole, records=whole.records[1:]), "begins no game"),
        (replace(whole, records=[]), "no records"),
    ):
        with pytest.raises(Altered, match=said):
            archive.check(altered)


@pytest.mark.parametrize("name", ["game.json", "game.bin"])
def test_a_file_keeps_it_and_is_not_written_over(whole: Archive, tmp_path: Path, name: str) -> None:
    archive.write(whole, tmp_path / name)
    assert archive.read(tmp_path / name) == whole
    with pytest.raises(Problem, match="is there already"):
        archive.write(whole, tmp_path / name)


@pytest.mark.parametrize("data", [b"", b"{", b'{"format": 1}', b"\xc1", b"\x00" * 10])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    with pytest.raises(Problem, match="is no exported game"):
        archive.read(file)
