"""One rank of several, for test_ranks.py: `torchrun -m tests.training.one_rank RUN CASE`.

CASE is JSON: the changes to the small configuration and, where it is to be stopped, the rank and the number
of the call at which that rank's `stop` first asks for it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.training.runs import small_run, stop_after, train


def main(run: Path, case: dict[str, Any]) -> None:
    """Train as one rank, and leave how that ended beside the run."""
    rank = int(os.environ["RANK"])
    who, when = case.get("stop", (None, 0))
    stop = stop_after(when) if who == rank else lambda: None
    outcome = train(*small_run(run.parent, **case["changes"]), run, stop=stop)
    run.with_name(f"{run.name}.rank{rank}.json").write_text(json.dumps([outcome.state, outcome.updates]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
