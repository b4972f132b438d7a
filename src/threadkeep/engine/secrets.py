"""The secrets of runs that wait: encrypted in their rows, or held by the process that made them.

No row has them in the clear. With a key they are encrypted there, so that any process with the key
executes the run. Without one they stay in the memory of this process: a run that another process
takes over ends as an error that says so.
"""

import base64
import hashlib
import importlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from threadkeep.errors import ConfigError, SecretsLostError
from threadkeep.model.runs import Run
from threadkeep.rules.json_text import decode_json, json_text, normal_object
from threadkeep.rules.redaction import SEALED
from threadkeep.rules.run_secrets import Secrets, secrets_of, with_secrets, without_secrets

MIN_KEY_CHARACTERS = 16
MAX_HELD_RUNS = 100_000  # whose secrets are in memory; the oldest go first, and are lost
NONCE_BYTES = 24  # long enough to be random each time
TAG_BYTES = 16


class SecretCipher:
    """XChaCha20-Poly1305 under a key that is made of a configured text.

    Raises:
        ConfigError: The text is too short, or the package with the cipher is missing.
    """

    def __init__(self, text: str) -> None:
        if len(text) < MIN_KEY_CHARACTERS:
            raise ConfigError(
                f"THREADKEEP_SECRET_KEY has {len(text)} characters; it needs at least "
                f"{MIN_KEY_CHARACTERS}, better 32 random ones"
            )
        try:
            self._cipher: Any = importlib.import_module("Crypto.Cipher.ChaCha20_Poly1305")
        except ImportError as error:
            raise ConfigError(
                'THREADKEEP_SECRET_KEY needs pycryptodome: pip install "threadkeep[encryption]"'
            ) from error
        self._key = hashlib.blake2b(text.encode(), digest_size=32, person=b"thkp.run.secrets")

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt, bound to a place: it opens nowhere else."""
        nonce = os.urandom(NONCE_BYTES)
        cipher = self._cipher.new(key=self._key.digest(), nonce=nonce)
        cipher.update(place)
        data, tag = cipher.encrypt_and_digest(plain)
        return nonce + bytes(tag) + bytes(data)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Decrypt.

        Raises:
            ValueError: It was changed, is another place's, or under another key.
        """
        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        cipher = self._cipher.new(key=self._key.digest(), nonce=nonce)
        cipher.update(place)
        return bytes(cipher.decrypt_and_verify(rest[TAG_BYTES:], rest[:TAG_BYTES]))


class SecretKeeper:
    """Takes secrets out of what a run is made with, and gives them back to who executes it.

    Args:
        cipher: Encrypts them; without one they are held here.
    """

    def __init__(self, cipher: SecretCipher | None) -> None:
        self._cipher = cipher
        self._held: OrderedDict[str, Secrets] = OrderedDict()

    def hide(self, run_id: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is kept of a run in its row.

        Raises:
            ValueNotStorableError: A secret is not JSON.
        """
        secrets = secrets_of(kwargs)
        if not secrets:
            return kwargs
        plain = normal_object(secrets, "the run's secrets")
        if self._cipher is not None:
            sealed = self._cipher.seal(json_text(plain).encode(), run_id.encode())
            return without_secrets(kwargs, {"encrypted": base64.b64encode(sealed).decode()})
        self._held[run_id] = plain
        while len(self._held) > MAX_HELD_RUNS:
            self._held.popitem(last=False)
        return without_secrets(kwargs, {"held": True})

    def reveal(self, run: Run) -> Run:
        """Return a run as it was asked for, for whoever executes it.

        Raises:
            SecretsLostError: Its secrets are not here, or cannot be decrypted.
        """
        sealed = run.kwargs.get(SEALED)
        if sealed is None:
            return run
        return replace(run, kwargs=with_secrets(run.kwargs, self._secrets(run.run_id, sealed)))

    def forget(self, run_id: str) -> None:
        """Let go of what is held for a run that has begun, or ended."""
        self._held.pop(run_id, None)

    def _secrets(self, run_id: str, sealed: Mapping[str, Any]) -> Secrets:
        if "encrypted" not in sealed:
            held = self._held.get(run_id)
            if held is None:
                raise SecretsLostError(
                    f"the secrets of run {run_id!r} were held by the process that made it, which "
                    "is gone; start a new run, or set THREADKEEP_SECRET_KEY on every process"
                )
            return held
        if self._cipher is None:
            raise SecretsLostError(
                f"the secrets of run {run_id!r} are encrypted, and this process has no "
                "THREADKEEP_SECRET_KEY"
            )
        try:
            plain = self._cipher.open(base64.b64decode(sealed["encrypted"]), run_id.encode())
        except ValueError as error:
            raise SecretsLostError(
                f"the secrets of run {run_id!r} cannot be decrypted: this process has another "
                "THREADKEEP_SECRET_KEY than the one that made it"
            ) from error
        secrets: Secrets = decode_json(plain.decode())
        return secrets
