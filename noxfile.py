"""One session for each question. `nox -l` lists them, and `nox` runs those for every day."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import nox
from packaging.requirements import Requirement

PYPROJECT = nox.project.load_toml("pyproject.toml")
PROJECT = PYPROJECT["project"]
IN_PARALLEL = ("-n", "8", "--dist", "loadscope")  # more than cores: tests wait a lot
ALL_TESTS = ("-m", "not slow", *IN_PARALLEL)
CORE = ",".join(f"gateway_async/{name}/*" for name in ("_execution", "_http", "_wire", "models", "resources"))
PYTHONS = nox.project.python_versions(PYPROJECT)

nox.needs_version = ">=2024.10"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "tests"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the test suite on every Python. Arguments go to pytest, in place of those that select all tests."""
    session.install("-e", ".[tests]")
    session.run("pytest", *(session.posargs or ALL_TESTS))


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the test suite with the oldest dependencies that pyproject.toml allows."""
    # Not in create_tmp(), which would also move the temporary files of the tests into the project.
    constraints = Path(session.virtualenv.location, "lowest.txt")
    constraints.write_text("\n".join(_lowest_requirements()), encoding="utf-8")
    session.install("-e", ".[tests]", "-c", str(constraints))
    session.run("pytest", *(session.posargs or ALL_TESTS))


@nox.session(python=PYTHONS[0])
@nox.parametrize("versions", ["lowest", "newest"])
def audit(session: nox.Session, versions: str) -> None:
    """Check the oldest and the newest allowed dependencies for known vulnerabilities."""
    folder = Path(session.create_tmp())
    wanted, resolved = folder / "wanted.txt", folder / f"{versions}.txt"
    lines = PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()
    wanted.write_text("\n".join(line for line in chain(*lines) if _is_foreign(line)), encoding="utf-8")
    session.install("pip-audit", "uv")
    resolution = "lowest-direct" if versions == "lowest" else "highest"
    options = ("--quiet", "--no-annotate", "--resolution", resolution, "--python-version", PYTHONS[0])
    session.run("uv", "pip", "compile", *options, str(wanted), "--output-file", str(resolved))
    # Strict: a package that the advisory service does not know is a failure.
    session.run("pip-audit", "--strict", "--no-deps", "--disable-pip", "--requirement", str(resolved), *session.posargs)


@nox.session(python=PYTHONS[0])
def build(session: nox.Session) -> None:
    """Build the sdist, the wheel and its software bill of materials (CycloneDX)."""
    session.install("cyclonedx-bom>=7", *PYPROJECT["build-system"]["requires"], "uv")
    folder = Path(session.create_tmp())
    environment, described = folder / "environment", folder / "pyproject.toml"
    session.run("uv", "venv", "--quiet", "--clear", "--python", str(session.python), str(environment))
    session.run("uv", "pip", "install", "--quiet", "--python", str(environment), ".[all]")
    version = str(session.run("hatchling", "version", silent=True)).strip()
    text = Path("pyproject.toml").read_text(encoding="utf-8")
    described.write_text(text.replace('dynamic = ["readme", "version"]', f'version = "{version}"'), encoding="utf-8")
    bill = Path("dist", f"gateway_async-{version}.cdx.json")  # hatch_build.py adds it to the wheel
    bill.parent.mkdir(exist_ok=True)
    options = ("--pyproject", str(described), "--mc-type", "library", "--output-reproducible", "--validate")
    session.run("cyclonedx-py", "environment", *options, "--output-file", str(bill), str(environment))
    session.run("uv", "build", "--quiet", "--sdist", "--wheel")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package, the tests, the examples and the extensions of the documentation."""
    session.install("-e", ".[types]")
    session.run("mypy")
    # What Windows lacks is not used, or only after a check. One cache cannot serve two systems.
    session.run("mypy", "gateway_async", "--platform", "win32", "--cache-dir", ".mypy_cache/win32")
    session.run("pyright")
    session.run("pytest", "tests/docs/test_types.py", env={"GATEWAY_TEST_TYPES": "1"})


@nox.session
def lint(session: nox.Session) -> None:
    """Check code style, format, and the English of names and texts."""
    session.install(*PROJECT["optional-dependencies"]["lint"])
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "tests/architecture/prose.py")


@nox.session
def api(session: nox.Session) -> None:
    """List the changes of the public API since a Git revision, `main` by default; the changelog has to name each."""
    session.install("griffe>=2.0")
    session.run("python", "tests/architecture/public_api.py", *(session.posargs or ["main"]))


