"""All that `xformer inspect` says of one configuration, as values; `view` makes text of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xformer.config import schema
from xformer.config.compose import Job
from xformer.config.differences import Difference
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import SENTENCE, Flops, flops
from xformer.inspection.blank import blank
from xformer.inspection.deviations import Deviation, LeftOpen, deviations, left_open, misdeclared
from xformer.inspection.key_values import BYTES, KeyValues, key_values
from xformer.inspection.memory import TrainingMemory, training_memory
from xformer.inspection.paper import Always, knowledge
from xformer.inspection.shapes import SOURCE, TARGET, Block, readable, shape_table
from xformer.model.counting import counted_parameters
from xformer.training.device import training_device


@dataclass(frozen=True)
class Description:
    """One configuration; its vocabulary is taken to reach the size that is asked for."""

    config: schema.Config
    closed_form: dict[str, int]
    counted: dict[str, int]
    flops: Flops
    key_values: KeyValues
    memory: TrainingMemory
    device: str
    shapes: list[Block]
    deviations: list[Deviation]
    left_open: list[LeftOpen]
    always: tuple[Always, ...]
    undeclared: list[Difference]

    @property
    def flops_per_training_token(self) -> int:
        """Forward and backward pass, the mean of a source and a target token."""
        return self.flops.training(1, 1) // 2

    @property
    def flops_of_training(self) -> int:
        """Of all updates, each as full as `batch.tokens_per_update` allows."""
        tokens = self.config.batch.tokens_per_update
        return self.flops.training(tokens, tokens) * self.config.trainer.updates

    def precisions(self) -> list[str]:
        """fp32, and the trainer's where it is another."""
        return list(dict.fromkeys(["fp32", self.config.trainer.precision]))

    def sizes(self) -> dict[str, Any]:
        """What the paper's Table 3 has columns for, under its names, and more."""
        config, model = self.config, self.config.model
        return {
            "experiment": config.experiment,
            "scale": config.scale.name,
            "layers": model.layers,
            "d_model": model.d_model,
            "d_ff": model.d_ff,
            "heads": model.heads,
            "key_value_heads": model.key_value_heads,
            "d_k": model.d_k,
            "d_v": model.d_v,
            "dropout": model.dropout,
            "label_smoothing": config.optim.label_smoothing,
            "position": model.position.kind,
            "placement": model.placement.kind,
            "norm": model.norm.kind,
            "feedforward": model.feedforward.kind,
            "updates": config.trainer.updates,
            "vocabulary": config.tokenizer.vocabulary,
        }

    def plain(self) -> dict[str, Any]:
        """Everything in types that JSON has; sizes in bytes, costs in floating-point operations."""
        sentence = self.key_values.sentence(SENTENCE, SENTENCE)
        numbers = {
            "per_source_token": self.key_values.per_source_token,
            "per_target_token": self.key_values.per_target_token,
            "per_sentence": sentence,
        }
        return self.sizes() | {
            "parameters": sum(self.counted.values()),
            "parameters_closed_form": sum(self.closed_form.values()),
            "parameters_by_part": self.closed_form,
            "parameters_by_part_counted": self.counted,
            "flops_per_source_token": self.flops.source_token,
            "flops_per_target_token": self.flops.target_token,
            "flops_per_training_token": self.flops_per_training_token,
            "flops_of_training": self.flops_of_training,
            "disk": {
                "checkpoint": self.memory.checkpoint,
                "checkpoints_kept": self.config.trainer.keep_checkpoints,
            },
            "key_value_cache": {
                "sentence_tokens": SENTENCE,
                "numbers": numbers,
                "bytes": {
                    precision: {name: number * BYTES[precision] for name, number in numbers.items()}
                    for precision in self.precisions()
                },
            },
            "training_memory": {
                "estimated": ["activations", "loss", "total"],
                "device": self.device,
                **asdict(self.memory),
                "total": self.memory.total,
            },
            "tensors": {
                "source_lengths": SOURCE,
                "target_lengths": TARGET,
                "blocks": [
                    {"times": block.times, "rows": [asdict(row) for row in block.rows]}
                    for block in self.shapes
                ],
            },
            "deviations": [asdict(each) for each in self.deviations],
            "left_open": [asdict(each) for each in self.left_open],
            "always_different": [asdict(each) for each in self.always],
            "undeclared": [
                {"key": each.key, "base": each.left, "here": each.right} for each in self.undeclared
            ],
        }  # fmt: skip


def describe(job: Job, config_dir: Path | None = None) -> Description:
    """Build and run the model without its weights, and hold the configuration against the paper."""
    config, vocabulary = job.config, job.config.tokenizer.vocabulary
    model = blank(readable(config.model), vocabulary)
    counted = counted_parameters(model)
    changed = misdeclared(job, config_dir)
    return Description(
        config=config,
        closed_form=parameters(config.model, vocabulary),
        counted=counted,
        flops=flops(config.model, vocabulary),
        key_values=key_values(model),
        memory=training_memory(config, sum(counted.values())),
        device=training_device(config.trainer).type,
        shapes=shape_table(config.model, model),
        deviations=deviations(job, changed),
        left_open=left_open(config),
        always=knowledge().always,
        undeclared=changed,
    )
