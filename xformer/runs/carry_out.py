"""One run from its frozen configuration to its result: prepare, train, decode, score."""

from __future__ import annotations

import logging

from xformer.config import schema, splits
from xformer.data.prepare import Prepared, prepare
from xformer.errors import Stopped, UserError
from xformer.files import write_json
from xformer.runs.evaluation import Evaluation, score_split
from xformer.runs.folder import RunFolder, State
from xformer.runs.identity import identify
from xformer.runs.reporter import Reporter, Stop
from xformer.runs.result import result
from xformer.runs.tracking import Sample, Tracker, pick
from xformer.runs.trained import load
from xformer.training.device import training_device
from xformer.training.fit import FitResult, Progress, fit

log = logging.getLogger("xformer")


def carry_out(folder: RunFolder, reporter: Reporter, stop: Stop, tracker: Tracker, *, first: bool) -> State:
    """Do all that is still to be done for the run in `folder`; returns the state it is then in.

    The checkpoint on the disk says how far an earlier start had come. `first` is False for the ranks that
    only train along. Raises UserError for what the user can mend.
    """
    config = folder.config()
    prepared = prepare(config)
    _check_same(folder, config, prepared)
    if first:
        prepared.tokenizer.save(folder.tokenizer)

    def report(progress: Progress) -> None:
        reporter.write(
            phase=progress.phase,
            updates=progress.updates,
            loss=progress.loss,
            tokens_per_second=progress.tokens_per_second,
            seconds_left=progress.seconds_left,
        )

    outcome = fit(config, prepared, folder.path, report=report, track=tracker.log, stop=stop)
    if outcome.state != "finished" or not first:
        reporter.write(state=outcome.state, reason=outcome.reason, updates=outcome.updates, phase="ended")
        return outcome.state
    try:
        _score(folder, prepared, outcome, reporter, stop, tracker)
    except Stopped:
        reporter.write(state="interrupted", reason=f"stopped while {reporter.status.phase}")
        return "interrupted"
    reporter.write(state="finished", reason=None, phase="ended", seconds_left=0.0)
    return "finished"


def _check_same(folder: RunFolder, config: schema.Config, prepared: Prepared) -> None:
    """The text may have changed since the folder was named after it."""
    now = identify(
        config,
        data_hash=prepared.data_hash,
        tokenizer_hash=prepared.tokenizer_hash,
        data_name=prepared.corpus.name,
    )
    if now.name != folder.path.name:
        raise UserError(
            f"{folder.path}: the corpus or the configuration changed while the run was starting "
            f"(it is now {now.name}); start it again"
        )


def _score(
    folder: RunFolder,
    prepared: Prepared,
    outcome: FitResult,
    reporter: Reporter,
    stop: Stop,
    tracker: Tracker,
) -> None:
    trained = load(folder, device=training_device(folder.config().trainer))
    scored: dict[str, Evaluation] = {}
    for name, split in splits.SCORED.items():
        reporter.write(phase=f"scoring {name}", updates=outcome.updates)
        scored[name] = score_split(trained, prepared, split, lambda _: stop.check())
    values = result(trained, reporter.status, outcome, prepared, reporter.seconds_spent, scored)
    write_json(folder.result_file, values)
    data, dev = prepared.evaluation(splits.SCORED["dev"]), scored["dev"]
    samples = map(Sample, data.source_lines, data.reference_lines, dev.hypotheses)
    tracker.finished(values, pick(list(samples)))
