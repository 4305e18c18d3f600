"""The built-in language: a made-up pair whose translation is fully determined by rules (docs/grammar.md)."""

from xformer.data.grammar.generate import GRAMMAR_VERSION, SOURCE_LANGUAGE, TARGET_LANGUAGE, generate

__all__ = ["GRAMMAR_VERSION", "SOURCE_LANGUAGE", "TARGET_LANGUAGE", "generate"]
