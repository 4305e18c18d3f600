"""What SentencePiece reads in place of which characters, such as NFKC, as its models hold it: packed.

Bytes: the trie's size, the trie, then texts that each end in a zero byte. The trie is a double array of
32-bit units (darts-clone): bits 10 to 30 are the offset to a unit's children, bit 9 says that it counts in
256s, bit 8 that a key ends here, and the lowest byte is the byte that leads here. A child stands at the
place of its parent XOR the offset XOR its byte; the child with byte 0 holds where the key's text begins.

Unpacked, NFKC has some 200,000 keys, so the trie is walked as it is, and what was found is remembered.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property

_LABEL = 0x8000_00FF  # its highest bit marks a value, which no byte leads to
_VALUE = 0x7FFF_FFFF
_ROOT = 0
_ASCII = [chr(code) for code in range(128)]


@dataclass(frozen=True)
class CharacterMap:
    """Texts for keys of one or more characters; empty bytes map nothing."""

    packed: bytes
    _known: dict[tuple[int, str], int | None] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError where the bytes are too few for the trie that they announce."""
        size = int.from_bytes(self.packed[:4], "little")
        if self.packed and (len(self.packed) < 4 + size or size % 4 or not size):
            raise ValueError("its map of characters is torn")

    def replace(self, line: str) -> str:
        """The line with the text for the longest key that begins at each place, from left to right."""
        if not self.packed:
            return line
        if line.isascii() and self._ascii_alone:
            return line.translate(self._ascii)
        out, start = [], 0
        while start < len(line):
            text, length = line[start], 1
            at = _ROOT
            for end in range(start, len(line)):
                following = self._step(at, line[end])
                if following is None:
                    break
                at = following
                if (found := self._text(at)) is not None:
                    text, length = found, end - start + 1
            out.append(text)
            start += length
        return "".join(out)

    def _step(self, at: int, character: str) -> int | None:
        """The unit that a character leads to from another."""
        try:
            return self._known[at, character]
        except KeyError:
            return self._known.setdefault((at, character), self._walk(at, character))

    def _walk(self, at: int, character: str) -> int | None:
        for byte in character.encode():
            at = self._children(at) ^ byte
            if not byte or at >= len(self._units) or self._units[at] & _LABEL != byte:
                return None
        return at

    def _children(self, at: int) -> int:
        unit = self._units[at]
        return at ^ unit >> 10 << ((unit & 512) >> 6)

    def _text(self, at: int) -> str | None:
        """What is read in place of the key that ends at a unit, None where none does."""
        if not self._units[at] & 256 or (value := self._children(at)) >= len(self._units):
            return None
        start = 4 + 4 * len(self._units) + (self._units[value] & _VALUE)
        return self.packed[start : max(self.packed.find(b"\0", start), start)].decode(errors="replace")

    @cached_property
    def _units(self) -> tuple[int, ...]:
        return struct.unpack_from(f"<{int.from_bytes(self.packed[:4], 'little') // 4}I", self.packed, 4)

    @cached_property
    def _ascii(self) -> dict[int, str]:
        steps = {character: self._step(_ROOT, character) for character in _ASCII}
        texts = {ord(character): self._text(at) for character, at in steps.items() if at is not None}
        return {code: text for code, text in texts.items() if text is not None}

    @cached_property
    def _ascii_alone(self) -> bool:
        """Whether no key goes on with an ASCII character after its first, so that most lines need no walk."""
        firsts = (at for character in _ASCII if (at := self._step(_ROOT, character)) is not None)
        return all(self._step(at, character) is None for at in firsts for character in _ASCII)
