"""The files of deploy/ name existing settings, files and commands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from memolith.cli.commands import COMMANDS
from memolith.config.loading import ALL_SETTINGS
from memolith.stores import KEY_VARIABLE

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

_FILE_SUFFIX = "_FILE"
"""Suffix of the variables from which the entry point reads secrets."""

_HOSTS_OF_REGISTRIES = re.compile(r"(FROM|image:)\s+[\w-]+(\.[\w-]+)+[:/]")


def list_files() -> list[Path]:
    return sorted(each for each in DEPLOY.rglob("*") if each.is_file() and each.name != "secrets")


def load_compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return read


def get_secret_variables() -> set[str]:
    text = (DEPLOY / "entrypoint.sh").read_text()
    return set(re.findall(r"^from_file (\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("path", list_files(), ids=lambda path: path.name)
def test_every_variable_names_a_setting(path: Path) -> None:
    known = {each.variable for each in ALL_SETTINGS.values()} | {KEY_VARIABLE}
    known |= {f"{each}{_FILE_SUFFIX}" for each in get_secret_variables()}
    named = set(re.findall(r"\bMEMOLITH_[A-Z0-9_]+", path.read_text()))
    assert named <= known


@pytest.mark.parametrize("path", list_files(), ids=lambda path: path.name)
def test_no_file_names_an_image_registry(path: Path) -> None:
    assert not _HOSTS_OF_REGISTRIES.search(path.read_text())


def test_compose_runs_database_upgrade_server_and_worker() -> None:
    services = load_compose()["services"]
    assert list(services) == ["db", "upgrade", "server", "worker"]
    for name in ("upgrade", "server", "worker"):
        assert services[name]["command"][0] in COMMANDS
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
    assert services["server"]["ports"] == ["127.0.0.1:8377:8377"]


def test_application_services_do_not_use_the_table_owner_role() -> None:
    services = load_compose()["services"]
    stores = {
        name: services[name]["environment"]["MEMOLITH_STORE"] for name in services if name != "db"
    }
    assert "//memolith_deploy@" in stores.pop("upgrade")
    assert all("//memolith_app@" in each for each in stores.values())
    assert "deploy_password" not in services["server"]["secrets"] + services["worker"]["secrets"]


def test_secrets_are_passed_only_as_files() -> None:
    read = load_compose()
    for service in read["services"].values():
        for variable, value in service["environment"].items():
            is_secret = re.search("PASSWORD|KEY", variable) and "PATH" not in variable
            assert not is_secret or str(value).startswith("/run/secrets/"), variable
        assert set(service["secrets"]) <= set(read["secrets"])
    made = (DEPLOY / "make-secrets.sh").read_text()
    assert all(name in made for name in read["secrets"])


def test_image_copies_only_files_sent_to_the_build() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    own = [path for each in copied for path in each if not path.startswith(("--", "/"))]
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    for path in own:
        assert (ROOT / path).exists(), path
        assert any(path.startswith(each[1:]) for each in sent if each.startswith("!")), path


def test_image_runs_unprivileged_and_has_a_health_check() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last = text.rsplit("FROM ", 1)[1]
    assert re.search(r"^USER memolith$", last, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", last, re.MULTILINE)
    extras = re.search(r'"\.\[(.*)\]"', text)
    assert extras is not None
    project = (ROOT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{each} = \[", project, re.MULTILINE) for each in extras[1].split(","))


def test_entry_point_passes_secrets_by_environment_not_arguments(
    tmp_path: Path,
) -> None:
    (tmp_path / "memolith").write_text(
        '#!/bin/sh\necho "$@|$MEMOLITH_KEY|${MEMOLITH_KEY_FILE:-none}"\n'
    )
    (tmp_path / "memolith").chmod(0o755)
    (tmp_path / "key").write_text("of the store\n")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MEMOLITH_KEY_FILE": str(tmp_path / "key")}
    program = str(DEPLOY / "entrypoint.sh")
    ran = subprocess.run(
        [program, "serve", "x y"], env=env, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "serve x y|of the store|none\n"
    env["MEMOLITH_KEY_FILE"] = str(tmp_path / "missing")
    ran = subprocess.run([program, "serve"], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 14
    assert "can't read" in ran.stderr
