"""Test sets by sacrebleu's names, such as wmt14 in en-de: fetched once into sacrebleu's own folder."""

from __future__ import annotations

import difflib
import shutil
import sys
from pathlib import Path

from sacrebleu import dataset, utils

from xformer.data.corpus import read_lines
from xformer.errors import UserError


def check_named(name: str, pair: str) -> None:
    """Raise UserError, without a look at any network, for names that sacrebleu does not know."""
    if name not in dataset.DATASETS:
        near = difflib.get_close_matches(name, dataset.DATASETS, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`sacrebleu --list` shows them all"
        raise UserError(f"--testset {name}: sacrebleu knows no such test set; {hint}")
    pairs = dataset.DATASETS[name].langpairs
    if pair not in pairs:
        raise UserError(f"--langpair {pair}: {name} has {', '.join(sorted(pairs))}")


def named_set(name: str, pair: str) -> tuple[list[str], list[str]]:
    """Sources and references of a test set; of several references the first.

    Raises UserError where it is not known or cannot be fetched.
    """
    check_named(name, pair)
    folder = Path(utils.SACREBLEU_DIR) / name
    if not any(folder.glob(f"*{pair}*")):
        addresses = ", ".join(dataset.DATASETS[name].data or ["its publishers"])
        print(f"xformer: fetching {name} from {addresses} into {folder}", file=sys.stderr)
    try:
        source = utils.get_source_file(name, pair)
        reference = utils.get_reference_files(name, pair)[0]
    except (Exception, SystemExit) as error:  # it ends the program where a checksum is wrong
        # What was fetched by halves would be taken for whole the next time, with its checksum unread.
        shutil.rmtree(folder / "raw", ignore_errors=True)
        raise UserError(
            f"--testset {name}: cannot be fetched: {error}. Without a network, give the files themselves: "
            "--input FILE --reference FILE"
        ) from None
    return read_lines(Path(source)), read_lines(Path(reference))
