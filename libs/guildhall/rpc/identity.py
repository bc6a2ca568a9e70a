"""Who is calling: bearer tokens (JWT, EdDSA), the hall's own key, scopes (design section 5)."""

import asyncio
import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.algorithms import OKPAlgorithm
from jwt.types import Options

from guildhall.rpc.errors import Failure

SCOPES = ("play", "seat", "spectate", "operate")
"""`play`: hold a seat; `seat`: seat others; `spectate`: watch games of others; `operate`: the operator's own."""

ALGORITHM = "EdDSA"
KEY_FILE = "identity.key"
BOTS_KEY_FILE = "bots.key"
"""Holds the key of the hall's bots, for the process that plays them."""
RESERVED = "guildhall:"
"""Subjects that begin so are the hall's own: only its processes have tokens for them, signed with its own key."""
BOT = "bot/"
"""Subjects that begin so are the hall's bots: their tokens are signed with the bots' key or the hall's own, and with
no other.
"""
BOT_SCOPES = frozenset({"play"})
"""All that the bots' key can give: whoever has it can be a bot, and nothing more."""
MAX_SUBJECT = 128
LATEST_EXPIRY = 1e12
_CACHED_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Caller:
    """An authentic caller. `expires` is in Unix seconds."""

    subject: str
    scopes: frozenset[str]
    expires: float

    @property
    def own(self) -> bool:
        """Whether it is the hall itself, or a bot of the hall."""
        return _is_own(self.subject)

    def check_expiry(self) -> None:
        """Raises Failure TOKEN_EXPIRED."""
        if self.expires <= time.time():
            raise Failure("TOKEN_EXPIRED", "The token has expired.")

    def require(self, scope: str) -> None:
        """Raises Failure MISSING_SCOPE."""
        if scope not in self.scopes:
            raise Failure("MISSING_SCOPE", f"This needs a token with the scope {scope!r}.", {"scope": scope})


class Keys(Protocol):
    """Where the public keys come from."""

    async def public_key(self, token: str) -> Ed25519PublicKey:
        """The key that should have signed the token. Raises Failure INVALID_TOKEN."""
        ...


class FixedKeys:
    """Public keys by key id; a token without a key id is checked against the only key."""

    def __init__(self, keys: Mapping[str, Ed25519PublicKey]) -> None:
        self._keys = dict(keys)

    async def public_key(self, token: str) -> Ed25519PublicKey:
        kid = _header(token).get("kid")
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        key = self._keys.get(str(kid))
        if key is None:
            raise Failure("INVALID_TOKEN", "The token was signed with a key that this hall does not know.")
        return key


ASK_AGAIN_SECONDS = 10.0


class JwksKeys:
    """Public keys of a JWKS URL, kept for five minutes. A key that is not among them makes the hall ask
    again, but not more often than every `ASK_AGAIN_SECONDS`: anybody can send tokens with made-up keys.
    """

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, cache_keys=False, lifespan=300, timeout=5)
        self._ask_again = 0.0

    async def public_key(self, token: str) -> Ed25519PublicKey:
        kid = _header(token).get("kid")
        try:
            key = await self._find(kid, refresh=False)
            if key is None and time.monotonic() >= self._ask_again:
                self._ask_again = time.monotonic() + ASK_AGAIN_SECONDS
                key = await self._find(kid, refresh=True)
        except jwt.PyJWTError as error:
            raise Failure("KEYS_UNAVAILABLE", "The hall cannot reach the keys that tokens are checked with.") from error
        if key is None:
            raise Failure("INVALID_TOKEN", "The token was signed with a key that this hall does not know.")
        return key

    async def _find(self, kid: object, refresh: bool) -> Ed25519PublicKey | None:
        keys = await asyncio.to_thread(self._client.get_signing_keys, refresh)
        found = next((key.key for key in keys if key.key_id == kid), None)
        return found if isinstance(found, Ed25519PublicKey) else None


