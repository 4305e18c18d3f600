"""Counting parameters and operations takes no torch."""

from __future__ import annotations

import subprocess
import sys


def test_sizes_do_not_import_torch():
    code = (
        "import sys, xformer.model, xformer.config.sizes.accounting, xformer.config.sizes.flops,"
        " xformer.config.sizes.matching; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
