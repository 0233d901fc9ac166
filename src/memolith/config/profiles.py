"""Build the available profiles from the settings, with the thresholds of the embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint

from memolith.config.loading import ALL_SETTINGS, LoadedSettings
from memolith.config.settings import PROFILE_BUILDERS, Settings
from memolith.errors import InvalidConfiguration
from memolith.policies.embedding_models import FITTED_THRESHOLDS, SimilarityThresholds
from memolith.profiles.model import Profile


def apply_embedder_thresholds(loaded: LoadedSettings, embedder: str) -> LoadedSettings:
    """Return settings with the thresholds fitted to an embedder, for those that are not set.

    For an unknown embedder the settings are returned unchanged.
    """
    fitted = FITTED_THRESHOLDS.get(embedder)
    if fitted is None:
        return loaded
    unset = {
        each.name: _convert_threshold(each.threshold, getattr(fitted, each.threshold))
        for each in ALL_SETTINGS.values()
        if each.threshold and loaded.origins[each.name] == "default"
    }
    return loaded.replace_values(unset, origin=f"fitted to {embedder}")


def get_source_thresholds() -> SimilarityThresholds:
    """Return the default thresholds, which the source systems chose for their own embedders."""
    return SimilarityThresholds(
        **{
            each.threshold: _convert_threshold(each.threshold, float(each.default))
            for each in ALL_SETTINGS.values()
            if each.threshold
        }
    )


def _convert_threshold(name: str, value: float) -> float:
    """Convert between a threshold and its setting; `duplicate` is set as a distance."""
    return round(1.0 - value, 2) if name == "duplicate" else value


def profile_factories(settings: Settings) -> dict[str, Callable[[], Profile]]:
    """Return a factory for each built-in profile, by name."""
    return {
        name: partial(build, getattr(settings, name), settings.rag_limit)
        for name, build in PROFILE_BUILDERS.items()
    }


# --- Built-in, configured and installed profiles


ENTRY_POINT_GROUP = "memolith.profiles"
"""Packages add profiles under this group; an entry is a `Profile`, or a function that returns one.

"""


class ProfileRegistry(Mapping[str, Profile]):
    """Profiles by name, each built when first used.

    Installed packages are searched only for names that are neither built in nor configured.
    """

    def __init__(self, factories: Mapping[str, Callable[[], Profile]]) -> None:
        """Create a registry from profile factories by name."""
        self._factories = dict(factories)
        self._profiles: dict[str, Profile] = {}
        self._is_complete = False

    @classmethod
    def from_settings(
        cls, loaded: LoadedSettings, embedder: str, *extra_profiles: Profile
    ) -> ProfileRegistry:
        """Return the configured and the extra profiles, with an embedder's thresholds."""
        factories = profile_factories(apply_embedder_thresholds(loaded, embedder).settings)
        for name, custom in loaded.custom_profiles.items():
            base = profile_factories(
                apply_embedder_thresholds(custom.loaded_settings, embedder).settings
            )[custom.base]
            factories[name] = partial(
                _rename_profile, base, name, f"{custom.base}, with custom settings"
            )
        return cls(
            {**factories, **{each.name: partial(_return_profile, each) for each in extra_profiles}}
        )

    def __getitem__(self, name: str) -> Profile:
        """Return the profile of that name.

        Raises:
            KeyError: There is none.
            InvalidConfiguration: A package registers the name, but its profile is unusable.
        """
        if name not in self._factories:
            self._complete()
        if name not in self._profiles:  # two threads may both build it; the results are equal
            self._profiles[name] = self._factories[name]()
        return self._profiles[name]

    def __contains__(self, name: object) -> bool:
        """Return whether the profile exists, without building it."""
        if name not in self._factories:
            self._complete()
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        self._complete()
        return iter(self._factories)

    def __len__(self) -> int:
        """Return the number of profiles."""
        self._complete()
        return len(self._factories)

    def _complete(self) -> None:
        if not self._is_complete:
            from importlib.metadata import entry_points  # slow to import, rarely needed

            loaders = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
            new = {
                name: partial(_return_profile, _load_entry_point(entry))
                for name, entry in loaders.items()
                if name not in self._factories
            }
            self._factories |= new
            self._is_complete = True


def _rename_profile(factory: Callable[[], Profile], name: str, description: str) -> Profile:
    return replace(factory(), name=name, description=description)


def _return_profile(profile: Profile) -> Profile:
    return profile


def _load_entry_point(entry: EntryPoint) -> Profile:
    """Return the profile of an entry point.

    Raises:
        InvalidConfiguration: It cannot be loaded, or is not a profile of that name.
    """
    try:
        loaded = entry.load()
    except (ImportError, AttributeError) as error:
        problem = f"can't be loaded from {entry.value}"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, ENTRY_POINT_GROUP) from error
    profile = loaded if isinstance(loaded, Profile) else loaded()
    if not isinstance(profile, Profile) or profile.name != entry.name:
        problem = f"{entry.value} does not provide a profile of that name"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, ENTRY_POINT_GROUP)
    return profile
