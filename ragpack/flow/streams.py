"""Bytes in: files or standard input, decompressed by their magic bytes, cut into numbered lines.
And the guard of standard output."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
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
        for fd in range(3):
            try:
                os.fstat(fd)
            except OSError:  # started with `>&-`: the next file that is opened would take its place
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if sys.stderr is None:
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 # as long as the process
        self.fd = os.dup(1)
        os.set_inheritable(self.fd, False)
        os.dup2(2, 1)
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
    if sys.stdin is None:
        if not files or "-" in files:
            raise UsageError("standard input is closed: name a file, or pipe records in")
    elif not files and sys.stdin.isatty():
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
            except (EOFError, OSError, zlib.error) as error:
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
        return cast(BinaryIO, io.BufferedReader(_Zstd(stream, _zstd()), 1 << 18))
    return cast(BinaryIO, stream)


class _Zstd(io.RawIOBase):
    """The text of zstd frames. zstandard's own reader takes a torn frame for the end of the file."""

    def __init__(self, stream: io.BufferedReader[Any], zstandard: Any) -> None:  # noqa: ANN401 # no types here
        self._stream = stream
        self._zstandard = zstandard
        self._frame: Any = None
        self._waiting = b""  # compressed, behind the end of a frame
        self._text = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 # any writable buffer
        while not self._text:
            block = self._waiting or self._stream.read1(1 << 16)
            self._waiting = b""
            if not block:
                if self._frame is not None:
                    raise EOFError("the zstd frame is torn")
                return 0
            if self._frame is None:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._text = self._frame.decompress(block)
            except self._zstandard.ZstdError as error:
                raise OSError(str(error)) from None
            if self._frame.eof:
                self._waiting, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size


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
