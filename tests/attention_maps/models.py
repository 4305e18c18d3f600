"""Models, tokens and maps for the tests of this room."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tests.data.corpora import sentences
from tests.model.configs import SMALL, VOCABULARY
from xformer.attention_maps.maps import AttentionMaps, Grid
from xformer.attention_maps.tokens import Pair, Token
from xformer.config import schema
from xformer.data.tokenizer import Tokenizer, train_tokenizer
from xformer.model import build
from xformer.model.attention import SelfAttention
from xformer.model.masks import Mask
from xformer.model.seq2seq import Seq2Seq

NASTY = ["</script><script>alert(1)</script>", "\"'&<!--", "$x_{\\frac", "\\x00", "\u05d0\u05d1", "⟨eos⟩"]


def model_of(config: schema.Model, vocabulary: int = VOCABULARY) -> Seq2Seq:
    """A model with random weights, its attention far from even."""
    torch.manual_seed(5)
    model = build(config, vocabulary).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "attention" in name:
                parameter.mul_(2.5)
    return model


class OneStack(nn.Module):
    """A decoder-only model at its barest: the source sees itself, the target the source and its own past."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(6)
        self.embedding = nn.Embedding(VOCABULARY, SMALL.d_model)
        self.layers = nn.ModuleList(SelfAttention(SMALL) for _ in range(2))
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5)

    def forward(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        x_BTD: Tensor = self.embedding(torch.cat([source_BS, target_in_BT], dim=1))
        seen_TT = torch.ones(x_BTD.shape[1], x_BTD.shape[1], dtype=torch.bool).tril()
        seen_TT[: source_BS.shape[1], : source_BS.shape[1]] = True
        for layer in self.layers:
            x_BTD = x_BTD + layer(x_BTD, Mask(seen_TT[None, None]), lambda x_BHTK: x_BHTK)
        return x_BTD


def tokenizer() -> Tokenizer:
    """A tokenizer that has learned a few merges."""
    return train_tokenizer(sentences(100), 300)


def tokens(*labels: str) -> tuple[Token, ...]:
    """Tokens of these names, with ids as they come."""
    return tuple(Token(number, label) for number, label in enumerate(labels))


def made_up(source: int = 4, target: int = 3, layers: int = 2, heads: int = 3) -> AttentionMaps:
    """Maps with random weights and awkward names, of an encoder-decoder."""
    rng = np.random.default_rng(7)
    s = tokens(*[NASTY[i % len(NASTY)] for i in range(source - 1)], "⟨eos⟩")
    t = tokens("⟨bos⟩", *[NASTY[-1 - i % len(NASTY)] for i in range(target - 1)])
    written = (*t[1:], s[-1])

    def grid(kind: str, rows: tuple[Token, ...], columns: tuple[Token, ...], *, last: bool) -> Grid:
        weights = rng.dirichlet(np.full(len(columns), 0.3), (layers, heads, len(rows))).astype(np.float32)
        return Grid(kind, rows, columns, written if last else (None,) * len(rows), weights)  # type: ignore[arg-type]

    grids = (
        grid("encoder", s, s, last=False),
        grid("decoder", t, t, last=True),
        grid("cross", t, s, last=True),
    )
    return AttentionMaps(
        run="tiny-grammar-s1-0123abcd", update=10, averaged=2, source=" ".join(NASTY) + "\u2028\x00\x1b",
        target="".join(NASTY), translated=True, pair=Pair(s, t, written), grids=grids,
    )  # fmt: skip
