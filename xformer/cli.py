"""The one entry point: it reads the command line and calls the room that does the work, loaded only then."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from xformer import __version__, options as takes, streams
from xformer.errors import UserError
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
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="xformer",
        description='Reproduce "Attention Is All You Need" row by row and set modern variants against it.',
        epilog=EXAMPLES,
        formatter_class=layout,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xformer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add_options, run, summary in _COMMANDS:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=EXAMPLES if name == "train" else None,
            formatter_class=layout,
            allow_abbrev=False,
        )
        add_options(command)
        command.set_defaults(run=run)
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

    print_status(collect(options.folder), options.folder, None if options.json else streams.console())
    return 0


def _report(options: argparse.Namespace) -> int:
    from xformer.study.report import write_report

    write_report(
        options.folder, options.out, claims=options.claims, records=options.records, base=options.base
    )
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


# What each is called, the options it takes, what carries it out, and its line of `xformer --help`.
_COMMANDS = (
    ("train", takes.train, _train, "train one run, or many (sweeps=NAME, or -m)"),
    ("inspect", takes.inspect, _inspect, "sizes, parameters and cost of a configuration, without training"),
    ("data", takes.data, _data, "prepare the corpus only: check, tokenize, encode"),
    ("evaluate", takes.evaluate, _evaluate, "score a trained run on a split of its corpus, or on any files"),
    ("translate", takes.translate, _translate, "translate lines with a trained run"),
    ("average", takes.average, _average, "the mean of a run's last checkpoints, as a run of its own"),
    ("attend", takes.attend, _attend, "attention maps of one sentence pair, as page, picture or data"),
    ("export", takes.export, _export, "a trained run in a format that other programs read (docs/export.md)"),
    ("import", takes.import_, _import, "a model in Hugging Face's Marian format as a run folder"),
    ("record", takes.record, _record, "a small file for each finished run, to keep or publish"),
    ("compare", takes.compare, _compare, "two runs: configuration, scores with paired tests, sentences"),
    ("status", takes.status, _status, "every run below a folder: state, progress, reason"),
    ("report", takes.report, _report, "tables of the runs below a folder, the paper's figures beside them"),
    ("dashboard", takes.dashboard, _dashboard, "the report's panels on Weights & Biases, or as a file"),
)


if __name__ == "__main__":
    sys.exit(main())
