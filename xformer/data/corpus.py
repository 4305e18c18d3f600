"""Parallel text in files: opened, checked and known by its content (docs/design.md, decision 11)."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from xformer.config import schema, splits
from xformer.data import cache, seen
from xformer.errors import UserError
from xformer.files import read_json, write_atomic, write_json

_CHUNK = 1 << 22  # bytes read at a time: large enough for full hashing speed
_MANIFEST = "corpus.json"


@dataclass(frozen=True)
class SplitFiles:
    """The two files of one split, line i of one translating line i of the other."""

    source: Path
    target: Path
    lines: int
    digest: str


@dataclass(frozen=True)
class Corpus:
    """A parallel corpus; `digest` changes exactly when the text of a split or the direction does."""

    name: str
    source_language: str
    target_language: str
    splits: Mapping[str, SplitFiles]
    digest: str


def open_corpus(config: schema.Data, cache_dir: Path) -> Corpus:
    """Find, check and hash the train, valid and test text; the built-in language is first written out.

    Raises UserError for a missing file, unequal line counts, an empty split, bad gzip or bad UTF-8.
    """
    if isinstance(config, schema.GrammarData):
        return _open_grammar(config, cache_dir)
    if isinstance(config, schema.HubData):
        return _open_hub(config, cache_dir)
    folder = Path(config.dir)
    if not folder.is_dir():
        raise UserError(f"data.dir={config.dir}: no such folder. Set data.dir to the folder of the corpus.")
    names = {"train": config.train, "valid": config.valid, "test": config.test}
    label = f"{folder.resolve().name}-{config.source}-{config.target}"
    return _open_files(_safe(label), folder, names, config.source, config.target, cache_dir)


def split(corpus: Corpus, name: str) -> SplitFiles:
    """The split called `name`: one of the corpus's own, or any further pair of files beside its test set.

    Raises UserError where there are no such files.
    """
    if splits.in_files(name) in corpus.splits:
        return corpus.splits[splits.in_files(name)]
    if Path(name).name != name:
        raise UserError(f"split {name!r}: give the name of a split, not a path.")
    folder = corpus.splits["test"].source.parent
    return _measure_pair(*_find_pair(folder, name, corpus.source_language, corpus.target_language), _measure)


def check_unchanged(files: SplitFiles) -> None:
    """Raise UserError where the files no longer hold what they held when they were opened."""
    if _measure_pair(files.source, files.target, _measure) != files:
        raise UserError(f"{files.source} or {files.target} changed while it was being read. Start again.")


def read_lines(path: Path) -> list[str]:
    """All lines of a UTF-8 file, plain or .gz; see `stream_lines`."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, plain or .gz, cut at LF and nowhere else.

    A CR before the LF is dropped; the last line may lack its LF. Python's own text mode and
    `splitlines` also cut at a lone CR, U+2028, U+0085 and others, and would shift one side of the
    corpus against the other from there on (fault S21).
    """
    with _opened(path) as file:
        for number, raw in enumerate(file, start=1):
            yield text_of(raw, path, number)


def text_of(raw: bytes, name: Path | str, number: int) -> str:
    """The text of one line, its LF, or CR and LF, taken off; raises UserError for bad UTF-8 in `name`."""
    if raw.endswith(b"\n"):
        raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}, line {number}: not UTF-8 ({error.reason}, byte {error.start + 1} of the line). "
            "Convert the file to UTF-8; a gzip file must be named .gz."
        ) from None


# --- files ---------------------------------------------------------------------------------


def _open_files(
    name: str, folder: Path, names: Mapping[str, str], source: str, target: str, cache_dir: Path
) -> Corpus:
    measure = partial(seen.once, _measure, memory=cache_dir / "seen")
    found = {
        split: _measure_pair(*_find_pair(folder, file, source, target), measure)
        for split, file in names.items()
    }
    digests = [found[split].digest for split in splits.CORPUS]
    digest = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return Corpus(name, source, target, found, digest)


def _find_pair(folder: Path, name: str, source: str, target: str) -> tuple[Path, Path]:
    return _find(folder, f"{name}.{source}"), _find(folder, f"{name}.{target}")


def _measure_pair(source: Path, target: Path, measure: Callable[[Path], Sequence[Any]]) -> SplitFiles:
    source_lines, source_digest = measure(source)
    target_lines, target_digest = measure(target)
    if source_lines != target_lines:
        raise UserError(
            f"{source} has {source_lines} lines and {target} has {target_lines}: "
            "line i of one must translate line i of the other. Make them the same length."
        )
    if source_lines == 0:
        raise UserError(f"{source} and {target} are empty. Give at least one pair of lines.")
    digest = hashlib.sha256(f"{source_digest}\n{target_digest}".encode()).hexdigest()
    return SplitFiles(source, target, source_lines, digest)


def _find(folder: Path, name: str) -> Path:
    """The plain file if there is one, else the compressed one."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    language = name.rpartition(".")[2]
    names = (path.name.removesuffix(".gz") for path in folder.glob(f"*.{language}*"))
    there = sorted({each.removesuffix(f".{language}") for each in names})
    raise UserError(
        f"{folder / name} not found, nor {name}.gz. Check data.dir, the languages and the split"
        + (f"; splits in {language}: {', '.join(there)}" if there else "")
    )


