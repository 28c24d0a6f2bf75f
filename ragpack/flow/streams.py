"""Bytes in: files or standard input, decompressed by their magic bytes, cut into numbered lines.
And the guard of standard output."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from ragpack.errors import DataError, Missing, UsageError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line of input. `data` has no line end."""

    source: str
    number: int
    data: bytes


class Stdout:
    """Descriptor 1, kept for records.

    `guard` duplicates it and points descriptor 1 at standard error, so that whatever a library, a child process
    or a C function prints goes there. Until `seal`, Python's `sys.stdout` still leads to the kept descriptor:
    `--help` and `--version` belong on standard output.
    """

    def __init__(self) -> None:
        self.fd = 1

    def guard(self) -> None:
        """Keep descriptor 1 for records. Call it before anything is imported."""
        try:
            self.fd = os.dup(1)
        except OSError:
            self.fd = os.open(os.devnull, os.O_WRONLY)  # started with standard output closed
        os.set_inheritable(self.fd, False)
        try:
            os.dup2(2, 1)
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
        sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(self.fd), "wb"), encoding="utf-8", line_buffering=True)

    def seal(self) -> None:
        """From here on even Python's `print` goes to standard error."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stdout = sys.stderr

    def silence(self) -> None:
        """The reader went away: nothing more can be written, and nothing more is to be said about it."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fd)


STDOUT = Stdout()


def check_inputs(files: Sequence[str]) -> None:
    """Refuse what can't be read before any model is loaded."""
    if not files and sys.stdin.isatty():
        raise UsageError("no input: name a file, or pipe records in", "`-` is standard input.")
    for name in files:
        if name != "-" and not os.path.exists(name):
            raise UsageError(f"no such file: {name}")
        if name != "-" and os.path.isdir(name):
            raise UsageError(f"{name} is a folder, not a file")


def lines(files: Sequence[str]) -> Iterator[Line]:
    """The lines of all files, one after another; no file or `-` is standard input.

    Lines end at `\\n` bytes only: U+2028 and U+0085 are text. A byte-order mark at a file's start and a `\\r` at a
    line's end are dropped.
    """
    for name in files or ["-"]:
        source = "<stdin>" if name == "-" else name
        with _opened(name) as stream:
            number = 0
            try:
                for number, raw in enumerate(stream, 1):  # the handler below names it
                    data = raw.rstrip(b"\n").removesuffix(b"\r")
                    yield Line(source, number, data.removeprefix(BOM) if number == 1 else data)
            except (EOFError, gzip.BadGzipFile, OSError) as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise DataError(f"{source}: after line {number}: the file can't be read further: {error}") from None


@contextlib.contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    raw = cast(BinaryIO, io.FileIO(0, closefd=False)) if name == "-" else cast(BinaryIO, io.FileIO(name))
    buffered = io.BufferedReader(cast(io.RawIOBase, raw), 1 << 18)
    try:
        # A pipe may hand over one byte at first; peek waits for no more than there is.
        head = buffered.peek(4)[:4]
        yield _decompressed(buffered, head)
    finally:
        with contextlib.suppress(OSError):
            buffered.close()


def _decompressed(stream: io.BufferedReader[Any], head: bytes) -> BinaryIO:
    if head.startswith(GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    if head.startswith(ZSTD):
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, _zstd().ZstdDecompressor().stream_reader(
            stream, read_across_frames=True))))  # fmt: skip
    return cast(BinaryIO, stream)


def _zstd() -> Any:  # noqa: ANN401 # zstandard has no types here
    try:
        import zstandard
    except ImportError:
        raise Missing("reading or writing .zst", "zstd") from None
    return zstandard


def compress_file(source: str, target: str, suffix: str) -> None:
    """Copy a file into one compressed as the suffix says, `.gz` or `.zst`."""
    with open(source, "rb") as reader, open(target, "wb") as raw:
        if suffix == ".zst":
            _zstd().ZstdCompressor().copy_stream(reader, raw)
            return
        # No name and no time in the header: equal runs give equal bytes.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as writer:
            while block := reader.read(1 << 20):
                writer.write(block)


def compressed(name: str) -> bool:
    """Is a file of this name written compressed?"""
    return name.endswith((".gz", ".zst"))


def require_compression(name: str) -> None:
    """Refuse `-o x.zst` at the start where zstandard is missing, not after an hour's work."""
    if name.endswith(".zst"):
        _zstd()
