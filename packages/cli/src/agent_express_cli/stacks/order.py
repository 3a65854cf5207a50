"""Who stands in the wrong place, by the layers' own rules and those of the house, and an order that would do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .findings import Finding, listed
from .reorder import Before, moved, reorder
from .roles import roles_of
from .rules import RULES, Outside, Rule, Severity
from .view import LayerView

OWN = "order"
"""The rule of what layers say of their own place."""
OWN_WHY = "its author says so: elsewhere it does not do what it promises"
SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Demand:
    """One layer must stand outside of another, both given by their places in the stack.

    Attributes:
        outer: Who stands outside.
        inner: Who stands inside.
        rule: Which rule wants it.
        why: What goes wrong otherwise.
        severity: How bad that is.
        by: Which of the two wants it by a rule of its own.
    """

    outer: int
    inner: int
    rule: str
    why: str
    severity: Severity
    by: int = -1

    @property
    def is_broken(self) -> bool:
        """Whether the two stand the wrong way round."""
        return self.outer > self.inner

    @property
    def rank(self) -> int:
        """Which goes first where two contradict each other: what a layer says itself, then what is worse to break."""
        return 0 if self.by >= 0 else 1 + SEVERITIES.index(self.severity)


@dataclass(frozen=True, slots=True)
class Better:
    """An order that would do.

    Attributes:
        names: The layers in it.
        moved: Those that stand elsewhere in it.
        advice: How to get there.
    """

    names: tuple[str, ...]
    moved: tuple[str, ...]
    advice: str


def speaks_of(names: Sequence[str], layer: LayerView) -> bool:
    """Whether a rule that names *names* speaks of *layer*: by a role, its name, entry point or area."""
    return not roles_of(layer).isdisjoint(names) or any(layer.matches(name) for name in names if "." in name)


def check_order(layers: Sequence[LayerView], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """Say which rules of order the *layers* of one agent break, and an order that keeps them all.

    Where rules contradict each other, what a layer says of itself comes first, then what is worse to break.
    """
    demands = [*_own(layers), *_house(layers, rules)]
    demands.sort(key=lambda each: (each.rank, each.rule, layers[each.outer].name, layers[each.inner].name))
    before = Before(len(layers))
    kept = [each for each in demands if before.add(each.outer, each.inner)]
    given_up = [each for each in demands if each.is_broken and each not in kept]
    broken = [each for each in kept if each.is_broken]
    if not broken:
        return _contradictions(layers, given_up)
    better = _better(layers, reorder(before, len(layers)))
    return [*_told(layers, broken, better), *_contradictions(layers, given_up)]


def _better(layers: Sequence[LayerView], order: Sequence[int]) -> Better:
    stands = moved(order)
    names = tuple(layers[each].name for each in order)
    return Better(names, tuple(layers[each].name for each in stands), _moves(layers, order, stands))


def _own(layers: Sequence[LayerView]) -> Iterator[Demand]:
    """What the layers demand themselves."""
    for place, layer in enumerate(layers):
        for other, found in enumerate(layers):
            if other == place:
                continue
            if any(found.matches(rule) for rule in layer.order.outside):
                yield Demand(place, other, OWN, OWN_WHY, Severity.ERROR, place)
            if any(found.matches(rule) for rule in layer.order.inside):
                yield Demand(other, place, OWN, OWN_WHY, Severity.ERROR, place)


def _house(layers: Sequence[LayerView], rules: Sequence[Rule]) -> Iterator[Demand]:
    """What the house rules demand."""
    for rule in rules:
        if not isinstance(rule, Outside):
            continue
        who = [place for place, layer in enumerate(layers) if speaks_of(rule.who, layer)]
        whom = [place for place, layer in enumerate(layers) if speaks_of(rule.whom, layer)]
        for outer in who:
            for inner in whom:
                if outer != inner and _can_meet(layers[outer], layers[inner]):
                    yield Demand(outer, inner, rule.id, rule.why, rule.severity)


def _can_meet(one: LayerView, other: LayerView) -> bool:
    """Whether both wrap anything; what has no hook at a level stands nowhere."""
    return all(each.levels or not each.known for each in (one, other))


def _meet(one: LayerView, other: LayerView) -> bool:
    """Whether both wrap the same, so that their order shows."""
    return not (one.known and other.known) or not one.levels.isdisjoint(other.levels)


def _told(layers: Sequence[LayerView], broken: Sequence[Demand], better: Better) -> list[Finding]:
    """One finding for each rule and each layer that must stand further out."""
    groups: dict[tuple[str, int, int, bool], list[Demand]] = {}
    for demand in broken:
        meet = _meet(layers[demand.outer], layers[demand.inner])
        groups.setdefault((demand.rule, demand.outer, demand.by, meet), []).append(demand)
    return [_finding(layers, demands, better, meet=meet) for (_, _, _, meet), demands in groups.items()]


def _finding(layers: Sequence[LayerView], demands: Sequence[Demand], better: Better, *, meet: bool) -> Finding:
    first = demands[0]
    outer, inner = layers[first.outer], [layers[each.inner] for each in demands]
    wrong = listed([each.name for each in inner])
    stand = "stands" if len(inner) == 1 else "stand"
    message = f"{wrong} {stand} outside of {outer.name}"
    if first.by == first.outer:
        message += f", and {outer.name} must stand outside of {'it' if len(inner) == 1 else 'them'}"
    elif first.by >= 0:
        message += f", and {wrong} must stand inside of it"
    severity = first.severity
    if not meet:
        severity = Severity.NOTE
        message += "; today that changes nothing, since they have no hook in common"
    return Finding(
        first.rule,
        severity,
        message,
        first.why,
        better.advice,
        (*(each.name for each in inner), outer.name),
        inner[0].line,
        inner[0].column,
        better.names,
        better.moved,
    )


def _moves(layers: Sequence[LayerView], order: Sequence[int], stands: Sequence[int]) -> str:
    """Say who moves where: "put memory behind rate-limit"."""
    said: list[str] = []
    for each in stands:
        place = order.index(each)
        where = "first" if place == 0 else f"behind {layers[order[place - 1]].name}"
        bundle = layers[each].bundle
        cut = f" (it came with {bundle}: leave it out there, `without`, and use it by itself)" if bundle else ""
        said.append(f"put {layers[each].name} {where}{cut}")
    return listed(said)


def _contradictions(layers: Sequence[LayerView], given_up: Sequence[Demand]) -> list[Finding]:
    """Rules that no order of these layers can keep together with the others."""
    return [
        Finding(
            each.rule,
            Severity.NOTE,
            f"{layers[each.outer].name} should stand outside of {layers[each.inner].name}, which other rules of these "
            "layers forbid",
            each.why,
            "use layers that each do one thing, or leave one out",
            (layers[each.outer].name, layers[each.inner].name),
            layers[each.inner].line,
            layers[each.inner].column,
        )
        for each in given_up
    ]