class Authenticator:
    """Tells who calls. Authentic tokens are remembered until they expire, since checking one costs 0.1 ms."""

    def __init__(self, keys: Keys, own: Ed25519PublicKey | None = None, bots: Ed25519PublicKey | None = None) -> None:
        """`keys` sign the players' tokens, `own` those of the hall itself and of its bots, `bots` the bots' alone."""
        self._keys = keys
        self._own = own
        self._own_id = key_id(own) if own is not None else None
        self._bots = bots
        self._bots_id = key_id(bots) if bots is not None else None
        self._known: dict[str, Caller] = {}

    async def caller(self, metadata: Iterable[tuple[str, Any]] | None) -> Caller:
        """The caller of a request with this metadata.

        Raises Failure NO_TOKEN, INVALID_TOKEN, TOKEN_EXPIRED.
        """
        header = next((value for key, value in metadata or () if key == "authorization"), None)
        if not isinstance(header, str) or header[:7].lower() != "bearer ":
            raise Failure("NO_TOKEN", "Send a token: metadata `authorization: Bearer <token>`.")
        token = header[7:]
        known = self._known.get(token)
        if known is None:
            known = await self._check(token)
            if len(self._known) >= _CACHED_TOKENS:
                del self._known[next(iter(self._known))]
            self._known[token] = known
        known.check_expiry()
        return known

    async def _check(self, token: str) -> Caller:
        own = self._own_key(token)
        key = own or await self._keys.public_key(token)
        try:
            # Expiry is judged each time a token comes, not only when it is first seen.
            options: Options = {"require": ["exp", "sub"], "verify_exp": False}
            claims = jwt.decode(token, key, algorithms=[ALGORITHM], options=options)
        except jwt.PyJWTError as error:
            raise Failure("INVALID_TOKEN", "The token is not one of this hall.") from error
        subject, scope, expires = claims["sub"], claims.get("scope", ""), claims["exp"]
        if not subject.isprintable() or not 0 < len(subject) <= MAX_SUBJECT or (_is_own(subject) and own is None):
            raise Failure("INVALID_TOKEN", "The token's subject is not one that a player can have.")
        # Not NaN, not infinite, not beyond what a float holds.
        if not isinstance(scope, str) or not isinstance(expires, int | float) or not 0 < expires < LATEST_EXPIRY:
            raise Failure("INVALID_TOKEN", "The token's scope or expiry is not valid.")
        scopes = frozenset(scope.split())
        if own is not None and own is not self._own and not scopes <= BOT_SCOPES:
            raise Failure("INVALID_TOKEN", "The bots' key signs for players alone.")
        return Caller(subject, scopes, float(expires))

    def _own_key(self, token: str) -> Ed25519PublicKey | None:
        """The hall's own key or its bots', if the token says that it is signed with one that may be for its subject."""
        subject = _unverified_subject(token)
        if not _is_own(subject):
            return None
        kid = _header(token).get("kid")
        if self._own is not None and kid == self._own_id:
            return self._own
        if self._bots is not None and kid == self._bots_id and str(subject).startswith(BOT):
            return self._bots
        return None


def _is_own(subject: object) -> bool:
    """Whether only the hall's own key may sign for the subject."""
    return isinstance(subject, str) and subject.startswith((RESERVED, BOT))


def _unverified_subject(token: str) -> object:
    try:
        return jwt.decode(token, options={"verify_signature": False}).get("sub")
    except jwt.PyJWTError as error:
        raise Failure("INVALID_TOKEN", "The token is not a JSON Web Token.") from error


def _header(token: str) -> dict[str, Any]:
    try:
        header: dict[str, Any] = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise Failure("INVALID_TOKEN", "The token is not a JSON Web Token.") from error
    return header


# --- keys


