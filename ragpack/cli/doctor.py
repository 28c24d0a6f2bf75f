"""ragpack doctor"""

from __future__ import annotations

from ragpack.cli import app


@app.command()
def doctor() -> int:
    """ragpack doctor

    What is installed, and how to get what is not. Exit 1 where a core package is missing.
    """
    from ragpack.report.doctor import examination

    found = examination()
    print(found.text)
    return 0 if found.healthy else 1
