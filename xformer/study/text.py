"""How numbers and foreign text are written, the same in every kind of output."""

from __future__ import annotations

import re
from collections.abc import Callable

ABSENT = "–"
_UNITS = ("", "k", "M", "G", "T", "P", "E")


def plain(text: str) -> str:
    """Foreign text on one line, without characters that steer a terminal or turn the writing around."""
    line = re.sub(r"\s+", " ", text).strip()
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line
    )


def markdown(text: str) -> str:
    """Foreign text that Markdown shows as it is, inside a table too."""
    line = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*\[\]|~$!])", r"\\\1", line)
    # An underscore inside a word, as in d_model, never begins an emphasis.
    line = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)
    # Nor may a line begin like a list, a heading or a rule.
    line = re.sub(r"^([-+#=])", r"\\\1", line)
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", line)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # two would become a dash
    "–": "--",
    "—": "---",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"\textdagger{}",
    "…": r"\dots{}",
    "Δ": r"$\Delta$",
    "ε": r"$\varepsilon$",
    "α": r"$\alpha$",
    "ρ": r"$\rho$",
}


def latex(text: str) -> str:
    """Foreign text that LaTeX prints as it is; letters that its usual fonts lack by their code point."""
    return "".join(_LATEX.get(character) or _letter(character) for character in plain(text))


def _letter(character: str) -> str:
    # Up to Latin Extended-A every letter is in the T1 encoding's reach, in whichever engine.
    known = character.isascii() or (character.isalpha() and "\u00c0" <= character <= "\u017e")
    return character if known else f"[U+{ord(character):04X}]"


def count(value: float) -> str:
    """A whole number with separators: `63,082,496`."""
    return f"{value:,.0f}"


def magnitude(value: float) -> str:
    """Three digits and a unit: `1.26 G`."""
    power = 0
    while value >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.3g} {_UNITS[power]}".rstrip()


def memory(size: float) -> str:
    """Bytes in MiB, or in GiB from one on."""
    mebibytes = size / 2**20
    return f"{mebibytes / 1024:.1f} GiB" if mebibytes >= 1024 else f"{mebibytes:.0f} MiB"


def perplexity(value: float) -> str:
    """Two decimals, as in the paper; fewer where they say nothing."""
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"


def bleu(value: float) -> str:
    """One decimal, as in the paper."""
    return f"{value:.1f}"


def age(seconds: float) -> str:
    """How long ago, in the largest unit that gives at least one: `3 min`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def signed(value: float, write: Callable[[float], str]) -> str:
    """A difference with its sign, a true minus: `+0.31`; no sign where it is zero as written."""
    written = write(abs(value))
    if not any(character in "123456789" for character in written):
        return written
    return f"{'−' if value < 0 else '+'}{written}"


def hundredths(value: float) -> str:
    """Two decimals; fewer where they say nothing, and one digit of what they would not show."""
    return f"{value:.1g}" if 0 < value < 0.005 else perplexity(value)


def spread(deviation: float, write: Callable[[float], str]) -> str:
    """A standard deviation written as its mean is, and one digit of what that would not show."""
    written = write(deviation)
    shown = deviation == 0 or any(character in "123456789" for character in written)
    return written if shown else f"{deviation:.1g}"


def p_value(value: float) -> str:
    """Three decimals where it matters, never zero, and on the side of 0.05 where it is: `0.042`, `<0.001`."""
    if value < 0.001:
        return "<0.001"
    if value >= 0.1:
        return f"{value:.2f}"
    digits = next(n for n in range(3, 20) if (round(value, n) <= 0.05) == (value <= 0.05))
    return f"{value:.{digits}f}"


def correlation(value: float) -> str:
    """Two decimals, with a true minus: `−0.12`."""
    return f"{value:.2f}".replace("-", "−")
