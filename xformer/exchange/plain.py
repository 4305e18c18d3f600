"""xformer's own model in plain files: safetensors, JSON, text. Any model can be exported so.

`config.json` holds the `model` part of the configuration and the size of the vocabulary, `model.safetensors`
the weights under the names they have in a checkpoint, `tokenizer.json` what the `tokenizers` library reads.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError

from xformer.config import schema
from xformer.data.tokenizer import Tokenizer
from xformer.data.tokenizer_file import load_tokenizer
from xformer.errors import UserError
from xformer.exchange.folder import Origin, read_object
from xformer.exchange.tensors import read_tensors, write_tensors
from xformer.files import write_atomic, write_json
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq
from xformer.runs.trained import Trained
from xformer.training.checkpoints import put_weights

FORMAT = "safetensors"
VERSION = 1  # raised when a change here makes older versions of xformer misread the folder
FILES = frozenset({"config.json", "model.safetensors", "tokenizer.json", "README.md"})

_README = """\
# A Transformer trained with xformer

Exported from {origin}: {parameters:,} parameters, a vocabulary of {vocabulary:,}.

```python
from xformer.exchange.plain import load

exported = load(".")  # this folder
exported.model        # a torch module: model(source, source_mask, target_in), then model.logits(...)
exported.tokenizer    # encode(lines), decode(ids); ids 0 to 3 are padding, begin, end, unknown
```

A source ends with the end token, a target begins with the begin token. Nothing in this folder runs when it is
loaded.
"""


@dataclass(frozen=True)
class Exported:
    """A model and its tokenizer, read back."""

    config: schema.Model
    tokenizer: Tokenizer
    model: Seq2Seq


def write(trained: Trained, folder: Path, origin: Origin) -> None:
    """Write the files of an export into `folder`. Raises OSError where it cannot."""
    model, vocabulary = trained.model, trained.tokenizer.vocabulary
    write_tensors(folder / "model.safetensors", model.state_dict())
    values = {
        "xformer": VERSION,
        "model": TypeAdapter(schema.Model).dump_python(trained.config.model, mode="json"),
        "vocabulary": vocabulary,
    }
    write_json(folder / "config.json", values)
    trained.tokenizer.save(folder / "tokenizer.json")
    parameters = sum(parameter.numel() for parameter in model.parameters())
    write_atomic(
        folder / "README.md", _README.format(origin=origin, parameters=parameters, vocabulary=vocabulary)
    )


def load(folder: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> Exported:
    """Read an export back: a model that gives the same logits to the bit, ready to translate.

    Raises UserError for a folder that is no such export, is damaged, or that a newer xformer wrote.
    """
    path = Path(folder)
    config, vocabulary = _config(path / "config.json")
    tokenizer = load_tokenizer(path / "tokenizer.json")
    if tokenizer.vocabulary != vocabulary:
        raise UserError(
            f"{path}: its tokenizer has {tokenizer.vocabulary} tokens, its configuration {vocabulary}"
        )
    model = build(config, vocabulary)
    weights = path / "model.safetensors"
    put_weights(model, read_tensors(weights), weights)
    return Exported(config, tokenizer, model.to(device).eval())


def _config(path: Path) -> tuple[schema.Model, int]:
    values: dict[str, Any] = read_object(path)
    version, vocabulary = values.get("xformer"), values.get("vocabulary")
    if not isinstance(version, int) or not isinstance(vocabulary, int) or vocabulary < 1:
        raise UserError(f"{path}: not that of an export to safetensors by xformer")
    if version > VERSION:
        raise UserError(
            f"{path}: has version {version}, this xformer knows {VERSION} at most: use a newer one"
        )
    try:
        return TypeAdapter(schema.Model).validate_json(json.dumps(values.get("model"))), vocabulary
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(map(str, ("model", *wrong["loc"])))
        raise UserError(f"{path}: {key}: {wrong['msg']}, not {wrong['input']!r}") from None
