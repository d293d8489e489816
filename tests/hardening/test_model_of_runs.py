"""Whatever order a store is worked in, it agrees with a small model of what must be there."""

from support.runs_model import play


def test_model_and_product_agree() -> None:
    play(examples=3, steps=6)
