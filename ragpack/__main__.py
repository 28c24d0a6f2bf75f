"""python -m ragpack, and the `ragpack` command. Only `main` exits."""

import os
import signal
import sys

from ragpack.flow.streams import STDOUT


def main() -> None:
    """Keep standard output for records, then read the command line."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until a run handles it: no traceback out of an import
    STDOUT.guard()
    # Products of 48 rows: waking a second thread costs a hundred times what it saves, and it spins beside `-j`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ragpack.cli import run  # after the guard: nothing that it imports may print to standard output

    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        code = code or (141 if isinstance(error, BrokenPipeError) else 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


if __name__ == "__main__":
    main()
