"""Export to Hugging Face's Marian format: a folder that `transformers` loads with `from_pretrained`."""

from __future__ import annotations

from pathlib import Path

from xformer.config import schema
from xformer.exchange import marian_tokenizer
from xformer.exchange.folder import Origin
from xformer.exchange.marian_config import EPSILON, generation, to_marian
from xformer.exchange.marian_weights import export_weights, stores_positions
from xformer.exchange.tensors import write_tensors
from xformer.files import write_atomic, write_json
from xformer.runs.trained import Trained

FORMAT = "marian"
FILES = frozenset(
    {"config.json", "generation_config.json", "model.safetensors", "README.md", *marian_tokenizer.FILES}
)

_README = """\
# A Transformer trained with xformer, in Marian format

Exported from {origin}.

```python
from transformers import AutoTokenizer, MarianMTModel

tokenizer = AutoTokenizer.from_pretrained(".")  # this folder
model = MarianMTModel.from_pretrained(".")
batch = tokenizer(["A man sleeps."], padding=True, return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

The logits are those of the run up to rounding. `generation_config.json` has the run's beam and no length
penalty: the one of `transformers` has another formula than the paper's, which the run is decoded with.
{warning}"""


_STORED = """\
This model was trained with model.norm.epsilon={ours:g}, Marian's is {theirs:g}. To be exact all the same, its
numbers are scaled, and so is the table of sinusoids, which stands among the weights. `from_pretrained` reads
it, but `save_pretrained` leaves it out, and a model without it is another one: set
`model._keys_to_ignore_on_save = None` before saving."""


def warning(config: schema.Model) -> str:
    """What has to be known before the exported model is saved elsewhere; nothing where all is plain."""
    if not stores_positions(config):
        return ""
    return _STORED.format(ours=config.norm.epsilon, theirs=EPSILON)


def write(trained: Trained, folder: Path, origin: Origin) -> None:
    """Write the files of an export into `folder`; the model must have passed `check_expressible`."""
    config, longest = trained.config.model, trained.config.data.max_length
    values = to_marian(config, trained.tokenizer.vocabulary, longest)
    positions = values["max_position_embeddings"]
    write_json(folder / "config.json", values)
    write_json(folder / "generation_config.json", generation(trained.config.decode.beam, positions))
    write_tensors(folder / "model.safetensors", export_weights(trained.model.state_dict(), config, positions))
    marian_tokenizer.write_tokenizer(trained.tokenizer, folder, positions)
    told = warning(config)
    write_atomic(folder / "README.md", _README.format(origin=origin, warning=f"\n{told}\n" if told else ""))
