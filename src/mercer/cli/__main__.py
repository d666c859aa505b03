"""The command as a process: `mercer` and `python -m mercer.cli`."""

from __future__ import annotations

import os
import sys

from mercer.cli.main import main
from mercer.cli.talk import INTERRUPTED


def run() -> None:
    """Run the command and end the process."""
    try:
        main(prog_name="mercer")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # The end of Python would wait for threads that are in the middle of a product.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise


if __name__ == "__main__":
    run()
