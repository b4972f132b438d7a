"""The keys of a saver: what is made of the secrets that it was given."""

import hashlib
import importlib
import os
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.checkpoints.encryption import IDENT_BYTES, Cipher, Key, Keyring
from threadkeep.errors import ConfigError
from threadkeep.savers.serde import SafeSerializer

KEY_MIN_BYTES = 16
_NONCE_BYTES = 24
_TAG_BYTES = 16


class OwnCipher:
    """XChaCha20-Poly1305, with a random nonce for each document: it is long enough for any number.

    Args:
        key: 32 bytes.

    Raises:
        ConfigError: The package that has the cipher is missing.
    """

    def __init__(self, key: bytes) -> None:
        try:
            self._cipher: Any = importlib.import_module("Crypto.Cipher.ChaCha20_Poly1305")
        except ImportError as error:
            raise ConfigError(
                'encryption needs pycryptodome: pip install "threadkeep[encryption]"'
            ) from error
        self._key = key

    def encrypt(self, plain: bytes) -> bytes:
        """Encrypt: nonce, tag, and what is as long as it was."""
        nonce = os.urandom(_NONCE_BYTES)
        data, tag = self._cipher.new(key=self._key, nonce=nonce).encrypt_and_digest(plain)
        return nonce + bytes(tag) + bytes(data)

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt.

        Raises:
            ValueError: It was changed, or the key is another.
        """
        nonce, rest = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        cipher = self._cipher.new(key=self._key, nonce=nonce)
        return bytes(cipher.decrypt_and_verify(rest[_TAG_BYTES:], rest[:_TAG_BYTES]))


class ForeignCipher:
    """The cipher of LangGraph's ``EncryptedSerializer``; its name stands before what it makes."""

    def __init__(self, cipher: CipherProtocol) -> None:
        self._cipher = cipher

    def encrypt(self, plain: bytes) -> bytes:
        """See ``Cipher``."""
        name, data = self._cipher.encrypt(plain)
        text = name.encode()
        return bytes((len(text),)) + text + data

    def decrypt(self, data: bytes) -> bytes:
        """See ``Cipher``."""
        end = 1 + data[0]
        return self._cipher.decrypt(data[1:end].decode(), data[end:])


def keys_and_serde(
    secrets: Sequence[str | bytes], serde: SerializerProtocol | None
) -> tuple[Keyring | None, SerializerProtocol]:
    """Tell the keys of a saver, and the serializer of its values in the clear.

    Args:
        secrets: The first writes, all read; none for a saver without encryption.
        serde: What the saver was given: of an ``EncryptedSerializer`` the cipher is used.

    Raises:
        ConfigError: A secret is too short; or an ``EncryptedSerializer`` comes without one.
    """
    if isinstance(secrets, (str, bytes)):
        raise ConfigError("encryption_keys is a sequence of keys, not one of them")
    cipher: Cipher | None = None
    if isinstance(serde, EncryptedSerializer):
        if not secrets:
            raise ConfigError(
                "an EncryptedSerializer needs encryption_keys=[...] beside it: addresses of "
                "documents and tokens of metadata are keyed with them"
            )
        cipher = ForeignCipher(serde.cipher)
        serde = _faithful(serde.serde)
    keys = [_key(secret, cipher) for secret in secrets]
    return Keyring(keys) if keys else None, serde or SafeSerializer()


def _faithful(serde: SerializerProtocol) -> SerializerProtocol:
    """Put our serializer in the place of LangGraph's own, which the encrypting one has inside."""
    if type(serde) is not JsonPlusSerializer or serde.pickle_fallback:
        return serde
    return SafeSerializer(allowed_msgpack_modules=getattr(serde, "_allowed_msgpack_modules", True))


def _key(secret: str | bytes, cipher: Cipher | None) -> Key:
    data = secret.encode() if isinstance(secret, str) else bytes(secret)
    if len(data) < KEY_MIN_BYTES:
        raise ConfigError(
            f"an encryption key has at least {KEY_MIN_BYTES} bytes, better 32 random ones, not "
            f"{len(data)}"
        )
    root = hashlib.blake2b(data, person=b"threadkeep.root").digest()

    def derived(name: bytes) -> bytes:
        return hashlib.blake2b(b"threadkeep", digest_size=32, key=root, person=name).digest()

    return Key(
        derived(b"ident")[:IDENT_BYTES],
        derived(b"addresses"),
        derived(b"tokens"),
        OwnCipher(derived(b"cipher")) if cipher is None else cipher,
    )
