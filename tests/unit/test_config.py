"""Settings from the file, the environment and arguments, and their errors."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_config_path, user_data_path

from memolith.config import LoadedSettings, Settings, load
from memolith.config.fields import parse_value
from memolith.config.loading import ALL_SETTINGS, BUILT_IN_PROFILES, default_store, user_folder
from memolith.config.profiles import ProfileRegistry, profile_factories
from memolith.config.reference import iter_effective_settings, mask_credentials
from memolith.config.settings import Embedding
from memolith.errors import InvalidConfiguration
from memolith.profiles.chunks import ChunksSettings, chunks
from memolith.profiles.companion import CompanionSettings, companion
from memolith.profiles.facts import FactsSettings, facts
from memolith.profiles.standard import standard
from memolith.profiles.tiers import TiersSettings, tiers
from memolith.profiles.timeline import TimelineSettings, timeline
from support.rows import check_each

# The complete sample of the documentation.
SAMPLE = """
[memory]
profile = "standard"
enabled = true
enable_rag = true
enable_learning = true
rag_limit = 5
rag_threshold = 0.5
merge_threshold = 0.85
min_importance = 0.1
decay_factor = 0.95
enable_encryption = true
encryption_key_path = "memory_encryption.key"

[memory.embedding]
provider = "local"            # local | ollama | openai | sentence-transformers
model = "all-MiniLM-L6-v2"
dimension = 384
timeout_ms = 30000

[memory.chat]
provider = "none"
model = ""
base_url = ""
api_key_env = "OPENAI_API_KEY"
"""


@pytest.fixture(autouse=True)
def isolate_user_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the developer's own configuration files."""
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))


def write_config(text: str, name: str = "memolith.toml") -> Path:
    file = Path(name).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def get_config_error(text: str) -> InvalidConfiguration:
    with pytest.raises(InvalidConfiguration) as caught:
        load(write_config(text))
    return caught.value


def drop_local_paths(loaded: LoadedSettings) -> Settings:
    """Return the settings without paths that depend on the machine."""
    return dataclasses.replace(
        loaded.settings, store="", encryption_key_path=Settings().encryption_key_path
    )


def test_empty_configuration_has_default_values() -> None:
    loaded = load()
    assert drop_local_paths(loaded) == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_default_store_is_in_users_data_folder(tmp_path: Path) -> None:
    store = Path(load().settings.store)
    assert store.parts[-2:] == ("memolith", "memory.db")
    assert store.is_relative_to(tmp_path / "home")


@check_each("home", ["/home/ada", "/", "/home/ada/", "//srv/ada", "relative", "", None])
@check_each("moved", [None, "", "/elsewhere", "elsewhere", "~/elsewhere"])
def test_user_folders_match_platformdirs(
    monkeypatch: pytest.MonkeyPatch, home: str | None, moved: str | None
) -> None:
    variables = {"HOME": home, "XDG_CONFIG_HOME": moved, "XDG_DATA_HOME": moved}
    for name, value in variables.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert user_folder() == user_config_path("memolith", appauthor=False)
    assert default_store() == user_data_path("memolith", appauthor=False) / "memory.db"


def test_default_key_is_in_users_configuration_folder(tmp_path: Path) -> None:
    key = Path(load(write_config("[memory]")).settings.encryption_key_path)
    assert key.name == "memory_encryption.key"
    assert key.is_relative_to(tmp_path / "home")


@pytest.mark.parametrize("env", [{}, {"MEMOLITH_ENCRYPTION_KEY_PATH": "keys/mine"}])
def test_relative_key_path_starts_at_configuration_folder(
    tmp_path: Path, env: dict[str, str]
) -> None:
    file = write_config(
        '[memory]\nencryption_key_path = "keys/mine"', str(tmp_path / "etc" / "m.toml")
    )
    assert load(file, env).settings.encryption_key_path == str(tmp_path / "etc" / "keys" / "mine")


def test_relative_key_path_without_file_starts_at_users_folder(tmp_path: Path) -> None:
    path = load(env={"MEMOLITH_ENCRYPTION_KEY_PATH": "mine"}).settings.encryption_key_path
    assert Path(path).name == "mine"
    assert Path(path).is_relative_to(tmp_path / "home")


