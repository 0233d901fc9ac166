"""Settings: from the file, the environment and arguments, and what is wrong with them."""

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

# The whole of the sample that the documentation shows.
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
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tester's own files out."""
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))


def written(text: str, name: str = "memolith.toml") -> Path:
    file = Path(name).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def refused(text: str) -> InvalidConfiguration:
    with pytest.raises(InvalidConfiguration) as caught:
        load(written(text))
    return caught.value


def without_store(loaded: LoadedSettings) -> Settings:
    """Return the settings without what depends on where the tests run."""
    return dataclasses.replace(
        loaded.settings, store="", encryption_key_path=Settings().encryption_key_path
    )


def test_with_nothing_set_every_value_is_its_default() -> None:
    loaded = load()
    assert without_store(loaded) == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_the_default_store_is_in_the_users_data_folder(tmp_path: Path) -> None:
    store = Path(load().settings.store)
    assert store.parts[-2:] == ("memolith", "memory.db")
    assert store.is_relative_to(tmp_path / "home")


@check_each("home", ["/home/ada", "/", "/home/ada/", "//srv/ada", "relative", "", None])
@check_each("moved", [None, "", "/elsewhere", "elsewhere", "~/elsewhere"])
def test_the_users_folders_are_where_the_library_has_them(
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


def test_the_default_key_is_in_the_users_configuration_folder(tmp_path: Path) -> None:
    key = Path(load(written("[memory]")).settings.encryption_key_path)
    assert key.name == "memory_encryption.key"
    assert key.is_relative_to(tmp_path / "home")


@pytest.mark.parametrize("env", [{}, {"MEMOLITH_ENCRYPTION_KEY_PATH": "keys/mine"}])
def test_a_keys_relative_path_counts_from_the_configurations_folder(
    tmp_path: Path, env: dict[str, str]
) -> None:
    file = written('[memory]\nencryption_key_path = "keys/mine"', str(tmp_path / "etc" / "m.toml"))
    assert load(file, env).settings.encryption_key_path == str(tmp_path / "etc" / "keys" / "mine")


def test_a_keys_relative_path_without_a_file_counts_from_the_users_folder(tmp_path: Path) -> None:
    path = load(env={"MEMOLITH_ENCRYPTION_KEY_PATH": "mine"}).settings.encryption_key_path
    assert Path(path).name == "mine"
    assert Path(path).is_relative_to(tmp_path / "home")


def test_the_sample_of_the_documentation_works_as_it_stands() -> None:
    loaded = load(written(SAMPLE))
    said = Embedding(dimension=384)  # the local model's own, as where nothing is said
    assert without_store(loaded) == dataclasses.replace(Settings(), embedding=said)
    assert loaded.origins["rag_limit"].endswith("memolith.toml:7")
    assert loaded.origins["embedding.dimension"].endswith("memolith.toml:18")


def test_a_file_in_the_working_directory_is_found() -> None:
    written("[memory]\nrag_limit = 7")
    assert load().settings.rag_limit == 7


def test_a_file_in_the_users_configuration_folder_is_found(tmp_path: Path) -> None:
    from platformdirs import user_config_path

    folder = user_config_path("memolith", appauthor=False)
    assert folder.is_relative_to(tmp_path)
    written("[memory]\nrag_limit = 8", str(folder / "memolith.toml"))
    assert load().settings.rag_limit == 8


def test_the_working_directory_goes_before_the_users_folder() -> None:
    from platformdirs import user_config_path

    written(
        "[memory]\nrag_limit = 8",
        str(user_config_path("memolith", appauthor=False) / "memolith.toml"),
    )
    written("[memory]\nrag_limit = 7")
    assert load().settings.rag_limit == 7


def test_a_variable_beats_the_file_and_an_argument_beats_both() -> None:
    file = written("[memory]\nrag_limit = 7\ntoken_budget = 70\nindex_cache_mb = 7")
    env = {"MEMOLITH_RAG_LIMIT": "8", "MEMOLITH_TOKEN_BUDGET": "80"}
    loaded = load(file, env, {"rag_limit": 9})
    settings = loaded.settings
    assert (settings.rag_limit, settings.token_budget, settings.index_cache_mb) == (9, 80, 7)
    names = ("rag_limit", "token_budget", "index_cache_mb")
    expected = ["argument", "environment MEMOLITH_TOKEN_BUDGET", f"{file}:4"]
    assert [loaded.origins[name] for name in names] == expected


def test_two_underscores_in_a_variable_stand_for_the_dot() -> None:
    env = {
        "MEMOLITH_EMBEDDING__MODEL": "/models/other",
        "MEMOLITH_STANDARD__FACT_DECAY_MODIFIER": "2",
    }
    settings = load(env=env).settings
    assert settings.embedding.model == "/models/other"
    assert settings.standard.fact_decay_modifier == 2.0


def test_the_short_variable_for_the_model_yields_to_the_exact_one() -> None:
    short = {"MEMOLITH_MODEL": "/models/short"}
    assert load(env=short).settings.embedding.model == "/models/short"
    both = {"MEMOLITH_EMBEDDING__MODEL": "/models/exact", **short}
    assert load(env=both).settings.embedding.model == "/models/exact"


def test_an_empty_variable_counts_as_not_set() -> None:
    loaded = load(env={"MEMOLITH_RAG_LIMIT": "", "MEMOLITH_STORE": " "})
    assert loaded.origins["rag_limit"] == "default"
    assert loaded.settings.store.endswith("memory.db")


def test_variables_of_others_are_left_alone() -> None:
    env = {"MEMOLITH_KEY": "k", "MEMOLITH_TEST_POSTGRES": "p", "MEMOLITHIC": "x", "PATH": "/bin"}
    assert without_store(load(env=env)) == Settings()


def test_an_argument_of_none_is_no_argument() -> None:
    assert load(overrides={"rag_limit": None}).origins["rag_limit"] == "default"


def test_a_relative_store_counts_from_the_folder_of_its_file(tmp_path: Path) -> None:
    file = written('[memory]\nstore = "data/m.db"', "elsewhere/memolith.toml")
    assert load(file).settings.store == str(tmp_path / "elsewhere" / "data" / "m.db")


@pytest.mark.parametrize("store", ["postgresql://host/db", ":memory:"])
def test_a_store_that_is_no_path_stays_as_it_is(store: str) -> None:
    assert load(written(f'[memory]\nstore = "{store}"')).settings.store == store


def test_the_home_folder_is_spelled_out(tmp_path: Path) -> None:
    assert load(overrides={"store": "~/m.db"}).settings.store == str(tmp_path / "home" / "m.db")


def test_an_unknown_name_is_an_error_with_its_line_and_the_nearest_name() -> None:
    error = refused("[memory]\n\nrag_limt = 5")
    assert error.name == "rag_limt"
    assert "did you mean rag_limit?" in error.problem
    assert error.source is not None
    assert error.source.endswith("memolith.toml:3")


def test_a_right_name_in_the_wrong_section_is_told_its_place() -> None:
    assert "did you mean embedding.dimension?" in refused("[memory]\ndimension = 3").problem


def test_an_unknown_section_is_told_the_nearest() -> None:
    error = refused("[memory]\nenabled = true\n[memory.embeding]\nmodel = 'x'")
    assert "did you mean [memory.embedding]?" in error.problem
    assert str(error.source).endswith(":3")


def test_a_setting_outside_of_memory_is_an_error() -> None:
    assert "under [memory]" in refused("rag_limit = 5").problem


def test_an_unknown_variable_is_told_the_nearest() -> None:
    with pytest.raises(
        InvalidConfiguration, match="did you mean MEMOLITH_EMBEDDING__MODEL"
    ) as caught:
        load(env={"MEMOLITH_EMBEDING__MODEL": "x"})
    assert caught.value.source == "environment"


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(InvalidConfiguration, match="did you mean rag_limit"):
        load(overrides={"rag_limits": 1})


def test_a_key_in_the_file_is_refused_and_not_repeated() -> None:
    error = refused("[memory.chat]\napi_key = 'sk-12345'")
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
def test_a_wrong_value_is_an_error_that_says_what_is_allowed(line: str, expected: str) -> None:
    error = refused(f"[memory]\n{line}")
    assert expected in error.problem
    assert str(error.source).endswith("memolith.toml:2")


def test_a_whole_number_will_do_for_a_number() -> None:
    assert load(written("[memory]\nbusy_timeout_s = 3")).settings.busy_timeout_s == 3.0


@check_each("text", ["[memory", "[memory]\nrag_limit = ", "[memory]\na = 'x"])
def test_a_file_that_is_not_toml_is_an_error_with_its_line(text: str) -> None:
    error = refused(text)
    assert "is not TOML" in error.problem
    assert str(error.source).endswith(f"memolith.toml:{len(text.splitlines())}")


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "memolith.toml"
    file.write_bytes(b"\xff\xfe[memory]")
    with pytest.raises(InvalidConfiguration, match="UTF-8"):
        load(file)


def test_a_missing_file_named_on_purpose_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="no such file"):
        load(tmp_path / "none.toml")


