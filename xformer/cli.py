"""The one entry point: it reads the command line and calls the room that does the work, loaded only then."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xformer import __version__, streams
from xformer.errors import UserError
from xformer.options import add_decoding, add_overrides, add_run, add_threads
from xformer.wording import counted

EXAMPLES = """\
examples:
  xformer train experiments=table3/base                      one row, on the built-in language
  xformer train experiments=table3/base model.heads=4        one thing changed
  xformer train -m experiments=table3/base,table3/A_h1 seed=1,2,3
  xformer train sweeps=table3 hydra/launcher=joblib hydra.launcher.n_jobs=2
  xformer train data=files data.dir=DIR data.source=en data.target=de scale=mini
  xformer report runs --out report
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (docs/design.md, Contracts)."""
    streams.replace_what_is_not_in_the_encoding()
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    # argparse takes overrides only up to the first option; Hydra's users mix them freely.
    if "overrides" in options:
        options.overrides += [word for word in rest if not word.startswith("-")]
        rest = [word for word in rest if word.startswith("-")]
    if rest:
        parser.error(
            f"{options.command} does not know {' '.join(rest)}; see xformer {options.command} --help"
        )
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        code = run(options)
        streams.flush()
        return code
    except UserError as error:
        print(f"xformer: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("xformer: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 141
    except OSError as error:
        if (said := streams.refusal(error)) is None:
            raise
        print(f"xformer: {said}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xformer",
        description='Reproduce "Attention Is All You Need" row by row and set modern variants against it.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xformer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=summary, description=summary, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        added.set_defaults(run=run)
        return added

    train = command("train", _train, "train one run, or many (sweeps=NAME, or -m)")
    train.epilog = EXAMPLES
    train.add_argument("-m", "--multirun", action="store_true", help="one run for each combination of a,b,c")
    train.add_argument("-c", "--cfg", choices=["job"], help="print the configuration and train nothing")
    train.add_argument(
        "--dry-run", action="store_true", help="print each run, its folder and what it lacks; train nothing"
    )
    add_overrides(train)

    inspect = command("inspect", _inspect, "sizes, parameters and cost of a configuration, without training")
    inspect.add_argument("--json", action="store_true", help="print one JSON object")
    inspect.add_argument(
        "--diff", nargs=2, metavar=("A", "B"), help="two experiments, such as table3/base table3/big"
    )
    add_overrides(inspect)

    data = command("data", _data, "prepare the corpus only: check, tokenize, encode")
    add_overrides(data)

    evaluate = command("evaluate", _evaluate, "score a trained run on a split of its corpus, or on any files")
    add_run(evaluate)
    evaluate.add_argument(
        "--split", action="append", metavar="NAME", help="split to score (test); may be given again"
    )
    evaluate.add_argument("--input", type=Path, metavar="FILE", help="score this text instead, plain or .gz")
    evaluate.add_argument("--reference", type=Path, metavar="FILE", help="what --input should become")
    evaluate.add_argument(
        "--testset", metavar="NAME", help="score one of sacrebleu's test sets instead, such as wmt14"
    )
    evaluate.add_argument("--langpair", metavar="PAIR", help="languages of --testset, such as en-de")
    evaluate.add_argument(
        "--join", type=int, metavar="N", default=1, help="make one long sentence of every N lines"
    )
    evaluate.add_argument(
        "--metric", action="append", choices=["comet", "tokenised_bleu"],
        help="score by this too (docs/decoding.md); may be given again",
    )  # fmt: skip
    add_decoding(evaluate)

    translate = command("translate", _translate, "translate lines with a trained run")
    add_run(translate)
    translate.add_argument(
        "--input", type=Path, metavar="FILE", help="plain or .gz; standard input if left out"
    )
    translate.add_argument(
        "--output", type=Path, metavar="FILE", help="plain or .gz; standard output if left out"
    )
    translate.add_argument(
        "--nbest", type=int, metavar="N", default=1, help="N lines for each, its number in front"
    )
    translate.add_argument("--scores", action="store_true", help="score and log-probability in front")
    translate.add_argument("--attention", action="store_true", help="source token of each token, i-j, behind")
    add_decoding(translate)
    translate.add_argument("--sample", action="store_true", help="draw tokens instead of searching")
    translate.add_argument("--temperature", type=float, metavar="T", help="of --sample (1)")
    translate.add_argument("--top-p", type=float, metavar="P", help="share of probability to draw from (1)")
    translate.add_argument("--seed", type=int, metavar="N", help="of --sample (1)")

    average = command("average", _average, "the mean of a run's last checkpoints, as a run of its own")
    add_run(average)
    average.add_argument("--last", type=int, metavar="N", required=True, help="checkpoints to average")
    average.add_argument("--out", type=Path, metavar="DIR", help="RUN-averageN if left out")
    add_threads(average)

    attend = command("attend", _attend, "attention maps of one sentence pair, as page, picture or data")
    add_run(attend)
    attend.add_argument("--source", required=True, metavar="TEXT", help="one sentence")
    attend.add_argument("--target", metavar="TEXT", help="the run's own translation if left out")
    attend.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".html .png .pdf .svg .json or .npz"
    )
    attend.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")
    attend.add_argument(
        "--kind", choices=["encoder", "decoder", "cross", "joint"],
        help="only these; joint is that of a model with a single stack",
    )  # fmt: skip
    attend.add_argument("--layer", type=int, metavar="N", help="only this layer, counted from 1")
    attend.add_argument("--head", type=int, metavar="N", help="only this head, counted from 1")

    export = command("export", _export, "a trained run in a format that other programs read (docs/export.md)")
    add_run(export)
    export.add_argument(
        "--to", required=True, choices=["safetensors", "marian", "ctranslate2"], help="format"
    )
    export.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    export.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")

    fetch = command("import", _import, "a model in Hugging Face's Marian format as a run folder")
    fetch.add_argument(
        "model", type=Path, metavar="DIR", help="folder with config.json and model.safetensors"
    )
    fetch.add_argument("--out", type=Path, required=True, metavar="RUN", help="run folder to write")

    keep = command("record", _record, "a small file for each finished run, to keep or publish")
    keep.add_argument("folder", type=Path, metavar="FOLDER", help="folder that holds the runs")
    keep.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")

    compare = command("compare", _compare, "two runs: configuration, scores with paired tests, sentences")
    compare.add_argument("left", type=Path, metavar="RUN_A", help="run folder")
    compare.add_argument("right", type=Path, metavar="RUN_B", help="run folder")
    compare.add_argument("--split", default="test", metavar="NAME", help="split to compare on (test)")
    compare.add_argument("--json", action="store_true", help="print one JSON object")

    status = command("status", _status, "every run below a folder: state, progress, reason")
    status.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))

    report = command("report", _report, "tables of the runs below a folder, the paper's figures beside them")
    report.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))
    report.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the page, Markdown, LaTeX, CSV and pictures",
    )
    report.add_argument(
        "--claims", type=Path, metavar="FILE", help="judge these claims, not the built-in ones"
    )

    report.add_argument(
        "--records", type=Path, metavar="DIR", help="records that join the runs, such as a sweep's done_dir"
    )

    board = command("dashboard", _dashboard, "the report's panels on Weights & Biases, or as a file")
    board.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))
    board.add_argument("--project", metavar="NAME", help="that of the runs, or xformer, if left out")
    board.add_argument("--entity", metavar="NAME", help="team or user; the login's own if left out")
    board.add_argument(
        "--out", type=Path, metavar="FILE", help="specification to write (FOLDER/dashboard.json)"
    )
    return parser


def _train(options: argparse.Namespace) -> int:
    if options.cfg:
        import yaml

        from xformer.config.compose import compose
        from xformer.config.validate import dump

        print(
            yaml.safe_dump(dump(compose(options.overrides, config_dir=options.config_dir)), sort_keys=False)
        )
        return 0
    from xformer.config.compose import plan

    planned = plan(options.overrides, multirun=options.multirun, config_dir=options.config_dir)
    if options.dry_run:
        from xformer.runs.dry_run import dry_run

        return dry_run(planned)
    from xformer.runs.launch import launch  # after the check, which should answer at once

    return launch(planned, options.overrides, config_dir=options.config_dir)


def _inspect(options: argparse.Namespace) -> int:
    from xformer.inspection.command import inspect

    return inspect(options)


def _data(options: argparse.Namespace) -> int:
    from xformer.config.compose import compose
    from xformer.data.prepare import prepare

    print(prepare(compose(options.overrides, config_dir=options.config_dir)).summary())
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from xformer.runs.evaluating import evaluate

    return evaluate(options)


def _translate(options: argparse.Namespace) -> int:
    from xformer.runs.translating import run

    return run(options)


def _average(options: argparse.Namespace) -> int:
    from xformer.runs.averaging import average

    return average(options)


def _attend(options: argparse.Namespace) -> int:
    from xformer.attention_maps.files import check_path

    check_path(options.out)  # at once, before anything heavy is loaded
    from xformer.runs.attend import attend

    return attend(options)


def _export(options: argparse.Namespace) -> int:
    from xformer.exchange.export import export

    return export(options)


def _import(options: argparse.Namespace) -> int:
    from xformer.exchange.imports import import_model

    return import_model(options)


def _status(options: argparse.Namespace) -> int:
    from xformer.study.collect import collect
    from xformer.study.status import print_status

    print_status(collect(options.folder), options.folder, streams.console())
    return 0


def _report(options: argparse.Namespace) -> int:
    from xformer.study.report import write_report

    write_report(options.folder, options.out, claims=options.claims, records=options.records)
    return 0


def _record(options: argparse.Namespace) -> int:
    from xformer.runs.record import record

    written = record(options.folder, options.out)
    print(f"{counted(len(written), 'new record')} in {options.out}")
    return 0


def _dashboard(options: argparse.Namespace) -> int:
    from xformer.dashboard.command import dashboard

    dashboard(options.folder, options.project, options.entity, options.out)
    return 0


def _compare(options: argparse.Namespace) -> int:
    from xformer.study.two_runs_view import compare

    return compare(options.left, options.right, options.split, options.json)


if __name__ == "__main__":
    sys.exit(main())
