"""Keys and tokens."""

import asyncio
import json
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import (
    KEY_FILE,
    Authenticator,
    Caller,
    FixedKeys,
    JwksKeys,
    bots_key,
    existing_key,
    give_bots_key,
    given_bots_key,
    key_id,
    mint,
    mint_own,
    own_key,
    public_keys,
)

KEY = Ed25519PrivateKey.generate()
OTHER = Ed25519PrivateKey.generate()


def authenticator() -> Authenticator:
    return Authenticator(FixedKeys({key_id(KEY.public_key()): KEY.public_key()}))


async def caller(token: str) -> Caller:
    return await authenticator().caller([("authorization", f"Bearer {token}")])


async def reason(token: str) -> str:
    with pytest.raises(Failure) as caught:
        await caller(token)
    return caught.value.reason


async def test_a_minted_token_says_who_and_what() -> None:
    found = await caller(mint(KEY, "alice", ("play", "seat"), 60))
    assert found.subject == "alice" and found.scopes == {"play", "seat"} and found.expires > time.time()


def forged(**changes: object) -> str:
    claims = {"sub": "alice", "scope": "play", "exp": time.time() + 60, **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, KEY, algorithm="EdDSA")


async def test_tokens_that_do_not_count() -> None:
    assert await reason(mint(OTHER, "alice", ("play",), 60)) == "INVALID_TOKEN"
    assert await reason("") == "INVALID_TOKEN"
    assert await reason("a.b.c") == "INVALID_TOKEN"
    assert await reason(forged(exp=None)) == "INVALID_TOKEN"
    assert await reason(forged(sub=None)) == "INVALID_TOKEN"
    assert await reason(forged(sub="")) == "INVALID_TOKEN"
    assert await reason(forged(sub="guildhall:clock")) == "INVALID_TOKEN"
    assert await reason(forged(sub="x" * 129)) == "INVALID_TOKEN"
    for sub in ("b\0\n\x1b[31m", "\ud800"):
        assert await reason(forged(sub=sub)) == "INVALID_TOKEN"
    for never in (float("nan"), float("inf"), 10**400):
        assert await reason(forged(exp=never)) == "INVALID_TOKEN"
    assert await reason(forged(exp=time.time() - 1)) == "TOKEN_EXPIRED"
    unsigned = jwt.encode({"sub": "alice", "exp": time.time() + 60}, None, algorithm="none")
    assert await reason(unsigned) == "INVALID_TOKEN"
    raw = KEY.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    by_public_key = jwt.encode({"sub": "alice", "exp": time.time() + 60}, raw, algorithm="HS256")
    assert await reason(by_public_key) == "INVALID_TOKEN"


async def test_the_halls_own_tokens_and_its_bots_are_signed_by_its_own_key_alone() -> None:
    """Also where the players' tokens come from elsewhere: whoever signs those can be neither the hall nor a bot."""
    door = Authenticator(FixedKeys({key_id(OTHER.public_key()): OTHER.public_key()}), KEY.public_key())

    async def subject(token: str) -> str:
        return (await door.caller([("authorization", f"Bearer {token}")])).subject

    assert await subject(mint(OTHER, "alice", ("play",), 60)) == "alice"
    assert await subject(mint_own(KEY, "guildhall:matchmaking", ("seat",), 60)) == "guildhall:matchmaking"
    assert await subject(mint(KEY, "bot/greedy/1", ("play",), 60)) == "bot/greedy/1"
    renamed = jwt.encode(
        {"sub": "bot/greedy/1", "exp": time.time() + 60},
        OTHER,
        algorithm="EdDSA",
        headers={"kid": key_id(KEY.public_key())},
    )
    for token in (
        mint(KEY, "alice", ("play",), 60),
        mint(OTHER, "bot/greedy/1", ("play",), 60),
        mint_own(OTHER, "guildhall:matchmaking", ("seat",), 60),
        renamed,
    ):
        with pytest.raises(Failure, match="INVALID_TOKEN"):
            await subject(token)
    with pytest.raises(ValueError, match="cannot be a subject"):
        mint(KEY, "guildhall:matchmaking", ("seat",), 60)


