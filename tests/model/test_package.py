"""Counting parameters and operations takes no torch."""

from __future__ import annotations

import subprocess
import sys


def test_accounting_and_flops_do_not_import_torch():
    code = (
        "import sys, xformer.model, xformer.model.accounting, xformer.model.flops;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
