"""Export to CTranslate2, an engine for fast translation on CPUs and GPUs, through its own specification."""

from __future__ import annotations

from pathlib import Path

from xformer.data.tokenizer import CONTROL_NAMES
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.exchange.ctranslate2_spec import to_spec
from xformer.exchange.folder import Origin
from xformer.files import write_atomic
from xformer.model.encoder_decoder import EncoderDecoder
from xformer.runs.trained import Trained

_POSITIONS = 1024  # so many tokens of a source does CTranslate2 read unless it is told otherwise

_README = """\
# A Transformer trained with xformer, for CTranslate2

Exported from {origin}.

```python
import ctranslate2
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")  # of this folder
translator = ctranslate2.Translator(".", compute_type="default")  # or "int8", "float16", …
never = [["{pad}"], ["{bos}"], ["{unk}"]]
tokens = tokenizer.encode("A man sleeps.").tokens
(result,) = translator.translate_batch(
    [tokens], beam_size={beam}, length_penalty=0, min_decoding_length=0, suppress_sequences=never
)
print(tokenizer.decode([tokenizer.token_to_id(token) for token in result.hypotheses[0]]))
```

The end of a source is added, the decoder starts with {bos}, and probabilities are those of the run up to
rounding. `length_penalty=0` switches off a penalty with another formula than the paper's, which the run is
decoded with. `max_decoding_length` is 256 unless it is given. {positions}
"""


def write(trained: Trained, folder: Path, origin: Origin) -> None:
    """Write the files of an export into `folder`; the model must have passed `ctranslate2_check.check`."""
    config, model = trained.config.model, trained.model
    assert isinstance(model, EncoderDecoder)
    positions = max(_POSITIONS, trained.config.data.max_length)
    spec = to_spec(model, config, model.max_source_length or positions)
    vocabulary = trained.tokenizer.names()
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.config.add_source_bos, spec.config.add_source_eos = False, True
    spec.config.decoder_start_token = spec.config.bos_token = CONTROL_NAMES[BOS]
    spec.config.eos_token, spec.config.unk_token = CONTROL_NAMES[EOS], CONTROL_NAMES[UNK]
    spec.validate()
    spec.optimize()
    spec.save(str(folder))
    trained.tokenizer.save(folder / "tokenizer.json")
    told = ""
    if hasattr(spec.encoder, "position_encodings") and config.position.kind != "rope":
        told = f"The model has positions for {len(spec.encoder.position_encodings.encodings):,} tokens here."
    text = _README.format(
        origin=origin, beam=trained.config.decode.beam, positions=told,
        pad=CONTROL_NAMES[PAD], bos=CONTROL_NAMES[BOS], unk=CONTROL_NAMES[UNK],
    )  # fmt: skip
    write_atomic(folder / "README.md", text)
