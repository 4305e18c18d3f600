"""From a command's options to how a run is to be decoded, and to the run, loaded."""

from __future__ import annotations

import argparse
import dataclasses

import torch
from pydantic import ValidationError

from xformer.config import schema
from xformer.config.validate import in_our_words
from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.runs.machine import keep_memory
from xformer.runs.trained import Trained, default_device, load


def decoding(options: argparse.Namespace) -> schema.Decode:
    """The decoding settings of the run that `options.folder` names, those given in place of its own.

    Raises UserError for values that the configuration would not allow either.
    """
    decode = RunFolder(options.folder).config().decode
    names = [field.name for field in dataclasses.fields(decode) if hasattr(options, field.name)]
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    try:
        return dataclasses.replace(decode, **given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        option = f"--{str(wrong['loc'][0]).replace('_', '-')}"
        raise UserError(f"{option} {wrong['input']}: {in_our_words(wrong['msg'])}") from None


def open_run(options: argparse.Namespace, decode: schema.Decode) -> Trained:
    """Load the run, averaged as `decode` says, on as many threads as the options say."""
    keep_memory()
    if options.threads:
        torch.set_num_threads(options.threads)
    return load(RunFolder(options.folder), average=decode.average, device=default_device())
