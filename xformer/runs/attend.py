"""The command `xformer attend`: where a trained run looks while it translates one sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from xformer.attention_maps.files import write_maps
from xformer.attention_maps.maps import AttentionMaps, grids, only
from xformer.attention_maps.tokens import Pair, pair
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import translate
from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.runs.trained import Trained, load


def attend(options: argparse.Namespace) -> int:
    """Write the attention maps of `options.source` and its translation, or `options.target` if given."""
    source = _line("--source", options.source)
    target = None if options.target is None else _line("--target", options.target)
    trained = load(RunFolder(options.folder), average=options.average)
    maps = only(attention_maps(trained, source, target), options.kind, options.layer, options.head)
    _tell_what_was_cut(maps.pair)
    write_maps(maps, options.out)
    print(options.out)
    return 0


def attention_maps(trained: Trained, source: str, target: str | None = None) -> AttentionMaps:
    """The maps of a sentence pair; without a target, of the source and the run's own translation.

    The translation is found as in `xformer translate`, with the run's decoding settings, and its tokens are
    the very ones that the search wrote. Raises UserError for a model that has diverged.
    """
    model, tokenizer, decode = trained.model, trained.tokenizer, trained.config.decode
    (source_ids,) = tokenizer.encode([source])
    target_ids: Sequence[int]
    if target is None:
        how = SearchSettings.of(decode)
        (found,) = translate(model, tokenizer, [source], how, decode.tokens_per_batch)
        text, target_ids = found.text, found.candidates[0].ids
    else:
        text, (target_ids,) = target, tokenizer.encode_target([target])
    sentences = pair(tokenizer, source_ids, target_ids, model.max_source_length, model.max_target_length)
    return AttentionMaps(
        run=trained.folder.path.resolve().name,
        update=trained.update,
        averaged=trained.averaged,
        source=source,
        target=text,
        translated=target is None,
        pair=sentences,
        grids=grids(model, sentences),
    )


def _line(option: str, text: str) -> str:
    """The text, if it is one line of Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that the terminal's encoding has no characters for
        raise UserError(f"{option}: is not valid UTF-8") from None
    if "\n" in text:
        raise UserError(f"{option}: has {text.count(chr(10)) + 1} lines, one sentence is asked for")
    return text


def _tell_what_was_cut(sentences: Pair) -> None:
    for side, cut in (("source", sentences.source_cut), ("target", sentences.target_cut)):
        if cut:
            print(
                f"xformer: the {side} was longer than the model has positions for: "
                f"its last {cut} tokens were cut",
                file=sys.stderr,
            )