def _measure(path: Path) -> tuple[int, str]:
    """Number of lines and SHA-256 of the uncompressed text, in large chunks; refuses bad UTF-8."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(path) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                lines += chunk.count(b"\n")
                decoder.decode(chunk)
                last = chunk[-1:]
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        for _ in stream_lines(path):  # the slow reader knows the line
            pass
        raise
    return lines + (last != b"\n"), digest.hexdigest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed bytes of a file, with the operating system's complaints in the user's terms."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(IO[bytes], file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a whole gzip file ({error}). Copy or compress it again.") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}. Give a file that can be read.") from None


def _safe(name: str) -> str:
    """`name` as a part of a file name and of a Hydra override: letters, digits, dot, dash, underscore."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


# --- corpora by name ---------------------------------------------------------------------------


def _open_hub(config: schema.HubData, cache_dir: Path) -> Corpus:
    from xformer.data import hub

    label = f"{config.name}-{config.source}-{config.target}"
    names = {split: split for split in splits.CORPUS}
    folder = hub.fetch(config, cache_dir)
    return _open_files(_safe(label), folder, names, config.source, config.target, cache_dir)


# --- the built-in language -------------------------------------------------------------------


def _open_grammar(config: schema.GrammarData, cache_dir: Path) -> Corpus:
    from xformer.data import grammar  # other corpora should not pay for importing it

    source, target = grammar.SOURCE_LANGUAGE, grammar.TARGET_LANGUAGE
    name = cache.key("grammar", grammar.GRAMMAR_VERSION, dataclasses.asdict(config))
    folder = cache_dir / "corpora" / f"grammar-{name}"

    def build(work: Path) -> None:
        files = {
            f"{split_name}.{language}": "".join(f"{line}\n" for line in lines)
            for split_name, sides in grammar.generate(config).items()
            for language, lines in zip((source, target), sides, strict=True)
        }
        for file, text in files.items():
            write_atomic(work / file, text)
        write_json(work / _MANIFEST, {file: cache.file_digest(work / file) for file in files})

    cache.build_once(folder, partial(_is_complete, memory=cache_dir / "seen"), build)
    names = {split: split for split in (*splits.CORPUS, "long")}
    return _open_files("grammar", folder, names, source, target, cache_dir)


def _is_complete(folder: Path, memory: Path) -> bool:
    try:
        manifest = read_json(folder / _MANIFEST)
        return all(
            seen.once(cache.file_digest, folder / file, memory) == digest for file, digest in manifest.items()
        )
    except (OSError, ValueError):
        return False
