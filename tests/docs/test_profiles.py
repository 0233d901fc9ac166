"""The page of each profile agrees with its definition."""

import re
from pathlib import Path

from memolith.config.loading import ALL_SETTINGS, load
from memolith.config.profiles import ProfileRegistry, apply_embedder_thresholds, profile_factories
from memolith.config.reference import render_markdown
from memolith.config.settings import Settings
from support.rows import check_each

PAGES = Path(__file__).parents[2] / "docs" / "profiles"
PROFILES = ProfileRegistry(profile_factories(Settings()))
EMBEDDER = "all-MiniLM-L6-v2"


def read_page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def split_cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def get_setting_rows(name: str) -> list[list[str]]:
    """Return the reference rows of a profile, without the "only" notes."""
    rows = [split_cells(row) for row in render_markdown().splitlines()[2:]]
    own = [row for row in rows if row[4] == name]
    return [[*row[:4], row[5].replace(f" ({name} only)", "")] for row in own]


def test_every_profile_has_a_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {*PROFILES, "index"}


@check_each("name", PROFILES)
def test_page_lists_the_profiles_settings(name: str) -> None:
    rows = [split_cells(row) for row in read_page(name).splitlines() if row.startswith("| `")]
    assert [row for row in rows if len(row) == 5] == get_setting_rows(name)


@check_each("name", PROFILES)
def test_page_names_every_kind_of_the_profile(name: str) -> None:
    page = read_page(name)
    assert [kind for kind in PROFILES[name].kinds if kind not in page] == []


@check_each("name", PROFILES)
def test_page_lists_thresholds_of_the_local_embedder(name: str) -> None:
    plain = load()
    local = apply_embedder_thresholds(plain, EMBEDDER)
    owned = {setting.name for setting in ALL_SETTINGS.values() if setting.profile == name}
    changed = [each for each in owned if local.get_value(each) != plain.get_value(each)]
    wanted = {
        (f"`{each}`", f"{plain.get_value(each):.2f}", f"{local.get_value(each):.2f}")
        for each in changed
    }
    rows = [split_cells(row) for row in read_page(name).splitlines() if row.startswith("| `")]
    assert {tuple(row) for row in rows if len(row) == 3} == wanted


def test_index_maps_kinds_like_the_profiles() -> None:
    rows = [split_cells(row) for row in read_page("index").splitlines() if row.startswith("| ")]
    others = [each for name, each in PROFILES.items() if name != "standard"]
    wanted = [
        [kind, *(each.own_kinds.get(kind, kind) for each in others)]
        for kind in PROFILES["standard"].kinds
    ]
    assert [row for row in rows if row[0] in PROFILES["standard"].kinds] == wanted


def test_sample_of_a_custom_profile_loads(tmp_path: Path) -> None:
    [sample] = re.findall(r"(?ms)^```toml\n(\[memory\]\n.*?)^```$", read_page("index"))
    file = tmp_path / "memolith.toml"
    file.write_text(sample, encoding="utf-8")
    loaded = load(file)
    made = ProfileRegistry.from_settings(loaded, EMBEDDER)[loaded.settings.profile]
    assert made.name == "notes"
    assert made.cleanup_threshold == 0.3
