"""Build hook that converts the model and adds it to the wheel."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "memolith_minilm"


class ModelBuildHook(BuildHookInterface[Any]):
    """Adds `model/` to the wheel, converted from the published weights."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Convert the model in a temporary folder, and add its files to the build."""
        sys.path.insert(0, self.root)
        from conversion import ConversionFailed, convert

        self._folder = tempfile.TemporaryDirectory(prefix="memolith-minilm-")
        folder = Path(self._folder.name)
        try:
            convert(folder)
        except ConversionFailed as failure:
            self.app.abort(f"memolith-minilm was not built: {failure}")
        included = {str(path): f"{_PACKAGE}/model/{path.name}" for path in folder.iterdir()}
        build_data["force_include"].update(included)
        if version == "editable":
            build_data["force_include_editable"] = included | self._sources()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary folder."""
        del version, build_data, artifact_path
        self._folder.cleanup()

    def _sources(self) -> dict[str, str]:
        """Return the package's source files, which an editable install copies beside the model.

        The model is not in the source tree, so a link to the tree would not include it.
        """
        sources = Path(self.root, "src", _PACKAGE).glob("*.*")
        return {str(path): f"{_PACKAGE}/{path.name}" for path in sources}