def key_id(key: Ed25519PublicKey) -> str:
    """The key's id: the first 16 hex digits of the SHA-256 of its raw bytes."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:16]


def own_key(data: Path) -> Ed25519PrivateKey:
    """The hall's own key in its data directory, made on first use, readable by its owner alone.

    Raises ValueError where the file holds no such key, OSError where it cannot be read or written.
    """
    path = data / KEY_FILE
    if not path.exists():
        made = _pem(Ed25519PrivateKey.generate())
        beside = path.with_name(f"{KEY_FILE}.{os.getpid()}")
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(made)
        try:
            os.link(beside, path)  # the first of two starting halls wins
        except FileExistsError:
            pass
        finally:
            beside.unlink()
    return _private_key(path)


def existing_key(data: Path) -> Ed25519PrivateKey:
    """The key of a hall that has been started before. Raises FileNotFoundError, ValueError, OSError."""
    return _private_key(data / KEY_FILE)


def bots_key(own: Ed25519PrivateKey) -> Ed25519PrivateKey:
    """The key of a hall's bots, derived from its own: every process of the hall knows it, and nobody can find the
    hall's key from it. It signs for subjects `bot/…` and for no other, and gives them
    no scope but `play`.
    """
    raw = own.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    return Ed25519PrivateKey.from_private_bytes(hmac.digest(raw, b"guildhall key of the bots", "sha256"))


def give_bots_key(own: Ed25519PrivateKey, directory: Path) -> Path:
    """Write the bots' key into a directory, readable by its owner alone; its file. Raises OSError."""
    path = directory / BOTS_KEY_FILE
    beside = path.with_name(f"{BOTS_KEY_FILE}.{os.getpid()}")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(_pem(bots_key(own)))
    beside.replace(path)
    return path


def given_bots_key(directory: Path) -> Ed25519PrivateKey:
    """The bots' key that lies there. Raises FileNotFoundError, ValueError, OSError."""
    return _private_key(directory / BOTS_KEY_FILE)


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except ValueError as error:
        raise ValueError(f"{path} holds no private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{path} holds another kind of key than Ed25519")
    return key


def public_keys(path: Path) -> FixedKeys:
    """The public keys of a file: a JWKS (JSON) or one PEM. Raises ValueError, OSError."""
    data = path.read_bytes()
    keys: dict[str, Ed25519PublicKey] = {}
    try:
        if data.lstrip().startswith(b"{"):
            for entry in json.loads(data)["keys"]:
                key = OKPAlgorithm.from_jwk(entry)
                if isinstance(key, Ed25519PublicKey):
                    keys[entry.get("kid") or key_id(key)] = key
        else:
            pem = serialization.load_pem_public_key(data)
            if isinstance(pem, Ed25519PublicKey):
                keys[key_id(pem)] = pem
    except (ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
        raise ValueError(f"{path} holds no public keys") from error
    if not keys:
        raise ValueError(f"{path} holds no Ed25519 public key")
    return FixedKeys(keys)


def mint(key: Ed25519PrivateKey, subject: str, scopes: Sequence[str], ttl_seconds: float) -> str:
    """A token for a subject. Raises ValueError for a subject or scope that no token may carry."""
    if subject.startswith(RESERVED):
        raise ValueError(f"{subject!r} cannot be a subject")
    return mint_own(key, subject, scopes, ttl_seconds)


def mint_own(key: Ed25519PrivateKey, subject: str, scopes: Sequence[str], ttl_seconds: float) -> str:
    """A token by the hall's own key, also for a subject that is the hall's own. Raises ValueError as `mint` does."""
    if not subject.isprintable() or not 0 < len(subject) <= MAX_SUBJECT:
        raise ValueError(f"{subject!r} cannot be a subject")
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise ValueError(f"unknown scope {unknown[0]!r}; there are {', '.join(SCOPES)}")
    now = time.time()
    claims = {"sub": subject, "scope": " ".join(scopes), "iat": int(now), "exp": now + ttl_seconds}
    return jwt.encode(claims, key, algorithm=ALGORITHM, headers={"kid": key_id(key.public_key())})