def test_quoted_and_dotted_names_keep_their_lines() -> None:
    error = refused("memory.embedding.'model' = 'x'\nmemory.rag_limit = 0")
    assert str(error.source).endswith(":2")


def test_every_default_lies_in_its_own_range() -> None:
    for setting in ALL_SETTINGS.values():
        text = str(setting.default)
        if text:
            assert parse_value(setting, text) == setting.default, setting.name


def test_every_setting_is_described_and_every_number_has_a_range() -> None:
    for setting in ALL_SETTINGS.values():
        assert setting.description, setting.name
        if setting.type in (int, float):
            assert setting.high < float("inf"), setting.name


@given(st.sampled_from(sorted(ALL_SETTINGS)), st.text(max_size=20))
def test_any_text_in_a_variable_gives_a_value_of_the_right_type_or_a_clear_error(
    name: str, text: str
) -> None:
    variable = ALL_SETTINGS[name].variable
    try:
        value = load(env={variable: text}).get_value(name)
    except InvalidConfiguration as error:
        message = str(error)
        assert variable in message
    else:
        assert type(value) is ALL_SETTINGS[name].type


def test_what_is_in_force_has_every_setting_with_its_origin() -> None:
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
def test_credentials_are_not_shown(shown: str, expected: str) -> None:
    assert mask_credentials(shown) == expected


def test_the_profiles_of_an_empty_configuration_are_those_of_their_own_numbers() -> None:
    made = ProfileRegistry(profile_factories(Settings()))
    own = (standard(), companion(), facts(), chunks(), tiers(), timeline())
    assert made == {profile.name: profile for profile in own}
    assert tuple(made) == BUILT_IN_PROFILES


def test_a_profiles_numbers_can_be_set() -> None:
    file = written("""
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


def test_the_least_chunk_is_no_larger_than_the_largest() -> None:
    file = written("[memory.chunks]\nmin_chunk_tokens = 301")
    with pytest.raises(InvalidConfiguration, match="min_chunk_tokens: must not be greater"):
        load(file)
