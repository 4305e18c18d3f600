"""One rank of several, for test_ranks.py: `torchrun -m tests.training.one_rank FOLDER CASES`.

CASES is JSON: for each run its name, the changes to the small configuration, and, where it is to be
stopped, the rank and the number of the call at which that rank's `stop` first asks for it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.training.runs import small_run, stop_after, train


def main(folder: Path, cases: dict[str, dict[str, object]]) -> None:
    rank = int(os.environ["RANK"])
    for name, case in cases.items():
        asked = case.get("stop")
        here = isinstance(asked, list) and asked[0] == rank
        stop = stop_after(asked[1]) if here and isinstance(asked, list) else lambda: None
        changes = case["changes"]
        assert isinstance(changes, dict)
        outcome = train(*small_run(folder, **changes), folder / name, stop=stop)
        (folder / f"{name}.rank{rank}.json").write_text(json.dumps([outcome.state, outcome.updates]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
