"""The house rules, and the orders that keep them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_express_cli.stacks.checks import EXPLAINED
from agent_express_cli.stacks.findings import Finding
from agent_express_cli.stacks.order import check_order
from agent_express_cli.stacks.reorder import Before, moved, reorder
from agent_express_cli.stacks.roles import GUIDE, RECORDS_CONTENT, WELL_KNOWN, roles_of
from agent_express_cli.stacks.rules import RULES, Alone, Needs, Outside, Severity, rule
from agent_express_cli.stacks.view import HookView, LayerView, OrderView

ROLES = [role for row in GUIDE for role in row]
RANK = {role: place for place, row in enumerate(GUIDE) for role in row}
PAIRS = [(each, who, whom) for each in RULES if isinstance(each, Outside) for who in each.who for whom in each.whom]
BOTH = (HookView("turn"), HookView("model"))


def layer(name: str, *roles: str, **more: object) -> LayerView:
    return LayerView(name, **{"hooks": BOTH, "roles": frozenset(roles), **more})  # type: ignore[arg-type]


# --- the rules as data ----------------------------------------------------------------------------


def test_each_rule_has_a_name_of_its_own_and_says_why() -> None:
    names = [each.id for each in RULES]
    assert len({*names, *EXPLAINED}) == len(names) + len(EXPLAINED)
    assert len(names) >= 12
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", name) for name in names)
    assert all(len(each.why.split()) >= 8 and not each.why.endswith(".") for each in RULES)


def test_the_rules_speak_of_roles_that_there_are() -> None:
    known = {*ROLES, RECORDS_CONTENT}
    for each in RULES:
        assert {*each.who, *(() if isinstance(each, Alone) else each.whom)} <= known
    assert {role for _, role in WELL_KNOWN} <= known


@pytest.mark.parametrize(("each", "who", "whom"), PAIRS, ids=[f"{each.id}:{who}-{whom}" for each, who, whom in PAIRS])
def test_a_rule_goes_with_the_guide_and_finds_who_stands_the_wrong_way_round(
    each: Outside, who: str, whom: str
) -> None:
    assert RANK[who] <= RANK[whom]
    inner, outer = layer("inner", whom), layer("outer", who)
    (found,) = [finding for finding in check_order([inner, outer]) if finding.rule == each.id]
    assert (found.severity, found.why, found.layers) == (each.severity, each.why, ("inner", "outer"))
    assert found.order == ("outer", "inner")
    assert check_order([outer, inner]) == []


@pytest.mark.parametrize(
    ("wrong", "id"),
    [
        (["memory", "rate-limit"], "rate-limit-outside-what-it-protects"),
        (["response-cache", "budget"], "budget-outside-response-cache"),
        (["response-cache", "memory"], "response-cache-innermost"),
        (["memory", "redactor"], "redactor-outside-who-keeps-text"),
        (["retry", "timeout"], "timeout-outside-retry"),
    ],
)
def test_the_well_known_mistakes_are_found(wrong: list[str], id: str) -> None:
    found = check_order([layer(role, role) for role in wrong])
    assert id in [finding.rule for finding in found]
    assert found[0].order == tuple(reversed(wrong))


def test_a_rule_is_found_by_its_name() -> None:
    assert rule("retry-once") in RULES
    assert rule("nonsense") is None


# --- roles ----------------------------------------------------------------------------------------


def test_the_roles_of_a_layer_are_those_its_author_declares() -> None:
    assert roles_of(layer("x", "budget", plugin="calls.retry")) == {"budget"}


@pytest.mark.parametrize(
    ("plugin", "role"),
    [
        ("guards.cost-cap", "budget"),
        ("guards.rate-limit", "rate-limit"),
        ("calls.retry", "retry"),
        ("calls.response-cache", "response-cache"),
        ("memory.episodic", "memory"),
        ("observe.otel", "trace"),
    ],
)
def test_a_well_known_entry_point_has_a_role_without_saying_so(plugin: str, role: str) -> None:
    assert roles_of(layer("x", plugin=plugin)) == {role}


def test_a_layer_of_the_project_has_the_role_it_is_named_after() -> None:
    assert roles_of(layer("rate-limit")) == {"rate-limit"}
    assert roles_of(layer("rate-limiting")) == frozenset()
    assert roles_of(layer("rate-limit", plugin="acme.tea")) == frozenset()


# --- orders ---------------------------------------------------------------------------------------

one_role = st.lists(st.sampled_from([*ROLES, ""]), max_size=30).map(
    lambda roles: [layer(f"{role or 'plain'}-{number}", *filter(None, [role])) for number, role in enumerate(roles)]
)
levels = st.sampled_from([(), (HookView("turn"),), (HookView("model"),), BOTH, (HookView("init"),)])
some_roles = st.lists(
    st.tuples(st.frozensets(st.sampled_from(ROLES), max_size=3), levels, st.sampled_from(["", "", "memory", "trace"])),
    max_size=15,
).map(
    lambda found: [
        LayerView(f"layer-{number}", hooks, roles=roles, order=OrderView(outside=tuple(filter(None, [outside]))))
        for number, (roles, hooks, outside) in enumerate(found)
    ]
)


def in_order(layers: Sequence[LayerView], names: Sequence[str]) -> list[LayerView]:
    by_name = {each.name: each for each in layers}
    assert sorted(names) == sorted(by_name)
    return [by_name[name] for name in names]


def about_order(found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.order]


@settings(deadline=None, max_examples=60)
@given(one_role)
def test_the_order_that_is_proposed_breaks_no_rule(layers: list[LayerView]) -> None:
    found = check_order(layers)
    if not found:
        return
    better = in_order(layers, found[0].order)
    assert {finding.order for finding in found} == {found[0].order}
    assert check_order(better) == []
    place = {each.name: number for number, each in enumerate(better)}
    for each in RULES:
        if isinstance(each, Outside):
            outer = [place[one.name] for one in layers if one.roles & set(each.who)]
            inner = [place[one.name] for one in layers if one.roles & set(each.whom)]
            assert not outer or not inner or max(outer) < min(inner)


@settings(deadline=None, max_examples=60)
@given(some_roles)
def test_rules_that_contradict_each_other_still_leave_an_order_that_is_then_clean(layers: list[LayerView]) -> None:
    found = about_order(check_order(layers))
    if found:
        again = check_order(in_order(layers, found[0].order))
        assert about_order(again) == []
        assert {finding.severity for finding in again} <= {Severity.NOTE}


@settings(deadline=None, max_examples=60)
@given(one_role)
def test_who_is_said_to_move_is_all_that_moves(layers: list[LayerView]) -> None:
    found = check_order(layers)
    if found:
        stay = [each.name for each in layers if each.name not in found[0].moved]
        assert [name for name in found[0].order if name in stay] == stay


rules_of_ten = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)


@given(rules_of_ten)
def test_a_new_order_keeps_all_that_does_not_contradict(pairs: list[tuple[int, int]]) -> None:
    before = Before(10)
    kept = [(outer, inner) for outer, inner in pairs if before.add(outer, inner)]
    order = reorder(before, 10)
    assert sorted(order) == list(range(10))
    assert all(order.index(outer) < order.index(inner) for outer, inner in kept)


def test_what_contradicts_is_refused() -> None:
    before = Before(3)
    assert before.add(0, 1)
    assert before.add(1, 2)
    assert not before.add(2, 0)
    assert not before.add(1, 1)
    assert sorted(before.inner(0)) == [1, 2]


def test_an_order_that_holds_stays() -> None:
    before = Before(5)
    before.add(0, 4)
    assert reorder(before, 5) == [0, 1, 2, 3, 4]


def test_as_few_as_possible_move_and_not_far() -> None:
    before = Before(6)
    for inner in (0, 1, 2):
        before.add(4, inner)
    order = reorder(before, 6)
    assert order == [4, 0, 1, 2, 3, 5]
    assert moved(order) == [4]


# --- what is said ---------------------------------------------------------------------------------


def test_a_finding_says_who_stands_where_and_where_to_put_whom() -> None:
    layers = [layer("recall", "memory", line=9, column=1), layer("tidy"), layer("limit", "rate-limit", line=14)]
    (found,) = check_order(layers)
    assert found.message == "recall stands outside of limit"
    assert found.advice == "put limit first"
    assert found.order == ("limit", "recall", "tidy")
    assert (found.moved, found.line, found.column) == (("limit",), 9, 1)


def test_what_came_with_a_bundle_is_cut_out_of_it_to_be_moved() -> None:
    layers = [layer("recall", "memory", bundle="deep"), layer("limit", "rate-limit"), layer("other", "rate-limit")]
    (found, _) = check_order(layers)
    assert found.advice == (
        "put recall behind other (it came with deep: leave it out there, `without`, and use it by itself)"
    )


def test_layers_without_a_hook_in_common_may_stand_as_they_like_and_that_is_noted() -> None:
    recall = layer("recall", "memory", hooks=(HookView("model"),))
    limit = layer("limit", "rate-limit", hooks=(HookView("turn"),))
    (found,) = check_order([recall, limit])
    assert found.severity is Severity.NOTE
    assert found.message.endswith("today that changes nothing, since they have no hook in common")


def test_layers_that_wrap_nothing_have_no_place() -> None:
    assert check_order([layer("files", "tools", hooks=()), layer("ask", "approval")]) == []


def test_a_layer_whose_hooks_nobody_knows_is_held_to_the_rules() -> None:
    (found,) = check_order([layer("recall", "memory", hooks=(), known=False), layer("limit", "rate-limit")])
    assert found.severity is Severity.ERROR


def test_what_a_layer_says_of_its_own_place_goes_before_the_house() -> None:
    limit = layer("limit", "rate-limit")
    recall = layer("recall", "memory", order=OrderView(outside=("limit",)))
    assert [(found.severity, found.order) for found in check_order([recall, limit])] == [(Severity.NOTE, ())]
    (found,) = check_order([limit, recall])
    assert (found.rule, found.severity) == ("order", Severity.ERROR)
    assert found.message == "limit stands outside of recall, and recall must stand outside of it"
    assert found.order == ("recall", "limit")


def test_a_layer_may_say_what_it_stands_inside_of() -> None:
    inner = layer("inner", order=OrderView(inside=("outer",)))
    (found,) = check_order([inner, layer("outer")])
    assert found.message == "inner stands outside of outer, and inner must stand inside of it"


def test_the_severities_are_ordered_from_the_worst() -> None:
    assert [each.value for each in Severity] == ["error", "warning", "note"]
    assert {type(each) for each in RULES} == {Outside, Needs, Alone}
