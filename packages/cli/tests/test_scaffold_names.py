"""From the name that a user gives to all names in the code, and what is refused."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_cli.exits import CommandError
from agent_express_cli.scaffold.kinds import Kind
from agent_express_cli.scaffold.names import LONGEST, Names, package_names, project_names

PACKAGES = [Kind.MIDDLEWARE, Kind.PROVIDER, Kind.BUNDLE]
kebab = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)


def outcome(given: str, kind: Kind) -> tuple[Names | None, str]:
    """The names, or why there are none."""
    try:
        return (project_names(given) if kind is Kind.PROJECT else package_names(given, kind)), ""
    except CommandError as error:
        return None, str(error)


def refusal(given: str, kind: Kind = Kind.MIDDLEWARE) -> str:
    with pytest.raises(CommandError) as caught:
        project_names(given) if kind is Kind.PROJECT else package_names(given, kind)
    return str(caught.value)


def test_one_name_gives_all_names() -> None:
    assert package_names("my-guard", Kind.MIDDLEWARE) == Names(
        name="my-guard",
        area="my-guard",
        entry="my-guard.my-guard",
        distribution="agent-express-my-guard",
        module="agent_express_my_guard",
        file="my_guard",
        class_name="MyGuard",
    )


def test_an_area_before_the_dot_names_the_package() -> None:
    names = package_names("acme.my-guard", Kind.BUNDLE)
    assert (names.entry, names.distribution, names.file) == ("acme.my-guard", "agent-express-acme", "my_guard")


def test_the_prefix_of_the_distribution_may_be_written() -> None:
    assert package_names("agent-express-my-guard", Kind.BUNDLE) == package_names("my-guard", Kind.BUNDLE)


@pytest.mark.parametrize(("name", "class_name"), [("my-ai", "MyAiModel"), ("my-model", "MyModel")])
def test_a_provider_is_one_word_and_its_class_a_model(name: str, class_name: str) -> None:
    names = package_names(name, Kind.PROVIDER)
    assert (names.entry, names.class_name) == (name, class_name)


def test_a_project_is_called_as_it_is() -> None:
    names = project_names("my-shop")
    assert (names.distribution, names.module) == ("my-shop", "my_shop")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "the package has no name; write one such as my-guard"),
        ("MyGuard", "starts with a letter; write my-guard"),
        ("my_guard", "write my-guard"),
        ("my guard", "write my-guard"),
        ("my--guard", "write my-guard"),
        ("2fa-guard", "write fa-guard"),
        ("my/guard", "write my-guard"),
        ("../my-guard", "starts with a letter"),
        ("日本", "starts with a letter, such as my-guard"),
        ("my-guard.", "starts with a letter"),
        (".my-guard", "starts with a letter"),
        ("a.b.my-guard", "write a-b"),
        ("class", "class is a word of Python; choose another one: my-class"),
        ("none", "none is a word of Python"),
        ("json", "json is a module of Python's standard library"),
        ("con", "Windows keeps con for a device"),
        ("test-guard", "pytest takes what starts with test for a test"),
        ("middleware", "there is a class Middleware already"),
        ("value-error", "there is a class ValueError already"),
        ("wire", "the package has a module wire already"),
        ("guards", "agent-express-guards is a package of Agent Express itself"),
        ("guards.my-guard", "put a word of your own in front: acme.my-guard"),
        ("agent-express-agent-express-x", "agent-express- is put in front of the name by itself"),
        ("a" * (LONGEST + 1), f"has {LONGEST + 1} letters, a part of a name has at most {LONGEST}"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_in_one_sentence(given: str, told: str) -> None:
    message = refusal(given)
    assert told in message
    assert "\n" not in message
    assert not given or repr(given) in message


def test_a_provider_has_no_area() -> None:
    assert "a provider is one word" in refusal("acme.my-ai", Kind.PROVIDER)


def test_a_bundle_is_no_function_of_python() -> None:
    assert "Python has a function filter already" in refusal("filter", Kind.BUNDLE)
    assert package_names("filter", Kind.MIDDLEWARE).class_name == "Filter"


def test_a_project_is_no_package_of_agent_express() -> None:
    assert "agent-express plugins new" in refusal("agent-express-shop", Kind.PROJECT)
    assert "write one such as my-shop" in refusal("", Kind.PROJECT)
    assert "json is a module of Python's standard library" in refusal("json", Kind.PROJECT)


@given(kebab, kebab, st.sampled_from(PACKAGES))
def test_names_made_of_plain_words_are_names_everywhere_or_refused(area: str, name: str, kind: Kind) -> None:
    given = name if kind is Kind.PROVIDER else f"{area}.{name}"
    names, told = outcome(given, kind)
    if names is None:
        assert repr(given) in told
        return
    for word in (names.module, names.file, names.class_name):
        assert word.isidentifier()
        assert not keyword.iskeyword(word)
    assert names.distribution.replace("-", "_") == names.module


@given(st.text(), st.sampled_from(Kind))
def test_whatever_is_given_is_a_name_or_one_sentence(given: str, kind: Kind) -> None:
    names, told = outcome(given, kind)
    if names is None:
        assert len(told.splitlines()) == 1
        assert "invalid" not in told
    else:
        assert given.removeprefix("agent-express-") in (names.name, names.entry)
