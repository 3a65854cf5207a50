"""The host of the plugins of the command line: which there are, and what they say. One that breaks is left out."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pluggy

from agent_express import Agent, App
from agent_express.errors import BlockedPluginError, ExpressError, PluginError, UnknownModelError
from agent_express.models import Model
from agent_express.plugins import Plugin, PluginState
from agent_express.registry import Registry

from ..exits import CommandError
from ..local import a
from .cases import Case
from .checks import Check
from .hookspecs import PROJECT, Hooks
from .isolation import fit, one_line

if TYPE_CHECKING:
    import typer

    from agent_express.stack import Stack, StackProblem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostProblem:
    """A plugin of the command line that could not be used, or one of its hooks.

    Attributes:
        plugin: Which, "acme.audit (acme-audit 1.2.0)".
        message: What is wrong, as a clause that follows the plugin.
        error: What was raised.
    """

    plugin: str
    message: str
    error: BaseException

    def __str__(self) -> str:
        return f"plugin {self.plugin} is left out: {self.message}"


def _nobody(problem: str) -> None:
    """Leave it in `Host.problems`."""


class Host:
    """Asks the plugins of the group "hooks"; each is imported when one of its hooks is asked for the first time.

    Which hooks those are is what its manifest lists under `implements`; one that lists none is imported for any.

    Args:
        registry: Where the plugins are.
        told: Told in one sentence of each plugin that is left out; blocked ones are left out without a word.

    Attributes:
        problems: What was left out so far, and why.
    """

    def __init__(self, registry: Registry, told: Callable[[str], None] = _nobody) -> None:
        self.registry = registry
        self.problems: list[HostProblem] = []
        self._told = told
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Hooks)
        self._names: dict[str, str] = {}
        self._tried: set[str] = set()
        self._asked: set[str] = set()
        self._changes: deque[Plugin] = deque()
        self._telling = False
        registry.watch(self.plugin_state_changed)

    # --- the hooks --------------------------------------------------------------------------------

    def add_commands(self, app: typer.Typer, plugin: str = "") -> None:
        """Let plugins add their commands to *app*.

        Args:
            app: The app, or a part of it.
            plugin: The one plugin that may, "dist:name"; "" for all.
        """
        for _ in self._answers("add_commands", plugin, app=app):
            pass

    def resolve_model(self, name: str) -> Model:
        """Make the model called *name*.

        Raises:
            UseError: Nobody knows it, or who does cannot make it.
        """
        found = self._first("resolve_model", f"no model is called {name!r}", name=name, registry=self.registry)
        if not isinstance(found, Model):
            raise CommandError(f"{name} is {a(found)}, expected a model: an object with name and stream(request)")
        return found

    def other_model(self, name: str) -> Model | None:
        """Make the model called *name*, of no installed provider; None where no plugin knows it.

        Raises:
            UseError: One knows it, and cannot make it.
        """
        try:
            found = self._maybe("resolve_model", object, name=name, registry=self.registry)
        except UnknownModelError:
            return None
        return cast("Model | None", found)

    def resolve_secret(self, ref: str) -> str | None:
        """Look up the secret *ref*, "scheme:where"; None where nobody knows the scheme.

        Raises:
            SecretError: There is no such secret.
        """
        return self._maybe("resolve_secret", str, ref=ref)

    def load_stack(self, path: str, *, profile: str = "", locked: bool = False) -> Agent | App | Stack:
        """Load what `--stack` names.

        Raises:
            UseError: It cannot be loaded; a StackError names line and column.
            CommandError: Nobody loads files of its kind.
        """
        lacking = f"nothing here loads the stack {path}: write a stack file such as agent.toml, or module:attribute"
        resolvers = {"secrets": self.resolve_secret, "models": self.other_model}
        given = {"path": path, "profile": profile, "locked": locked}
        return cast(
            "Agent | App | Stack",
            self._first("load_stack", lacking, registry=self.registry, **resolvers, **given),
        )

    def check_stack(self, stack: Stack) -> list[StackProblem]:
        """Say what is unwise in *stack*."""
        found: list[Any] = self._all("check_stack", object, stack=stack)
        return found

    def doctor(self) -> list[Check]:
        """Look after everything that plugins look after; what is left out here counts as a failed check."""
        known = len(self.problems)
        found = self._all("doctor", Check, registry=self.registry)
        return [*found, *(Check(f"plugin {each.plugin}", "fail", each.message) for each in self.problems[known:])]

    def plugin_state_changed(self, info: Plugin) -> None:
        """Tell plugins that *info* is in another state; what changes meanwhile is told afterwards."""
        self._changes.append(info)
        if self._telling:
            return
        self._telling = True
        try:
            while self._changes:
                self._all("plugin_state_changed", object, info=self._changes.popleft())
        finally:
            self._telling = False

    def conformance_cases(self, info: Plugin) -> list[Case]:
        """Name further forms in which the plugin *info* is to be checked."""
        return self._all("conformance_cases", Case, info=info)

    # --- the plugins ------------------------------------------------------------------------------

    def register(self, thing: Any, name: str) -> None:
        """Add a plugin that is no entry point: a part of this process that listens, *name* in what is told of it."""
        self._names[name] = name
        self._manager.register(fit(self._manager, thing), name)

    def implementers(self, hook: str, without: Collection[str] = ()) -> list[str]:
        """The plugins that implement *hook*, "dist:name", in the order in which they are asked.

        Args:
            hook: One of `hookspecs.NAMES`.
            without: Plugins that are not even imported for it.
        """
        self._load_for(hook, without=without)
        return [impl.plugin_name for impl in self._implementations(hook) if impl.plugin_name not in without]

    def leave_out(self, plugin: str, message: str, error: BaseException) -> None:
        """Take note that *plugin*, "dist:name", cannot be used."""
        problem = HostProblem(self._names.get(plugin, plugin), message, error)
        self.problems.append(problem)
        self._told(str(problem))

    def _load_for(self, hook: str, only: str = "", without: Collection[str] = ()) -> None:
        for plugin in self.registry.plugins("hooks") if hook not in self._asked else ():
            name = plugin.qualified
            if name in self._tried or name in without or only not in ("", name):
                continue
            if self._may_implement(plugin, hook):
                self._tried.add(name)
                self._load(plugin)
        if not only and not without:
            self._asked.add(hook)

    def _may_implement(self, plugin: Plugin, hook: str) -> bool:
        try:
            entry = self.registry.manifest(plugin)
        except PluginError:
            return True
        named = entry.raw.get("implements") if entry is not None else None
        return not named or hook in named

    def _load(self, plugin: Plugin) -> None:
        self._names[plugin.qualified] = str(plugin)
        try:
            self._manager.register(fit(self._manager, self.registry.load(plugin)), plugin.qualified)
        except BlockedPluginError:
            return
        except (Exception, SystemExit) as error:
            self.leave_out(plugin.qualified, one_line(error), error)

    # --- asking them ------------------------------------------------------------------------------

    def _implementations(self, hook: str) -> list[Any]:
        found: list[Any] = getattr(self._manager.hook, hook).get_hookimpls()
        return found[::-1]

    def _answers(
        self, hook: str, plugin: str = "", *, passing: tuple[type[BaseException], ...] = (), **given: Any
    ) -> Iterator[tuple[str, Any]]:
        """(plugin, answer) of each that gives one; pluggy itself would let the first that raises silence the others."""
        self._load_for(hook, plugin)
        for impl in self._implementations(hook):
            if plugin and impl.plugin_name != plugin:
                continue
            wanted = [given[name] for name in impl.argnames]
            named = {name: given[name] for name in impl.kwargnames if name in given}
            try:
                answer = impl.function(*wanted, **named)
                if inspect.iscoroutine(answer):
                    answer.close()
                    raise TypeError("it is async, expected a plain function")
            except passing:
                raise
            except (Exception, SystemExit) as error:
                self.leave_out(impl.plugin_name, f"{hook} failed: {one_line(error)}", error)
            else:
                if answer is not None:
                    yield impl.plugin_name, answer

    def _first(self, hook: str, lacking: str, **given: Any) -> Any:
        """The first answer. What is wrong with a thing that somebody knows is an answer, too."""
        before = len(self.problems)
        for _, answer in self._answers(hook, passing=(ExpressError, CommandError), **given):
            return answer
        failed = [str(problem) for problem in self.problems[before:]]
        raise CommandError("; ".join([lacking, *failed, *self._blocked(hook)]))

    def _blocked(self, hook: str) -> list[str]:
        """Why those that might have answered may not."""
        plugins = [each for each in self.registry.plugins("hooks") if each.state is PluginState.BLOCKED]
        return [plugin.reason for plugin in plugins if self._may_implement(plugin, hook)]

    def _maybe(self, hook: str, kind: type[T], **given: Any) -> T | None:
        for name, answer in self._answers(hook, passing=(ExpressError, CommandError), **given):
            if isinstance(answer, kind):
                return answer
            self._wrong(name, hook, answer, kind)
        return None

    def _all(self, hook: str, kind: type[T], **given: Any) -> list[T]:
        """Every answer of every plugin, those asked first first."""
        found: list[T] = []
        for name, answer in self._answers(hook, **given):
            if not isinstance(answer, Sequence) or not all(isinstance(each, kind) for each in answer):
                self._wrong(name, hook, answer, kind)
            else:
                found += cast("Sequence[T]", answer)
        return found

    def _wrong(self, plugin: str, hook: str, answer: object, kind: type) -> None:
        message = f"{hook} returned {a(answer)}, expected {'a list of ' if kind is not str else ''}{kind.__name__}"
        self.leave_out(plugin, message, TypeError(message))
