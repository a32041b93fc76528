"""Read compressed files that are cut, damaged, joined or zip bombs; incomplete files are always reported."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
import zlib
from contextlib import suppress

import pytest
import zstandard

from noppa import NoppaError, NoppaWarning, WordVectors
from noppa.files import Input, read
from noppa.io import compression
from noppa.io.compression import open_plain

TEXT = b"".join(b"w%d 0.%d 1.5\n" % (at, at * 7919 % 100_000) for at in range(3000))


def zipped(content, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("inside.txt", content)
    return file.getvalue()


PACK = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
KINDS = pytest.mark.parametrize("kind", PACK)


def content_of(path):
    source = open_plain(path)
    try:
        return b"".join(iter(lambda: source.read(20_000), b""))
    finally:
        source.close()


@KINDS
def test_a_cut_file_is_never_whole(tmp_path, kind):
    path = tmp_path / "v"
    whole = PACK[kind](TEXT)
    for size in sorted({*range(10, 30), *range(30, len(whole), len(whole) // 40), len(whole) - 1}):
        path.write_bytes(whole[:size])
        with pytest.raises(NoppaError, match="damaged or cut short") as error:
            content_of(path)
        assert str(error.value).startswith(f"{path} is")
        with pytest.raises(NoppaError, match="cut short"):
            WordVectors.load(path, strict=True)
    with pytest.warns(
        NoppaWarning, match="is damaged or cut short .*: the rows before that were loaded"
    ):
        WordVectors.load(path)


@KINDS
def test_members_one_after_the_other(tmp_path, kind):
    path = tmp_path / "v"
    first, second = PACK[kind](TEXT[:500]), PACK[kind](TEXT[500:])
    path.write_bytes(first + second)
    assert content_of(path) == TEXT
    path.write_bytes(first + bytes(512) + second + bytes(1024))
    assert content_of(path) == TEXT, "zero bytes fill up blocks"
    path.write_bytes(PACK[kind](b"") + first + PACK[kind](b"") + second)
    assert content_of(path) == TEXT


@KINDS
def test_what_follows_a_member_is_another_one(tmp_path, kind):
    path = tmp_path / "v"
    whole = PACK[kind](TEXT)
    for more in (b"garbage", b"x", whole[:3], whole[:12], whole[: len(whole) // 2]):
        path.write_bytes(whole + more)
        with pytest.raises(NoppaError, match="damaged or cut short"):
            content_of(path)


@KINDS
def test_a_changed_byte_is_seen(tmp_path, kind):
    path = tmp_path / "v"
    whole = bytearray(PACK[kind](TEXT))
    whole[len(whole) // 2] ^= 0x10
    path.write_bytes(whole)
    with pytest.raises(NoppaError, match="damaged or cut short"):
        content_of(path)


# Archives


def test_encrypted_archive(tmp_path):
    content = bytearray(zipped(TEXT))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "v.zip").write_bytes(content)
    with pytest.raises(NoppaError, match="is an encrypted zip archive: unpack it"):
        WordVectors.load(tmp_path / "v.zip")


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_damaged_archives(tmp_path, method):
    whole = zipped(TEXT[:3000], method)
    path = tmp_path / "v.zip"
    path.write_bytes(whole)
    assert content_of(path) == TEXT[:3000]
    for at in (*range(60), len(whole) // 2, *range(len(whole) - 88, len(whole))):
        for change in (0x01, 0x80):
            damaged = bytearray(whole)
            damaged[at] ^= change
            path.write_bytes(damaged)
            with suppress(NoppaError):
                assert content_of(path) in (TEXT[:3000], damaged)  # not every byte matters
    for size in (30, 200, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(NoppaError, match="damaged or cut short"):
            content_of(path)


# Size


@pytest.mark.parametrize("kind", [*PACK, "zip"])
def test_what_grows_is_taken_in_pieces(tmp_path, monkeypatch, kind):
    """Of 24 MB of zeros in a few kilobytes, only the requested part is in memory."""
    monkeypatch.setattr(compression, "ZSTD_PIECE", 64)
    path = tmp_path / "v"
    path.write_bytes(PACK.get(kind, zipped)(bytes(24 << 20)))
    tracemalloc.start()
    source = open_plain(path)
    assert source.read(1000) == bytes(1000)
    source.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14 << 20


def test_memory_of_xz_is_bounded(tmp_path):
    content = bytearray(lzma.compress(TEXT))
    size = 4 * content[12] + 4  # of the header of the block, its checksum among them
    at = content.index(b"\x21\x01", 12) + 2
    content[at] = 39  # 3 GB
    checksum = zlib.crc32(content[12 : 12 + size - 4])
    content[12 + size - 4 : 12 + size] = checksum.to_bytes(4, "little")
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(NoppaError, match=r"damaged or cut short \(Memory usage limit"):
        content_of(tmp_path / "v")


# Records


@KINDS
def test_cut_tables_are_told(tmp_path, kind):
    path = tmp_path / f"records.csv.{kind}"
    rows = b"text\n" + b"".join(b"the %d\n" % (at * 7919 % 100_000) for at in range(30_000))
    path.write_bytes(PACK[kind](rows)[:-2000])
    with pytest.raises(NoppaError, match=r"records\.csv.* is damaged or cut short"):
        list(read(Input([str(path)], column="text")))