def test_sample_of_documentation_loads() -> None:
    loaded = load(write_config(SAMPLE))
    embedding = Embedding(
        dimension=384
    )  # the dimension of the local model, which is also the default
    assert drop_local_paths(loaded) == dataclasses.replace(Settings(), embedding=embedding)
    assert loaded.origins["rag_limit"].endswith("memolith.toml:7")
    assert loaded.origins["embedding.dimension"].endswith("memolith.toml:18")


def test_file_in_working_directory_is_loaded() -> None:
    write_config("[memory]\nrag_limit = 7")
    assert load().settings.rag_limit == 7


def test_file_in_users_configuration_folder_is_loaded(tmp_path: Path) -> None:
    from platformdirs import user_config_path

    folder = user_config_path("memolith", appauthor=False)
    assert folder.is_relative_to(tmp_path)
    write_config("[memory]\nrag_limit = 8", str(folder / "memolith.toml"))
    assert load().settings.rag_limit == 8


def test_working_directory_overrides_users_folder() -> None:
    from platformdirs import user_config_path

    write_config(
        "[memory]\nrag_limit = 8",
        str(user_config_path("memolith", appauthor=False) / "memolith.toml"),
    )
    write_config("[memory]\nrag_limit = 7")
    assert load().settings.rag_limit == 7


def test_argument_overrides_variable_and_variable_overrides_file() -> None:
    file = write_config("[memory]\nrag_limit = 7\ntoken_budget = 70\nindex_cache_mb = 7")
    env = {"MEMOLITH_RAG_LIMIT": "8", "MEMOLITH_TOKEN_BUDGET": "80"}
    loaded = load(file, env, {"rag_limit": 9})
    settings = loaded.settings
    assert (settings.rag_limit, settings.token_budget, settings.index_cache_mb) == (9, 80, 7)
    names = ("rag_limit", "token_budget", "index_cache_mb")
    expected = ["argument", "environment MEMOLITH_TOKEN_BUDGET", f"{file}:4"]
    assert [loaded.origins[name] for name in names] == expected


def test_double_underscore_in_variable_means_dot() -> None:
    env = {
        "MEMOLITH_EMBEDDING__MODEL": "/models/other",
        "MEMOLITH_STANDARD__FACT_DECAY_MODIFIER": "2",
    }
    settings = load(env=env).settings
    assert settings.embedding.model == "/models/other"
    assert settings.standard.fact_decay_modifier == 2.0


def test_exact_model_variable_overrides_short_one() -> None:
    short = {"MEMOLITH_MODEL": "/models/short"}
    assert load(env=short).settings.embedding.model == "/models/short"
    both = {"MEMOLITH_EMBEDDING__MODEL": "/models/exact", **short}
    assert load(env=both).settings.embedding.model == "/models/exact"


def test_empty_variable_counts_as_unset() -> None:
    loaded = load(env={"MEMOLITH_RAG_LIMIT": "", "MEMOLITH_STORE": " "})
    assert loaded.origins["rag_limit"] == "default"
    assert loaded.settings.store.endswith("memory.db")


def test_unrelated_variables_are_ignored() -> None:
    env = {"MEMOLITH_KEY": "k", "MEMOLITH_TEST_POSTGRES": "p", "MEMOLITHIC": "x", "PATH": "/bin"}
    assert drop_local_paths(load(env=env)) == Settings()


def test_argument_of_none_is_ignored() -> None:
    assert load(overrides={"rag_limit": None}).origins["rag_limit"] == "default"


def test_relative_store_path_starts_at_folder_of_file(tmp_path: Path) -> None:
    file = write_config('[memory]\nstore = "data/m.db"', "elsewhere/memolith.toml")
    assert load(file).settings.store == str(tmp_path / "elsewhere" / "data" / "m.db")


@pytest.mark.parametrize("store", ["postgresql://host/db", ":memory:"])
def test_store_that_is_not_path_is_unchanged(store: str) -> None:
    assert load(write_config(f'[memory]\nstore = "{store}"')).settings.store == store


