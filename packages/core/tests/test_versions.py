"""Versions and ranges: what `packaging`, the reference, says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from agent_express.versions import fits, key

numbers = st.integers(0, 12)


@st.composite
def versions(draw: st.DrawFn, *, only_final: bool = False) -> str:
    text = ".".join(str(draw(numbers)) for _ in range(draw(st.integers(1, 4))))
    if draw(st.integers(0, 9)) == 0:
        text = f"1!{text}"
    if not only_final:
        text += draw(st.sampled_from(["", "", "", "a1", "b2", "rc1", ".alpha3", "-rc.4"]))
        text += draw(st.sampled_from(["", "", "", ".post1", "-2", ".rev3"]))
        text += draw(st.sampled_from(["", "", "", ".dev4", "dev"]))
    return text


@st.composite
def ranges(draw: st.DrawFn) -> str:
    clauses: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        operator = draw(st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~="]))
        wanted = draw(versions(only_final=operator == "~="))
        if operator == "~=" and "." not in wanted:
            wanted += ".0"
        if operator in ("==", "!=") and draw(st.booleans()):
            wanted = f"{draw(versions(only_final=True))}.*"
        clauses.append(f"{operator}{wanted}")
    return ",".join(clauses)


@given(versions(), versions())
def test_versions_are_ordered_as_the_reference_orders_them(one: str, other: str) -> None:
    first, second = key(one), key(other)
    assert first is not None
    assert second is not None
    assert (first < second, first == second) == (Version(one) < Version(other), Version(one) == Version(other))


@given(versions(), ranges())
def test_a_version_lies_in_a_range_where_the_reference_says_so(version: str, within: str) -> None:
    assert fits(version, within) == SpecifierSet(within).contains(version, prereleases=True)


@pytest.mark.parametrize("odd", ["", "latest", "1.x", "not a version"])
def test_what_is_no_version_or_no_range_keeps_nothing_out(odd: str) -> None:
    assert key(odd) is None
    assert fits(odd, ">=1")
    assert fits("1.0", f"=={odd}" if odd else "")


def test_a_local_part_counts_for_nothing() -> None:
    assert fits("2.1.0+cpu", ">=2.1,<3")