async def test_the_bots_key_signs_for_bots_and_for_nobody_else() -> None:
    bots = bots_key(KEY)
    players = FixedKeys({key_id(OTHER.public_key()): OTHER.public_key()})
    door = Authenticator(players, KEY.public_key(), bots.public_key())

    async def subject(token: str) -> str:
        return (await door.caller([("authorization", f"Bearer {token}")])).subject

    assert await subject(mint(bots, "bot/greedy/1", ("play",), 60)) == "bot/greedy/1"
    assert await subject(mint(KEY, "bot/greedy/1", ("play",), 60)) == "bot/greedy/1"
    assert await subject(mint(KEY, "bot/greedy/1", ("operate",), 60)) == "bot/greedy/1"
    for token in (
        mint(bots, "alice", ("play", "operate"), 60),
        mint_own(bots, "guildhall:matchmaking", ("seat",), 60),
        *(mint(bots, "bot/greedy/1", scopes, 60) for scopes in (("operate",), ("play", "seat"), ("spectate",))),
    ):
        with pytest.raises(Failure, match="INVALID_TOKEN"):
            await subject(token)
    assert key_id(bots_key(OTHER).public_key()) != key_id(bots.public_key()) != key_id(KEY.public_key())


def test_the_bots_key_is_given_in_a_file_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        given_bots_key(tmp_path)
    own = own_key(tmp_path)
    for _ in range(2):
        path = give_bots_key(own, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert key_id(given_bots_key(tmp_path).public_key()) == key_id(bots_key(own).public_key())


async def test_a_known_token_still_expires() -> None:
    judge = authenticator()
    header = [("authorization", f"Bearer {mint(KEY, 'alice', (), 0.2)}")]
    assert (await judge.caller(header)).subject == "alice"
    time.sleep(0.25)
    with pytest.raises(Failure, match="TOKEN_EXPIRED"):
        await judge.caller(header)


def test_what_cannot_be_minted() -> None:
    for subject, scopes in (("", ()), ("guildhall:clock", ()), ("x" * 129, ()), ("alice", ("everything",))):
        with pytest.raises(ValueError):
            mint(KEY, subject, scopes, 60)


def test_the_halls_own_key(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        existing_key(tmp_path)
    made = own_key(tmp_path)
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / KEY_FILE]
    for again in (own_key(tmp_path), existing_key(tmp_path)):
        assert key_id(again.public_key()) == key_id(made.public_key())
    (tmp_path / KEY_FILE).write_text("nonsense")
    with pytest.raises(ValueError, match=KEY_FILE):
        own_key(tmp_path)


async def test_public_keys_of_a_file(tmp_path: Path) -> None:
    pem = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "pem").write_bytes(pem)
    entry = {**OKPAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": key_id(KEY.public_key())}
    (tmp_path / "jwks").write_text(json.dumps({"keys": [entry]}))
    for name in ("pem", "jwks"):
        judge = Authenticator(public_keys(tmp_path / name))
        header = [("authorization", f"Bearer {mint(KEY, 'alice', (), 60)}")]
        assert (await judge.caller(header)).subject == "alice"
    for content in ("nonsense", "{}", '{"keys": []}', '{"keys": [1]}'):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(ValueError, match="bad"):
            public_keys(tmp_path / "bad")


@asynccontextmanager
async def jwks_server(keys: list[object], asked: list[int]) -> AsyncIterator[str]:
    """Serves a JWKS on this machine; its URL. Each request is counted in `asked`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(len(keys))
        body = json.dumps({"keys": keys}).encode()
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks.json"


def jwk(key: Ed25519PrivateKey) -> dict[str, object]:
    public = key.public_key()
    return {**OKPAlgorithm.to_jwk(public, as_dict=True), "kid": key_id(public), "use": "sig"}


def bearer(key: Ed25519PrivateKey) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {mint(key, 'alice', (), 60)}")]


async def test_public_keys_of_a_url() -> None:
    keys, asked = [jwk(KEY)], list[int]()
    async with jwks_server(keys, asked) as url:
        judge = Authenticator(JwksKeys(url))
        assert (await judge.caller(bearer(KEY))).subject == "alice"
        assert (await judge.caller(bearer(KEY))).subject == "alice"
        assert len(asked) == 1, "known keys are kept"
        keys.append(jwk(OTHER))
        assert (await judge.caller(bearer(OTHER))).subject == "alice", "a new key is asked for"
        for _ in range(5):
            with pytest.raises(Failure, match="INVALID_TOKEN"):
                await judge.caller(bearer(Ed25519PrivateKey.generate()))
        assert len(asked) == 2, "made-up keys do not make the hall ask"


async def test_a_url_that_does_not_answer() -> None:
    with pytest.raises(Failure, match="KEYS_UNAVAILABLE"):
        await Authenticator(JwksKeys("http://127.0.0.1:9/jwks.json")).caller(bearer(KEY))
