"""The command `xformer import`: a model in Hugging Face's Marian format as a run folder.

Nothing is downloaded, and nothing that is read can run: weights come from safetensors only.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from xformer.config import schema
from xformer.config.compose import compose
from xformer.config.validate import dump, validate
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.errors import UserError
from xformer.exchange.folder import read_object
from xformer.exchange.foreign_tokenizer import ForeignTokenizer
from xformer.exchange.marian_config import from_marian
from xformer.exchange.marian_weights import import_weights
from xformer.exchange.opus_tokenizer import SIDES, OpusTokenizer
from xformer.exchange.output_bias import fold
from xformer.exchange.rows import Rows, arrange
from xformer.exchange.tensors import read_tensors
from xformer.files import replacing_folder, written
from xformer.model.embedding import TYING
from xformer.runs.folder import RunFolder, Status
from xformer.training import checkpoints

_NO_CORPUS = "none, as the run was imported (score it with --input and --reference)"


def import_model(options: argparse.Namespace) -> int:
    """Write the run folder; it stands whole, or nothing has changed."""
    source, out = options.model, options.out
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out}: is there already; give another --out")
    weights = weights_file(source)
    where = source / "config.json"
    values = read_object(where)
    model = from_marian(values, str(where))
    opus = any((source / name).is_file() for name in SIDES)
    tokenizer = OpusTokenizer(source) if opus else ForeignTokenizer(source)
    try:
        model, state, bias_W = import_weights(read_tensors(weights), model)
    except UserError as error:
        raise UserError(f"{source}: {error}") from None
    tokenizer.check_size(len(bias_W))
    rows = arrange(len(bias_W), control_rows(values, tokenizer.unknown(source), len(bias_W), str(where)))
    model, state = rearranged(model, state, bias_W, rows)
    ours = tokenizer.arranged(rows)
    kind: Literal["bpe", "sentencepiece"] = "sentencepiece" if opus else "bpe"
    config = _configuration(model, schema.Tokenizer(kind=kind, vocabulary=ours.vocabulary))
    digest = _digest(weights)
    with written(out), replacing_folder(out.resolve()) as work:
        run = RunFolder(work)
        run.freeze(config)
        ours.save(run.tokenizer)
        run.checkpoints.mkdir()
        path = checkpoints.path_of(run.checkpoints, 0)
        checkpoints.write_weights(path, state, checkpoints.header(0, ours.digest))
        status = Status("interrupted", digest, digest, config.experiment, config.seed)
        run.write_status(
            status, phase="ended", reason=f"imported from {source.resolve().name}, not trained here"
        )
    print(out)
    return 0


def weights_file(folder: Path) -> Path:
    """The weights in a folder; raises UserError for none, or for a kind that could run code."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; a model is imported from files, never downloaded")
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    if (folder / "model.safetensors.index.json").is_file():
        raise UserError(f"{folder}: has its weights in several files; only model.safetensors is read")
    if found := sorted(each.name for each in folder.glob("*.bin")):
        raise UserError(
            f"{folder}: has its weights in {found[0]}, a pickle, which can run code when it is read. Save it "
            "as model.safetensors (`save_pretrained` of transformers does) where you trust it"
        )
    raise UserError(f"{folder}: lacks model.safetensors")


def control_rows(
    values: dict[str, Any], unknown: int | None, vocabulary: int, where: str
) -> dict[int, int | None]:
    """Which row plays PAD, BOS, EOS and UNK; raises UserError where a model cannot begin or end."""
    rows: dict[int, int | None] = {UNK: unknown}
    for token, key in ((PAD, "pad_token_id"), (BOS, "decoder_start_token_id"), (EOS, "eos_token_id")):
        row = values.get(key)
        if isinstance(row, list) and len(row) == 1:
            (row,) = row
        wrong = isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < vocabulary
        if wrong and not (row is None and token == PAD):
            raise UserError(f"{where}: {key} is {row!r}; it must be one id below {vocabulary}")
        rows[token] = row
    return rows


def rearranged(
    model: schema.Model, state: dict[str, Tensor], bias_W: Tensor, rows: Rows
) -> tuple[schema.Model, dict[str, Tensor]]:
    """The model with its vocabulary in our order.

    A bias of the logits, also one that keeps copies from being written, takes an output projection of its
    own.
    """
    prefix = "embedding.weight_WD."
    matrices = {name: rows.matrix(matrix) for name, matrix in state.items() if name.startswith(prefix)}
    state = state | matrices
    bias_W = rows.bias(bias_W)
    if not bias_W.any():
        return model, state
    last = f"decoder.layers.{model.layers - 1}.residual.norms.2"
    source, target, output = (matrices[prefix + role] for role in TYING[model.tying])
    output, shift_D = fold(output, bias_W, state[f"{last}.weight"], state[f"{last}.bias"])
    for name in matrices:
        del state[name]
    untied = dict(zip(TYING["none"], (source, target, output), strict=True))
    state |= {f"{prefix}{role}": matrix.clone() for role, matrix in untied.items()}
    return dataclasses.replace(model, tying="none"), state | {f"{last}.bias": shift_D}


def _configuration(model: schema.Model, tokenizer: schema.Tokenizer) -> schema.Config:
    """One that decodes as this xformer does by default, without a corpus and not to be trained."""
    config = compose(["tracking=none"])
    data = schema.FilesData(
        kind="files", dir=_NO_CORPUS, source="source", target="target", train="train", valid="valid",
        test="test", max_length=config.data.max_length,
    )  # fmt: skip
    return validate(
        dump(
            dataclasses.replace(
                config,
                experiment=schema.IMPORTED,
                changes=(),
                seed=0,
                model=model,
                scale=dataclasses.replace(config.scale, name="imported"),
                data=data,
                tokenizer=tokenizer,
            )
        )
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:8]
