"""The registry: which plugins are installed, whether they may be used, and from a name to an object.

Installed is not active: nothing here runs a plugin that nobody asked for, and listing them imports none.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .distributions import Provenance
from .errors import (
    AmbiguousPluginError,
    BlockedPluginError,
    BrokenPluginError,
    IncompatiblePluginError,
    PluginError,
    UnknownPluginError,
)
from .manifest import ManifestEntry, Offered, StateField
from .origins import Origin, origin_of
from .plugins import GROUPS, Plugin, PluginState, Policy, normal
from .references import import_attr, import_target
from .scan import Key, Scan, package_of
from .secrets import Secrets, resolve_secret
from .settings import Settings
from .suggestions import unknown

__all__ = [
    # find and make
    "registry", "Registry",
    # what is known of a plugin
    "Plugin", "PluginState", "Provenance", "GROUPS", "ManifestEntry", "StateField", "Offered", "Origin", "origin_of",
    # who may use which
    "Policy",
    # settings
    "Settings", "Secrets", "resolve_secret",
]  # fmt: skip


class Registry:
    """The plugins on a path, under a policy.

    Args:
        path: Folders to look in; those of `sys.path` where it is left out.
        environ: The environment; `AGENT_EXPRESS_ALLOW`, `_BLOCK` and `_STRICT` are read from it.
        policy: What holds beside the environment's.

    Raises:
        PluginError: The environment's policy cannot be read.
    """

    def __init__(
        self,
        *,
        path: Sequence[str] | None = None,
        environ: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        scan: Scan | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._own = policy
        outer = Policy.from_environ(self._environ)
        self.policy = outer if policy is None else policy.joined(outer)
        self._scan = scan or Scan(path)
        self._factories: dict[Key, Any] = {}
        self._failures: dict[Key, BaseException] = {}
        self._states: dict[Key, Plugin] = {}
        self._listeners: list[Callable[[Plugin], None]] = []
        self._count = 0
        self._plugins: Mapping[Key, Plugin] | None = None
        self._lock = threading.Lock()

    def with_policy(self, policy: Policy) -> Registry:
        """A registry of the same plugins for which *policy* holds as well; whoever watches this one watches it, too."""
        joined = policy if self._own is None else policy.joined(self._own)
        stricter = Registry(environ=self._environ, policy=joined, scan=self._scan)
        stricter._listeners = self._listeners
        return stricter

    def watch(self, told: Callable[[Plugin], None]) -> None:
        """Call *told* with each plugin whose state changes from now on."""
        self._listeners.append(told)

    # --- finding --------------------------------------------------------------------------------

    def plugins(self, group: str | None = None) -> tuple[Plugin, ...]:
        """What is installed, in the order of groups and names. Nothing is imported.

        Args:
            group: Only those of this group, one of `GROUPS`.

        Raises:
            PluginError: The policy is strict, and one of them is ambiguous, incompatible or has failed.
        """
        if group is not None and group not in GROUPS:
            raise PluginError(f"there is no group {group!r} of plugins; there are: {', '.join(GROUPS)}")
        plugins = self._current().values()
        if self.policy.is_strict:
            self._refuse_any(plugins)
        return tuple(plugin for plugin in plugins if group in (None, plugin.group))

    def find(self, name: str, group: str = "middleware") -> Plugin:
        """The plugin called *name*, or "distribution:name", whatever its state.

        Raises:
            UnknownPluginError: There is none; says what is near, and what to install.
            AmbiguousPluginError: Several distributions offer it, and *name* does not say which one is meant.
        """
        plugins = self.plugins(group)
        distribution, colon, rest = name.rpartition(":")
        wanted = [plugin for plugin in plugins if plugin.name == (rest if colon else name)]
        if colon:
            wanted = [plugin for plugin in wanted if normal(plugin.distribution) == normal(distribution)]
        usable = [plugin for plugin in wanted if plugin.usable] or wanted
        if not usable:
            raise UnknownPluginError(unknown(name, group, self.plugins()))
        if len(usable) > 1:
            raise AmbiguousPluginError(_which(usable))
        found = usable[0]
        return found.now(PluginState.AVAILABLE) if colon and found.state is PluginState.AMBIGUOUS else found

    def manifest(self, plugin: Plugin) -> ManifestEntry | None:
        """What its package says of *plugin*, read without importing it; None where it says nothing.

        Raises:
            ManifestError: The manifest is there and cannot be read.
        """
        return self._scan.manifest(plugin)

    def manifest_path(self, plugin: Plugin) -> Path | None:
        """Where the manifest of its package lies; None where it has none."""
        return self._scan.manifest_path(plugin)

    def provenance(self, plugin: Plugin) -> Provenance:
        """Where *plugin* comes from.

        Raises:
            UnknownPluginError: Its distribution is not installed, or no more.
        """
        offer = self._scan.found().offers.get(normal(plugin.distribution))
        if offer is None:
            raise UnknownPluginError(f"{plugin.distribution} is not installed: pip install {plugin.distribution}")
        return offer.provenance

    def failure(self, plugin: Plugin) -> BaseException | None:
        """What importing *plugin* has raised."""
        return self._failures.get(_key(plugin))

    def of(self, thing: object) -> Plugin | None:
        """The plugin that a middleware, a model or a tool was made from, or is an instance of; imports nothing.

        Its state is the one it has here, whichever registry has made the object.
        """
        origin = origin_of(thing)
        if origin is not None and origin.plugin is not None:
            return self._current().get(_key(origin.plugin), origin.plugin)
        kind: Any = thing if isinstance(thing, type) or inspect.isfunction(thing) else type(thing)
        plugins = self.plugins()
        itself = next((plugin for plugin in plugins if self._is(plugin, kind)), None)
        return itself or next((plugin for plugin in plugins if self._makes(plugin, kind)), None)

    def _is(self, plugin: Plugin, kind: Any) -> bool:
        if f"{kind.__module__}:{kind.__qualname__}" == plugin.target:
            return True
        return self._factories.get(_key(plugin)) is kind or _imported(plugin.target) is kind

    def _makes(self, plugin: Plugin, kind: Any) -> bool:
        """Whether the manifest says that a function makes objects of that class."""
        target = f"{kind.__module__}:{kind.__qualname__}"
        if package_of(plugin.target) != package_of(target):
            return False
        try:
            entry = self.manifest(plugin)
        except PluginError:
            return False
        return entry is not None and entry.module == target

    # --- using ----------------------------------------------------------------------------------

    def load(self, plugin: Plugin | str, group: str = "middleware") -> Any:
        """Import the factory of a plugin, once.

        Raises:
            PluginError: It is unknown, ambiguous, blocked, incompatible, or importing it failed: each an error of its
                own that says what to do. `SystemExit` counts as a failure.
        """
        wanted = self.find(plugin, group) if isinstance(plugin, str) else plugin
        key = _key(wanted)
        self._refuse(self._current().get(key, wanted), wanted)
        if key in self._factories:
            return self._factories[key]
        try:
            factory = import_target(wanted.target) if wanted.group == "hooks" else import_attr(wanted.target)
        except PluginError as error:
            reason, cause = f"{wanted} is broken: {error}", error.__cause__ or error
            self._keep(self._failures, key, cause, wanted.now(PluginState.FAILED, reason))
            raise BrokenPluginError(reason) from cause
        self._failures.pop(key, None)  # it may have asked for itself while it was being imported
        self._keep(self._factories, key, factory, wanted.now(PluginState.LOADED))
        return factory

    def settings(self, plugin: Plugin | str, group: str = "middleware") -> Settings:
        """What a plugin can be told; it is imported for that. A model's factory is given its name first.

        Raises:
            PluginError: See `load`.
        """
        wanted = self.find(plugin, group) if isinstance(plugin, str) else plugin
        return Settings.of(self.load(wanted), 1 if wanted.group == "models" else 0)

    def create(
        self,
        plugin: Plugin | str,
        config: Mapping[str, Any] | None = None,
        *given: Any,
        group: str = "middleware",
        secrets: Secrets = resolve_secret,
        base: Path | None = None,
        from_file: bool = False,
    ) -> Any:
        """Make an object of a plugin: `registry().create("guards.cost-cap", {"limit": 5})`.

        Args:
            plugin: Its name, or what `find` gave.
            config: Its settings; a secret is a table of one key, `{"env": "NAME"}`.
            given: What the factory takes before its settings: of a model, what follows the colon of its name.
            group: The group that a name is looked up in.
            secrets: What resolves the secrets.
            base: The folder that files of secrets are relative to.
            from_file: Whether a secret written as text is refused.

        Raises:
            PluginError: See `load`; also where calling the factory failed.
            SettingsError: What does not fit of the settings, all of it.
        """
        wanted = self.find(plugin, group) if isinstance(plugin, str) else plugin
        settings = self.settings(wanted)
        return settings.make(config or {}, *given, plugin=wanted, secrets=secrets, base=base, from_file=from_file)

    # --- states ---------------------------------------------------------------------------------

    def _current(self) -> Mapping[Key, Plugin]:
        """What is installed, each in its state of now; a change of it forgets what failed, and what is another now."""
        found = self._scan.found().plugins
        if self._scan.count != self._count:
            self._count, self._failures, self._plugins = self._scan.count, {}, None
            self._states = {
                key: plugin
                for key, plugin in self._states.items()
                if key in found and plugin == found[key].now(PluginState.LOADED)
            }
            self._factories = {key: factory for key, factory in self._factories.items() if key in self._states}
        judged, states = self._plugins, self._states
        if judged is None:
            judged = self._judged(found)
            with self._lock:  # a thread that has imported a plugin meanwhile has put another table of states there
                self._plugins = judged if self._states is states else None
        return judged

    def _judged(self, found: Mapping[Key, Plugin]) -> Mapping[Key, Plugin]:
        """Each plugin as the policy, the scan and its import have it; whoever shares a name is ambiguous."""
        plugins = {key: self._permitted(key, plugin) for key, plugin in found.items()}
        rivals: dict[tuple[str, str], list[Key]] = {}
        for key, plugin in plugins.items():
            if plugin.state not in (PluginState.BLOCKED, PluginState.INCOMPATIBLE):
                rivals.setdefault(key[:2], []).append(key)
        for keys in rivals.values():
            if len(keys) > 1:
                reason = _which([plugins[key] for key in keys])
                plugins |= {key: plugins[key].now(PluginState.AMBIGUOUS, reason) for key in keys if plugins[key].usable}
        return plugins

    def _permitted(self, key: Key, plugin: Plugin) -> Plugin:
        """What the policy says of *plugin*, else what the scan says, else what importing it brought."""
        refusal = self.policy.refusal(plugin)
        if refusal:
            return plugin.now(PluginState.BLOCKED, refusal)
        changed = self._states.get(key)
        if changed is None or plugin.state is PluginState.INCOMPATIBLE:
            return plugin
        return plugin.now(changed.state, changed.reason)

    def _refuse(self, now: Plugin, asked: Plugin) -> None:
        match now.state:
            case PluginState.BLOCKED:
                raise BlockedPluginError(now.reason)
            case PluginState.INCOMPATIBLE:
                raise IncompatiblePluginError(f"{now.name} cannot be used: {now.reason}")
            case PluginState.AMBIGUOUS if asked.state is PluginState.AMBIGUOUS:
                raise AmbiguousPluginError(now.reason)
            case PluginState.FAILED:
                raise BrokenPluginError(now.reason) from self._failures.get(_key(now))
            case _:
                return

    def _refuse_any(self, plugins: Iterable[Plugin]) -> None:
        broken = (PluginState.AMBIGUOUS, PluginState.INCOMPATIBLE, PluginState.FAILED)
        wrong = dict.fromkeys(plugin.reason for plugin in plugins if plugin.state in broken)
        if wrong:
            raise PluginError(f"AGENT_EXPRESS_STRICT or strict = true: every plugin must be usable: {'; '.join(wrong)}")

    def _keep(self, kept: dict[Key, Any], key: Key, found: Any, plugin: Plugin) -> None:
        """Keep what importing *plugin* brought, and tell of its state, once however many threads have imported it.

        What the import itself did to the path, a `__pycache__` beside a module say, is no news of what is installed.
        """
        self._scan.found()
        with self._lock:
            self._count = self._scan.count
            kept[key] = found
            is_news = self._states.get(key) != plugin
            self._states = {**self._states, key: plugin}
            self._plugins = None
        for told in self._listeners if is_news else ():
            told(plugin)


@cache
def registry() -> Registry:
    """The registry of this process; the environment's policy is read at the first call."""
    return Registry()


def _which(plugins: Sequence[Plugin]) -> str:
    names = " or ".join(sorted(plugin.qualified for plugin in plugins))
    return f"{plugins[0].name!r} is offered by several packages: write {names}"


def _imported(target: str) -> Any:
    """What *target* leads to, if its module has been imported; None else."""
    module, _, attribute = target.partition(":")
    return vars(sys.modules[module]).get(attribute) if module in sys.modules else None


def _key(plugin: Plugin) -> Key:
    return plugin.group, plugin.name, plugin.distribution
