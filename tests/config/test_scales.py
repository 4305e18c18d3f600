"""The paper's numbers, at any scale, in exact arithmetic."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from xformer.config.compose import compose
from xformer.config.locations import config_root
from xformer.config.scales import register_resolvers, scaled


@pytest.mark.parametrize(
    ("number", "ratio", "size"),
    [(512, "1", 512), (512, "1/8", 64), (16, "1/8", 2), (1, "1/2", 1), (100000, "3/500", 600)],
)
def test_a_number_is_multiplied_exactly_and_never_vanishes(number: int, ratio: str, size: int) -> None:
    assert scaled(number, ratio) == size


def test_a_fraction_above_one_is_refused_rather_than_rounded() -> None:
    with pytest.raises(ValueError, match="3/2, not a whole number"):
        scaled(3, "1/2")


@pytest.mark.parametrize(
    ("written", "number"), [("2,0.45", 0.9), ("1/3,3000", 1000), ("2,400", 800), ("0.5,3", 1.5)]
)
def test_times_is_a_product_of_numbers_and_ratios(written: str, number: float) -> None:
    register_resolvers()
    assert OmegaConf.create({"product": f"${{times:{written}}}"}).product == number


@pytest.mark.parametrize("scale", ["paper", "small", "mini", "tiny"])
def test_heads_times_width_stays_d_model_at_every_scale(scale: str) -> None:
    for row in ("base", "A_h1", "A_h4", "A_h16", "A_h32", "C_d256", "C_d1024", "big"):
        model = compose([f"experiments=table3/{row}", f"scale={scale}"]).model
        assert model.heads * model.d_k == model.heads * model.d_v == model.d_model, row


def test_a_documented_command_at_the_papers_scale_names_a_corpus_that_fills_its_vocabulary() -> None:
    root = config_root()
    texts = [(root / "README.md").read_text(), *(file.read_text() for file in (root / "docs").glob("*.md"))]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("xformer train ")]
    paper = [line for line in lines if "scale=paper" in line]
    assert paper
    assert all("data=" in line for line in paper)