def test_tilde_is_expanded_to_home_folder(tmp_path: Path) -> None:
    assert load(overrides={"store": "~/m.db"}).settings.store == str(tmp_path / "home" / "m.db")


def test_unknown_name_error_has_line_and_suggestion() -> None:
    error = get_config_error("[memory]\n\nrag_limt = 5")
    assert error.name == "rag_limt"
    assert "did you mean rag_limit?" in error.problem
    assert error.source is not None
    assert error.source.endswith("memolith.toml:3")


def test_name_in_wrong_section_error_suggests_its_place() -> None:
    assert (
        "did you mean embedding.dimension?" in get_config_error("[memory]\ndimension = 3").problem
    )


def test_unknown_section_error_suggests_nearest() -> None:
    error = get_config_error("[memory]\nenabled = true\n[memory.embeding]\nmodel = 'x'")
    assert "did you mean [memory.embedding]?" in error.problem
    assert str(error.source).endswith(":3")


def test_setting_outside_memory_section_is_rejected() -> None:
    assert "under [memory]" in get_config_error("rag_limit = 5").problem


def test_unknown_variable_error_suggests_nearest() -> None:
    with pytest.raises(
        InvalidConfiguration, match="did you mean MEMOLITH_EMBEDDING__MODEL"
    ) as caught:
        load(env={"MEMOLITH_EMBEDING__MODEL": "x"})
    assert caught.value.source == "environment"


def test_unknown_argument_error_suggests_nearest() -> None:
    with pytest.raises(InvalidConfiguration, match="did you mean rag_limit"):
        load(overrides={"rag_limits": 1})


def test_key_in_file_is_rejected_and_not_repeated() -> None:
    error = get_config_error("[memory.chat]\napi_key = 'sk-12345'")
    assert "api_key_env" in error.problem
    assert "sk-12345" not in str(error)


@check_each(
    ("line", "expected"),
    [
        ("rag_limit = 0", "a whole number from 1 to 100, not 0"),
        ("rag_limit = 101", "a whole number from 1 to 100, not 101"),
        ("rag_limit = 5.5", "not a number"),
        ("rag_limit = true", "not a boolean"),
        ('rag_limit = "5"', "not text"),
        ("rag_limit = [5]", "not a list"),
        ("rag_limit = {a = 5}", "not a section"),
        ("rag_limit = 2024-01-01", "not a date or time"),
        ("enabled = 1", "true or false, not a whole number"),
        ("rag_threshold = nan", "a number from 0 to 1, not nan"),
        ("busy_timeout_s = inf", "a number from 0 to 3600, not inf"),
        ('embedding.provider = "cohere"', "one of local, ollama, openai, sentence-transformers"),
        ("store = 5", "text, not a whole number"),
        ("embedding = 5", "is a section, not a value"),
    ],
)
def test_invalid_value_error_names_allowed_values(line: str, expected: str) -> None:
    error = get_config_error(f"[memory]\n{line}")
    assert expected in error.problem
    assert str(error.source).endswith("memolith.toml:2")


def test_whole_number_is_accepted_as_float() -> None:
    assert load(write_config("[memory]\nbusy_timeout_s = 3")).settings.busy_timeout_s == 3.0


@check_each("text", ["[memory", "[memory]\nrag_limit = ", "[memory]\na = 'x"])
def test_invalid_toml_is_reported_with_line(text: str) -> None:
    error = get_config_error(text)
    assert "is not TOML" in error.problem
    assert str(error.source).endswith(f"memolith.toml:{len(text.splitlines())}")


def test_file_that_is_not_utf8_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "memolith.toml"
    file.write_bytes(b"\xff\xfe[memory]")
    with pytest.raises(InvalidConfiguration, match="UTF-8"):
        load(file)


def test_missing_explicit_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="no such file"):
        load(tmp_path / "none.toml")


def test_quoted_and_dotted_names_preserve_line_numbers() -> None:
    error = get_config_error("memory.embedding.'model' = 'x'\nmemory.rag_limit = 0")
    assert str(error.source).endswith(":2")


