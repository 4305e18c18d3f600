"""A folder like that of a published opus-mt model, tiny and random, made by the programs that make those."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

SOURCES = [
    "A man sleeps.", "A dog runs home and sleeps.", "Two men run, a dog sleeps.", "The café is near.",
    "Where do the two men go?", "No one knows the small house, but a man goes there.",
    "Run, dog, run... home!",
    "A large fluffy dog looks at 12 men.", "She said: a dog's life, isn't it?", "300 dogs, 45 men, 6 houses.",
]  # fmt: skip
TARGETS = [
    "Ein Mann schläft.", "Ein Hund läuft heim und schläft.", "Zwei Männer laufen, ein Hund schläft.",
    "Das Café ist in der Nähe: los!",
    "Wohin gehen die zwei Männer?", "Ein großer Hund sieht 12 Männer an.",
    "Keiner kennt das kleine Haus, aber ein Mann geht hin.", "Lauf, Hund, lauf … heim!",
    "Über allen Häusern.",
    "Sie sagte: ein Hundeleben, nicht wahr?", "300 Hunde, 45 Männer, 6 Häuser.",
]  # fmt: skip


def pieces_of(lines: Sequence[str], **settings: Any) -> bytes:
    """A SentencePiece model trained on the lines."""
    model = io.BytesIO()
    usual = {"model_type": "unigram", "vocab_size": 90, "hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(list(lines) * 5), model_writer=model, num_threads=1, **usual | settings
    )
    return model.getvalue()


def make_opus(folder: Path, **settings: Any) -> tuple[Any, Any]:
    """Write the folder; return its model and its tokenizer as `transformers` has them.

    As in published ones: the end is id 0, the unknown token 1, padding last; there are codes of languages,
    and some pieces of the target have no id. `settings` are those of SentencePiece.
    """
    folder.mkdir(parents=True)
    (folder / "source.spm").write_bytes(pieces_of(SOURCES, **settings))
    (folder / "target.spm").write_bytes(pieces_of(TARGETS, **settings))
    names = dict.fromkeys(["</s>", "<unk>"])
    for side in ("source", "target"):
        cut = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        names |= dict.fromkeys(cut.id_to_piece(number) for number in range(3, cut.get_piece_size()))
    for absent in "zW1":
        names.pop(absent, None)
    names |= dict.fromkeys([">>deu<<", ">>nld<<", "<pad>"])
    (folder / "vocab.json").write_text(json.dumps({name: token for token, name in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"})
    )
    padding = len(names) - 1
    sizes = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
    stacks = {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in sizes.items()}
    config = transformers.MarianConfig(
        vocab_size=len(names), d_model=32, max_position_embeddings=512, scale_embedding=True,
        activation_function="swish", normalize_before=False, static_position_embeddings=True, num_beams=4,
        pad_token_id=padding, eos_token_id=0, decoder_start_token_id=padding, forced_eos_token_id=0, **stacks,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.MarianMTModel(config).eval()
    for name, parameter in model.named_parameters():  # such that what is written depends on what is read
        if "embed_positions" not in name:
            size = 1.0 if "encoder_attn." in name else 0.5 if ".fc" in name else 0.1
            parameter.data += size * torch.randn_like(parameter)
    model.get_input_embeddings().weight.data *= 2
    model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
    model.final_logits_bias[0, 0] += 4  # translations come to an end
    model.generation_config.update(num_beams=4, bad_words_ids=[[padding]], max_length=512)
    model.save_pretrained(folder)
    return model, transformers.MarianTokenizer.from_pretrained(folder)
