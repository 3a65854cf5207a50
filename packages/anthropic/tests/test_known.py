"""What a model's name tells."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_express_anthropic.known import Known, known


@pytest.mark.parametrize(
    ("name", "traits"),
    [
        ("claude-fable-5-2", Known(1_000_000, 128_000, adaptive=True, binds_thinking=True)),
        ("claude-sonnet-5-5", Known(1_000_000, 128_000, adaptive=True, binds_thinking=True)),
        ("claude-opus-5", Known(1_000_000, 128_000, adaptive=True, binds_thinking=False)),
        ("claude-opus-4-6", Known(1_000_000, 128_000, adaptive=True, binds_thinking=False)),
        ("claude-haiku-4-5-20251001", Known(200_000, 64_000, adaptive=False, binds_thinking=False)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Known(200_000, 64_000, adaptive=False, binds_thinking=False)),
        ("claude-opus-5-20260901", Known(1_000_000, 128_000, adaptive=True, binds_thinking=False)),
        ("claude-opus-6-1", Known(None, 8_192, adaptive=True, binds_thinking=True)),
        ("qwen3-coder", Known(None, 8_192, adaptive=True, binds_thinking=False)),
    ],
)
def test_a_name_tells_sizes_and_ways_of_thinking(name: str, traits: Known) -> None:
    assert known(name) == traits


def test_every_versioned_model_that_the_sdk_lists_is_in_the_table() -> None:
    from anthropic.types import ModelParam

    names = [name for union in get_args(ModelParam) for name in get_args(union)]
    assert names
    unknown = [name for name in names if known(name).context_window is None]
    assert unknown == ["claude-mythos-preview"]
