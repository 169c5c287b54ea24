"""Add the bill of materials of `nox -s build` to the wheel, in `.dist-info/sboms/` (PEP 770)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BillOfMaterials(BuildHookInterface):
    """Adds the file that is beside the wheel in dist/. A build without that file adds nothing."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  hatchling passes it
        """Add the file to what hatchling copies."""
        name = f"dist/gateway_async-{self.metadata.version}.cdx.json"
        if Path(self.root, name).is_file():
            build_data["sbom_files"].append(name)
