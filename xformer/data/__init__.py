"""The data room: from two text files, or the built-in language, to the updates of a training run.

The journey of a sentence: `corpus` finds its two files, reads them line by line, cut at LF only, and
hashes what it read; `tokenizer` learns byte-level BPE from both sides and turns the sentence and its
translation into ids, in which the text of a control token is text (`two_sided` does the same for models
that were imported with SentencePiece); `prepare` leaves the pair out, and counts it, where a side is
blank or too long, and sees that all this is done once and found again; `store` keeps the ids in flat
memory-mapped arrays; `plan` decides from lengths and the seed alone to which update of which epoch, and
to which micro-batch of it, the pair belongs, the same for any number of devices; `batch` lays its
micro-batch side by side, EOS at the end, BOS before the decoder's input, PAD to the right; and `loader`
hands each rank its share of the update. Text to be evaluated goes the same way without loss: n lines in,
n lines out.

Only `batch` and `loader` import torch.
"""
