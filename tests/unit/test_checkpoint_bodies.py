"""Bodies and addresses: the bytes that must never change, and what is refused."""

import hashlib
import threading

import pytest

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.boilerplate import MESSAGES, TABLES
from threadkeep.errors import CorruptionError, SchemaTooNewError

# A changed byte makes stored bodies unreadable.
DICTIONARY_DIGEST = "dd76cb8b0599b178afcb0930ba32d8e02b3089c8a2cd34b315dd4ad2eadc33e7"
TABLES_DIGEST = "1c50f86246e0df66a7f6fbb131386e34bc706ec57900fcc75b15407ad1d1a10b"


def test_the_dictionary_of_messages_is_the_one_that_bodies_were_stored_with() -> None:
    assert hashlib.sha256(MESSAGES).hexdigest() == DICTIONARY_DIGEST
    assert hashlib.sha256(TABLES).hexdigest() == TABLES_DIGEST


def test_a_body_stored_by_this_release_is_read() -> None:
    stored = bytes.fromhex(
        "042061250200c3840cdbef695d4f97efea65e872fa2c3dbda47885efadfee2f4bcccf9bfcff8fb95"
        "ef6a3389577986e5ca6ffe7da7f5327fcbb41104fc5664597dfa45a5dfc859582236"
    )
    assert bodies.unseal(stored) == (
        b"\x03Every lantern by the harbour was lit before the ferry came in, and nobody asked why "
        b"it was late."
    )


def test_a_body_stored_by_an_earlier_release_is_read() -> None:
    stored = bytes.fromhex("0120f16d0000300368656c6c6f01006850a508")
    assert bodies.unseal(stored) == b"\x03" + b"hello" * 48


@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, 1_000_000])
def test_a_body_gives_its_plain_back(size: int) -> None:
    for plain in (b"\x03" + b"a" * size, bytes(n * n % 251 for n in range(size))):
        assert bodies.unseal(bodies.seal(plain)) == plain


def test_a_body_is_compressed_only_where_that_pays() -> None:
    assert bodies.seal(b"x" * 20)[0] == bodies.PLAIN
    assert bodies.seal(b"x" * 2000)[0] == bodies.TABLED
    assert bodies.seal(hashlib.shake_128(b"noise").digest(2000))[0] == bodies.PLAIN


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x40abc",
        b"\xffabc",
        b"\x01not a frame",
        b"\x01",
        bytes.fromhex("0120f16d0000300368656c6c6f01006850a508") + b"more",
        bytes.fromhex("0120f16d0000300368656c6c6f01006850a5"),
        bytes((bodies.MANIFEST,)),
        bytes((bodies.FIELD,)),
        bytes((bodies.CHECKED,)),
    ],
)
def test_what_is_no_body_is_refused(body: bytes) -> None:
    with pytest.raises(CorruptionError):
        bodies.unseal(body)


def test_a_body_of_a_later_format_asks_for_an_upgrade() -> None:
    with pytest.raises(SchemaTooNewError, match="format 10"):
        bodies.unseal(b"\x0aabc")


def test_a_frame_that_claims_more_than_it_can_hold_is_refused_before_anything_is_made_for_it() -> (
    None
):
    # A frame header of 8 bytes of content size, then one block that repeats a byte.
    claims = bytes((bodies.ZSTD, 0xE0)) + (2**40).to_bytes(8, "little") + b"\x03\x00\x10a"
    with pytest.raises(CorruptionError, match="claims 1099511627776"):
        bodies.unseal(claims)
    silent = bytes((bodies.ZSTD, 0x00, 0x50)) + b"\x03\x00\x10a"  # says no content size
    with pytest.raises(CorruptionError, match="claims"):
        bodies.unseal(silent)


def test_what_would_be_refused_as_a_bomb_is_stored_uncompressed() -> None:
    plain = bytes(bodies.PLAIN_MAX_BYTES + 1)
    assert bodies.seal(plain)[0] == bodies.PLAIN
    assert bodies.seal(plain[:-1])[0] == bodies.TABLED


def test_an_address_covers_kind_content_and_the_addresses_named() -> None:
    made = {
        bodies.address(key, plain, refs)
        for key in (bodies.PUBLIC_KEY, b"another")
        for plain in (b"\x03a", b"\x13a", b"\x03b")
        for refs in ((), (b"1" * 12,), (b"2" * 12,))
    }
    assert len(made) == 18
    assert {len(ref) for ref in made} == {12}


def test_addresses_are_the_ones_of_the_format() -> None:
    assert bodies.address(bodies.PUBLIC_KEY, b"\x03abc").hex() == "7aa83618456dc95dd59a657a"


def test_several_threads_compress_at_once() -> None:
    plains = [bytes([n]) * 50_000 + b"tail" * n for n in range(8)]
    wrong: list[int] = []

    def work(n: int) -> None:
        for _ in range(200):
            if bodies.unseal(bodies.seal(plains[n])) != plains[n]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
