"""Our tokenizer as a fast tokenizer of `transformers`, which ends a source and knows the control tokens.

The control tokens' text stays text there too (docs/design.md, decision 12): `split_special_tokens` says that
`⟨eos⟩` in a sentence is cut up like any other characters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.files import write_json

FILES = ("tokenizer.json", "tokenizer_config.json")


def write_tokenizer(tokenizer: Tokenizer, folder: Path, longest: int) -> None:
    """Write what `transformers.AutoTokenizer` reads; `longest` is the most tokens a source may have."""
    values = json.loads(tokenizer.to_json())
    end = CONTROL_NAMES[EOS]
    values["added_tokens"] = [_added(token, name) for token, name in sorted(CONTROL_NAMES.items())]
    values["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}],
        "pair": [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 0}},
            {"SpecialToken": {"id": end, "type_id": 0}},
        ],
        "special_tokens": {end: {"id": end, "ids": [EOS], "tokens": [end]}},
    }
    write_json(folder / "tokenizer.json", values)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": CONTROL_NAMES[PAD],
        "bos_token": CONTROL_NAMES[BOS],
        "eos_token": end,
        "unk_token": CONTROL_NAMES[UNK],
        "model_max_length": longest,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "right",
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }
    write_json(folder / "tokenizer_config.json", settings)


def _added(token: int, name: str) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token, "content": name, "special": True, **plain}
