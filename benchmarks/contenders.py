"""The models that `make bench` trains, each with the loss that its users would take.

All have the sizes asked for, one matrix for both embeddings and the output, and sinusoids or what the library
has in their place; what else they do is as they ship. `attention_dropout=False` switches off their dropout on
attention weights and inside the feed-forward, which xformer, as the paper, does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.data.batch import Batch
from xformer.model import build
from xformer.model.positions import sinusoids
from xformer.runs.machine import keep_memory
from xformer.training.objective import loss_sums, output_weight, real_positions

LONGEST, SMOOTHING = 256, 0.1
Contender = tuple[nn.Module, Callable[[Batch], Tensor]]


def xformer(sizes: schema.Model, vocabulary: int, attention_dropout: bool) -> Contender:
    """The model and objective of this project, in a process that keeps its memory as a worker does."""
    keep_memory()
    model = build(sizes, vocabulary)

    def loss(batch: Batch) -> Tensor:
        real_N = real_positions(batch.target_out_BT)
        hidden_BTD = model(batch.source_BS, batch.source_mask_BS, batch.target_in_BT)
        hidden_ND = hidden_BTD.flatten(0, 1).index_select(0, real_N)
        target_N = batch.target_out_BT.flatten().index_select(0, real_N)
        total, _ = loss_sums(hidden_ND, output_weight(model), target_N, SMOOTHING)
        return total / batch.target_tokens

    return model, loss


class Reference(nn.Module):
    """torch.nn.Transformer with the embeddings and the tied projection that it leaves to its user."""

    positions: Tensor

    def __init__(self, sizes: schema.Model, vocabulary: int) -> None:
        super().__init__()
        self.width, self.dropout = sizes.d_model, sizes.dropout
        self.embedding = nn.Embedding(vocabulary, sizes.d_model)
        nn.init.normal_(self.embedding.weight, std=sizes.d_model**-0.5)
        self.transformer = nn.Transformer(
            sizes.d_model, sizes.heads, sizes.layers, sizes.layers, sizes.d_ff, sizes.dropout,
            batch_first=True,
        )  # fmt: skip
        self.register_buffer("positions", sinusoids(LONGEST, sizes.d_model, "interleaved").float())

    def forward(self, batch: Batch) -> Tensor:
        """Logits, (B, T, W)."""
        pad_BS, length = ~batch.source_mask_BS, batch.target_in_BT.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(length, device=pad_BS.device)
        hidden: Tensor = self.transformer(
            self.embed(batch.source_BS), self.embed(batch.target_in_BT), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=pad_BS, memory_key_padding_mask=pad_BS,
        )  # fmt: skip
        return hidden @ self.embedding.weight.T

    def embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.embedding(ids) * self.width**0.5
        return nn.functional.dropout(embedded + self.positions[: ids.shape[1]], self.dropout, self.training)


def torch_transformer(sizes: schema.Model, vocabulary: int, attention_dropout: bool) -> Contender:
    """torch.nn.Transformer with the stock loss."""
    model = Reference(sizes, vocabulary)
    if not attention_dropout:
        for module in model.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                module.dropout = nn.Dropout(0.0)  # the one inside the feed-forward
    return model, lambda batch: _cross_entropy(model(batch), batch)


def transformers_marian(sizes: schema.Model, vocabulary: int, attention_dropout: bool) -> Contender:
    """Marian of Hugging Face's transformers."""
    from transformers import MarianConfig, MarianMTModel

    inner = sizes.dropout if attention_dropout else 0.0
    stack = {"layers": sizes.layers, "attention_heads": sizes.heads, "ffn_dim": sizes.d_ff}
    both: dict[str, Any] = {
        f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in stack.items()
    }
    config = MarianConfig(
        vocab_size=vocabulary, d_model=sizes.d_model, dropout=sizes.dropout, attention_dropout=inner,
        activation_dropout=inner, activation_function="relu", scale_embedding=True, use_cache=False,
        max_position_embeddings=LONGEST, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, forced_eos_token_id=None, **both,
    )  # fmt: skip
    model = MarianMTModel(config)

    def loss(batch: Batch) -> Tensor:
        output = model(
            input_ids=batch.source_BS,
            attention_mask=batch.source_mask_BS,
            decoder_input_ids=batch.target_in_BT,
        )
        return _cross_entropy(output.logits, batch)

    return model, loss


def x_transformers(sizes: schema.Model, vocabulary: int, attention_dropout: bool) -> Contender:
    """x-transformers: pre-norm, learned positions, as it ships; its fused attention switched on."""
    from x_transformers import Decoder, Encoder, TransformerWrapper

    layers: dict[str, Any] = {
        "dim": sizes.d_model, "depth": sizes.layers, "heads": sizes.heads, "attn_dim_head": sizes.d_k,
        "ff_mult": sizes.d_ff // sizes.d_model, "attn_flash": True,
        "attn_dropout": sizes.dropout if attention_dropout else 0.0,
        "ff_dropout": sizes.dropout if attention_dropout else 0.0,
    }  # fmt: skip
    common: dict[str, Any] = {
        "num_tokens": vocabulary, "max_seq_len": LONGEST, "emb_dropout": sizes.dropout, "tie_embedding": True,
    }  # fmt: skip
    encoder = TransformerWrapper(attn_layers=Encoder(**layers), **common)
    decoder = TransformerWrapper(attn_layers=Decoder(cross_attend=True, **layers), **common)
    decoder.token_emb = encoder.token_emb
    decoder.to_logits = lambda hidden: hidden @ encoder.token_emb.emb.weight.T

    def loss(batch: Batch) -> Tensor:
        memory = encoder(batch.source_BS, mask=batch.source_mask_BS, return_embeddings=True)
        logits = decoder(batch.target_in_BT, context=memory, context_mask=batch.source_mask_BS)
        return _cross_entropy(logits, batch)

    return nn.ModuleList([encoder, decoder]), loss


def _cross_entropy(logits_BTW: Tensor, batch: Batch) -> Tensor:
    return nn.functional.cross_entropy(
        logits_BTW.flatten(0, 1).float(),
        batch.target_out_BT.flatten(),
        ignore_index=0,
        label_smoothing=SMOOTHING,
    )


MAKERS: dict[str, Callable[[schema.Model, int, bool], Contender]] = {
    "xformer": xformer,
    "torch.nn.Transformer": torch_transformer,
    "transformers Marian": transformers_marian,
    "x-transformers": x_transformers,
}


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """What `precision` (`fp32`, `bf16`) means for matrix products."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")
