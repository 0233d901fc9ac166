"""All profiles there are: those of Memolith, of the configuration, and of packages installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memolith.config.profiles import profiles
from memolith.config.thresholds import fitted
from memolith.errors import InvalidConfiguration
from memolith.profiles.model import Profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from memolith.config.loading import Loaded

GROUP = "memolith.profiles"
"""The entry points by which a package adds profiles: each a `Profile`, or a function that returns
one."""


class ProfileBook(Mapping[str, Profile]):
    """Profiles by name, each made at first need.

    Installed packages are asked only for names that nobody else has.
    """

    def __init__(self, known: Mapping[str, Callable[[], Profile]]) -> None:
        """Begin with what makes these."""
        self._known = dict(known)
        self._made: dict[str, Profile] = {}
        self._is_complete = False

    @classmethod
    def of(cls, loaded: Loaded, embedder: str, *more: Profile) -> ProfileBook:
        """Return the profiles of a configuration, with an embedder's thresholds, and these.

        Raises:
            InvalidConfiguration: Numbers contradict each other.
        """
        known = profiles(fitted(loaded, embedder).settings)
        for name, own in loaded.own_profiles.items():
            base = profiles(fitted(own.loaded, embedder).settings)[own.base]
            known[name] = partial(_renamed, base, name, f"{own.base}, with numbers of its own")
        return cls({**known, **{each.name: partial(_given, each) for each in more}})

    def __getitem__(self, name: str) -> Profile:
        """Return the profile of that name.

        Raises:
            KeyError: There is none.
            InvalidConfiguration: A package that should have it can't be used.
        """
        if name not in self._known:
            self._complete()
        if name not in self._made:  # two threads may both make it: what they make is equal
            self._made[name] = self._known[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is one of that name, without making it."""
        if name not in self._known:
            self._complete()
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        self._complete()
        return iter(self._known)

    def __len__(self) -> int:
        """Return how many there are."""
        self._complete()
        return len(self._known)

    def _complete(self) -> None:
        if not self._is_complete:
            from importlib.metadata import entry_points  # slow to import, and seldom needed

            found = {entry.name: entry for entry in entry_points(group=GROUP)}
            new = {
                name: partial(_given, _loaded(entry))
                for name, entry in found.items()
                if name not in self._known
            }
            self._known |= new
            self._is_complete = True


def _renamed(make: Callable[[], Profile], name: str, told: str) -> Profile:
    return replace(make(), name=name, told=told)


def _given(profile: Profile) -> Profile:
    return profile


def _loaded(entry: EntryPoint) -> Profile:
    """Return what an entry point stands for.

    Raises:
        InvalidConfiguration: It can't be loaded, or is no profile of its name.
    """
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        problem = f"can't be loaded from {entry.value}"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, GROUP) from error
    made = found if isinstance(found, Profile) else found()
    if not isinstance(made, Profile) or made.name != entry.name:
        problem = f"{entry.value} gives no profile of that name"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, GROUP)
    return made