def test_every_default_is_within_its_range() -> None:
    for setting in ALL_SETTINGS.values():
        text = str(setting.default)
        if text:
            assert parse_value(setting, text) == setting.default, setting.name


def test_every_setting_has_description_and_number_range() -> None:
    for setting in ALL_SETTINGS.values():
        assert setting.description, setting.name
        if setting.type in (int, float):
            assert setting.high < float("inf"), setting.name


@given(st.sampled_from(sorted(ALL_SETTINGS)), st.text(max_size=20))
def test_any_variable_text_gives_typed_value_or_clear_error(name: str, text: str) -> None:
    variable = ALL_SETTINGS[name].variable
    try:
        value = load(env={variable: text}).get_value(name)
    except InvalidConfiguration as error:
        message = str(error)
        assert variable in message
    else:
        assert type(value) is ALL_SETTINGS[name].type


def test_effective_settings_list_every_setting_with_origin() -> None:
    rows = {row.name: row for row in iter_effective_settings(load(env={"MEMOLITH_RAG_LIMIT": "6"}))}
    assert set(rows) == set(ALL_SETTINGS)
    assert (rows["rag_limit"].value, rows["rag_limit"].origin) == (
        6,
        "environment MEMOLITH_RAG_LIMIT",
    )
    assert {name: row.note for name, row in rows.items()} == {
        name: setting.note for name, setting in ALL_SETTINGS.items()
    }
    assert rows["rag_threshold"].note == "companion only"


@check_each(
    ("shown", "expected"),
    [
        ("postgresql://u:secret@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=u&password=secret", "postgresql://host/db?user=u&password=***"),
        ("https://host/path", "https://host/path"),
        ("/home/a@b:c/memory.db", "/home/a@b:c/memory.db"),
    ],
)
def test_credentials_are_masked(shown: str, expected: str) -> None:
    assert mask_credentials(shown) == expected


def test_empty_configuration_builds_default_profiles() -> None:
    made = ProfileRegistry(profile_factories(Settings()))
    own = (standard(), companion(), facts(), chunks(), tiers(), timeline())
    assert made == {profile.name: profile for profile in own}
    assert tuple(made) == BUILT_IN_PROFILES


def test_profile_settings_are_loaded_from_file() -> None:
    file = write_config("""
    [memory]
    rag_threshold = 0.4
    merge_threshold = 0.8
    min_importance = 0.3
    rag_limit = 7
    [memory.companion]
    fact_importance_floor = 0.2
    context_chars = 900
    [memory.facts]
    auto_merge_threshold = 0.9
    arbitration_threshold = 0.7
    max_per_user = 3
    max_content_length = 60
    project_ttl_days = 2
    [memory.chunks]
    max_chunk_tokens = 100
    min_stored_importance = 0.4
    text_weight = 0.2
    [memory.tiers]
    retrieval_top_k = 10
    duplicate_distance_threshold = 0.2
    [memory.timeline]
    timeline_retention_days = 30
    """)
    made = ProfileRegistry(profile_factories(load(file).settings))
    own = CompanionSettings(
        rag_threshold=0.4,
        merge_threshold=0.8,
        min_importance=0.3,
        context_chars=900,
        fact_importance_floor=0.2,
    )
    assert made["companion"] == companion(own, top_k=7)
    assert made["facts"] == facts(
        FactsSettings(
            auto_merge_threshold=0.9,
            arbitration_threshold=0.7,
            max_per_user=3,
            max_content_length=60,
            project_ttl_days=2,
        )
    )
    assert made["chunks"] == chunks(
        ChunksSettings(max_chunk_tokens=100, min_stored_importance=0.4, text_weight=0.2), top_k=7
    )
    assert made["tiers"] == tiers(
        TiersSettings(retrieval_top_k=10, duplicate_distance_threshold=0.2)
    )
    assert made["timeline"] == timeline(TimelineSettings(timeline_retention_days=30))


def test_minimum_chunk_size_above_maximum_is_rejected() -> None:
    file = write_config("[memory.chunks]\nmin_chunk_tokens = 301")
    with pytest.raises(InvalidConfiguration, match="min_chunk_tokens: must not be greater"):
        load(file)
