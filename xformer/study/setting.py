"""What must be equal before two scores may stand in one table: text, tokenizer, scale, decoder, scorer."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from xformer.study.records import ConfigFile, DecodeConfig, ResultFile

_LONG_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")  # the beginning is enough to read, not to compare


@dataclass(frozen=True)
class Setting:
    """Where a score comes from, apart from the row; None where a run has not got so far as to know it."""

    scale: str | None = None
    scale_details: str | None = None
    data: str | None = None
    data_details: str | None = None
    data_content: str | None = None
    tokenizer: str | None = None
    tokenizer_content: str | None = None
    decoder: str | None = None
    signature: str | None = None

    @property
    def unknown(self) -> int:
        """How many parts are not known."""
        return sum(getattr(self, field.name) is None for field in fields(self))

    def fits(self, other: Setting) -> bool:
        """Whether no part that both know differs."""
        return all(
            mine is None or yours is None or mine == yours
            for mine, yours in zip(self._compared(other), other._compared(self), strict=True)
        )

    def same(self, other: Setting) -> bool:
        """Whether all parts are the same, what is not known included."""
        return self._compared(other) == other._compared(self)

    def _compared(self, other: Setting) -> list[str | None]:
        """All parts; where the text itself is known of both, not by which way it came."""
        known = self.data_content and other.data_content
        passed_over = ("data", "data_details") if known else ()
        return [getattr(self, field.name) for field in fields(self) if field.name not in passed_over]

    def lines(self) -> list[tuple[str, str]]:
        """What is printed above a table: names and values."""
        return [
            ("scale", _named(self.scale, self.scale_details)),
            ("data", _named(self.data, self.data_details, self.data_content)),
            ("tokenizer", _named(self.tokenizer, self.tokenizer_content)),
            ("decoder", _named(self.decoder)),
            ("BLEU signature", _named(self.signature)),
        ]


def setting_of(
    config: ConfigFile | None,
    result: ResultFile | None,
    *,
    scale: str | None,
    data: str | None,
) -> Setting:
    """Gather what a run's files say; `scale` and `data` are what its folder's name says."""
    data = result.data if result is not None and result.data else data
    known: dict[str, str | None] = {"scale": scale, "data": data}
    if config is not None:
        details = config.scale
        decode = config.decode
        known |= {
            "scale": details.name,
            "scale_details": f"width {details.width}, depth {details.depth}, updates {details.updates}",
            "data": data or str(config.data.get("kind")),
            "data_details": _data_details(config.data),
            "tokenizer": f"{config.tokenizer.kind}, vocabulary {config.tokenizer.vocabulary}",
            "decoder": f"beam {decode.beam}, alpha {decode.alpha:g}, source length + {decode.extra_length}, "
            + _bounds(decode)
            + _averaging(decode.average),
        }
    if result is not None:
        scores = result.dev or result.test
        known |= {
            "data_content": result.data_hash,
            "tokenizer_content": _joined(result.tokenizer, result.tokenizer_hash),
            "signature": scores.signature.get("bleu") if scores else None,
        }
    return Setting(**known)


def _bounds(decode: DecodeConfig) -> str:
    least = f"at least {decode.min_length} tokens, " if decode.min_length else ""
    return least + (f"at most {decode.max_length} tokens, " if decode.max_length else "")


def _averaging(checkpoints: int) -> str:
    return "no averaging" if checkpoints == 1 else f"average of the last {checkpoints} checkpoints"


def _data_details(data: dict[str, Any]) -> str:
    """The data section less its folder: the same text may lie elsewhere on another machine."""
    return ", ".join(f"{key} {value}" for key, value in sorted(data.items()) if key not in ("kind", "dir"))


def _joined(*parts: str | None) -> str | None:
    return ", ".join(part for part in parts if part) or None


def _named(name: str | None, *details: str | None) -> str:
    extra = "; ".join(_LONG_HASH.sub(r"\1", part) for part in details if part)
    return f"{name or 'unknown'} ({extra})" if extra else name or "unknown"