@nox.session(python=PYTHONS[0])
def coverage(session: nox.Session) -> None:
    """Measure the branches that the core of the tests covers, and compare them with two limits.

    That of pyproject.toml is for the package, with the stores. The other one is for the code that decides about a call.
    """
    session.install("-e", ".[tests]", "coverage>=7.10")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *session.posargs, *IN_PARALLEL)
    session.run("coverage", "combine", "--quiet")
    has_stores = {"GATEWAY_TEST_POSTGRES", "GATEWAY_TEST_REDIS"} <= os.environ.keys()
    session.run("coverage", "report", *(() if has_stores else ("--fail-under=0",)))
    session.run("coverage", "report", f"--include={CORE}", "--format=total", "--fail-under=99.2")
    if not has_stores:
        session.warn("Without PostgreSQL and Redis the limit of the package is not checked.")


@nox.session(python=PYTHONS[0])
def mutation(session: nox.Session) -> None:
    """Change the code in small ways, and see whether a test fails; in `_wire` and `_execution`, or in some modules."""
    session.install("-e", ".[tests]", "mypy>=1.15", "mutmut>=3.8.1")
    session.run("python", "-m", "tests.mutation", *session.posargs)


@nox.session
def sizes(session: nox.Session) -> None:
    """Count lines, files, imports in functions and names with two meanings, and compare them with their limits."""
    session.install("-e", ".[tests]")
    session.run("python", "-m", "tests.architecture.sizes")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site in docs/_build, and check it in a browser."""
    session.install("-e", ".[docs,tests]")
    folder = Path("docs/_build").resolve()
    session.log("1 of 3: write all pages; a warning is a failure")
    # Fresh: after changes of some pages, sphinx-codeautolink loses the links of programs.
    strict = ("--fresh-env", "--fail-on-warning", "--keep-going", "--quiet")
    session.run("sphinx-build", "--builder", "html", *strict, "docs", str(folder))
    env = {"GATEWAY_TEST_SITE": str(folder)}
    session.log("2 of 3: follow every link of the site, and read what its pages load")
    session.run("pytest", "--quiet", "tests/docs/test_site.py", env=env)
    browser = os.environ.get("GATEWAY_TEST_CHROMIUM")
    how = f"with {browser}" if browser else "skipped, as GATEWAY_TEST_CHROMIUM names no browser"
    session.log(f"3 of 3: search and read the site in a browser: {how}")
    session.run("pytest", "--quiet", "tests/browser/test_site.py", env=env)
    session.log(f"Serve it by: python -m http.server --directory {folder.relative_to(Path.cwd())} 8000")
    session.log(f"Open {(folder / 'index.html').as_uri()}")


@nox.session
def simulation(session: nox.Session) -> None:
    """Run the schedules of many seeds in virtual time. Arguments go to the command."""
    session.install("-e", ".[tests]")
    session.run("python", "-m", "tests.simulation", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run all comparisons in benchmarks/, draw them and write their table; or run those named."""
    session.install("-e", ".[benchmarks]")
    session.run("python", "benchmarks/run.py", *session.posargs)
    if not session.posargs:
        session.run("python", "benchmarks/document.py")
        session.run("python", "docs/pictures/draw_benchmarks.py")


@nox.session
def capacity(session: nox.Session) -> None:
    """Measure what one process, one PostgreSQL and one Redis carry, for docs/scaling.md."""
    session.install("-e", ".[tests]")
    session.run("python", "benchmarks/capacity.py", *session.posargs)


@nox.session
def reliability(session: nox.Session) -> None:
    """Run the rows of docs/why/reliability.md and write its tables."""
    session.install("-e", ".[tests]")
    session.run("python", "-m", "tests.reliability", *(session.posargs or ["--write"]))


@nox.session
def screenshots(session: nox.Session) -> None:
    """Take the pictures of the sandbox's pages again."""
    session.install("-e", ".[tests]", "pillow")
    session.run("python", "docs/pictures/take_screenshots.py")


@nox.session
def demo(session: nox.Session) -> None:
    """Run `gateway-async demo`, and draw its picture for the README."""
    session.install(".[cli]")
    session.run("python", "docs/pictures/draw_demo.py")


def _is_foreign(line: str) -> bool:
    """Return whether a requirement is another project."""
    return Requirement(line).name != PROJECT["name"]


def _lowest_requirements() -> Iterator[str]:
    """Yield every requirement of pyproject.toml, pinned to its lower bound."""
    extras = PROJECT["optional-dependencies"].values()
    for line in chain(PROJECT["dependencies"], *extras):
        requirement = Requirement(line)
        yield from (f"{requirement.name}=={bound.version}" for bound in requirement.specifier if bound.operator == ">=")
