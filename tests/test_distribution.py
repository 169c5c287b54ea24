"""The wheel and the sdist: their content, their metadata, and the README that a package index shows."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import hatchling.build
import pytest

import gateway_async

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gateway_async"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BILL = f"gateway_async-{gateway_async.__version__}.cdx.json"
TOP_LEVEL = {
    *(
        ".ci",
        ".gitignore",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Dockerfile",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "SECURITY.md",
    ),
    *("benchmarks", "docs", "examples", "gateway_async", "hatch_build.py", "noxfile.py", "pyproject.toml", "tests"),
}


def build(folder: Path) -> dict[str, Path]:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel (`.whl`) and the sdist (`.gz`)."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def metadata(built: dict[str, Path]) -> Message:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))


def test_wheel(built: dict[str, Path]) -> None:
    """The wheel has every file of the package, the license and the metadata."""
    with zipfile.ZipFile(built[".whl"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    files = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert names == {name for name in files if "__pycache__" not in name}
    assert "gateway_async/py.typed" in names


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
    with zipfile.ZipFile(dist / hatchling.build.build_wheel(str(dist))) as wheel:
        found = [name for name in wheel.namelist() if "/sboms/" in name]
    assert found == [f"gateway_async-{gateway_async.__version__}.dist-info/sboms/{name}" for name in bills]


def test_sdist(built: dict[str, Path]) -> None:
    """The sdist has the project's files, and nothing that was made beside them."""
    with tarfile.open(built[".gz"]) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    assert {name.partition("/")[0] for name in names} == TOP_LEVEL
    assert [name for name in names if re.search(r"__pycache__|\.(pyc|db|log)$|_build/|results/", name)] == []


def test_a_second_build_is_equal_byte_for_byte(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert {suffix: path.read_bytes() for suffix, path in again.items()} == {
        suffix: path.read_bytes() for suffix, path in built.items()
    }


def test_metadata(metadata: Message) -> None:
    """Version, license, Python versions and addresses are in the metadata."""
    assert metadata["Version"] == gateway_async.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert [line.partition(",")[0] for line in metadata.get_all("Project-URL", [])] == [*PROJECT["urls"]]
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_lower_bounds(metadata: Message) -> None:
    """Each dependency names the lowest version with which the tests pass."""
    requirements = metadata.get_all("Requires-Dist", [])
    assert [line for line in requirements if ">=" not in line] == []


def test_readme(built: dict[str, Path], metadata: Message) -> None:
    """The README is valid for a package index, and has no link that needs the repository."""
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.values())]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603
    text = str(metadata.get_payload())
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []
    assert "](https://gateway-async.example/source/docs/pictures/demo.svg)" in text
