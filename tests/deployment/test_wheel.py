"""The wheel, built by hatchling from a few of its files."""

import shutil
from pathlib import Path
from zipfile import ZipFile

import hatchling.build
import pytest

from gateway_async._execution.http_client import __version__
from tests.docs.documents import ROOT

BILL = f"gateway_async-{__version__}.cdx.json"


@pytest.mark.parametrize("bills", [[], [BILL]], ids=["from source", "nox -s build"])
def test_bill_of_materials(bills: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CycloneDX file in dist/ is in `.dist-info/sboms/` of the wheel; a build without it works too."""
    version_file = "gateway_async/_execution/http_client.py"
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", version_file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    dist = tmp_path / "dist"
    dist.mkdir()
    for name in bills:
        (dist / name).write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with ZipFile(dist / hatchling.build.build_wheel(str(dist))) as wheel:
        found = [name for name in wheel.namelist() if "/sboms/" in name]
    assert found == [f"gateway_async-{__version__}.dist-info/sboms/{name}" for name in bills]
