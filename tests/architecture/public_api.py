"""Print what changed in the public API since a Git revision and can break a caller.

It fails if the changelog does not name a change: `nox -s api`.
"""

import re
import sys
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
PACKAGES = ("crash_testing", "hosted_forms", "migration", "observe", "postbacks", "sandbox", "telemetry", "testing")
"""The modules that users import from, beside `gateway_async` itself."""


def breaking_changes(revision: str) -> list[griffe.Breakage]:
    """Return the changes since a revision that can break a caller of what the packages export."""
    old = griffe.load_git("gateway_async", ref=revision, repo=ROOT, resolve_aliases=True)
    new = griffe.load("gateway_async", search_paths=[ROOT], resolve_aliases=True)
    public = {
        path
        for package in (old, *map(old.__getitem__, PACKAGES))
        for name in map(str, package.exports or ())
        for path in (f"{package.path}.{name}", package[name].canonical_path)
    }
    return [change for change in griffe.find_breaking_changes(old, new) if owner(change.obj).path in public]


def owner(changed: griffe.Object | griffe.Alias) -> griffe.Object | griffe.Alias:
    """Return the class, function or value of a module that an object is or belongs to."""
    while changed.parent and not changed.parent.is_module:
        changed = changed.parent
    return changed


def changed_names(change: griffe.Breakage) -> set[str]:
    """Return the names of which the changelog has to name one: those of the object, its class and its parameter."""
    names = {change.obj.name, getattr(change.obj.parent, "name", ""), getattr(change.old_value, "name", "")}
    return names - {"", "__init__", "gateway_async"}


def main() -> None:
    """Compare with the revision that is the only argument."""
    unreleased = CHANGELOG.read_text(encoding="utf-8").split("\n## ")[1]
    known = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", unreleased))))
    omitted = 0
    for change in breaking_changes(sys.argv[1]):
        is_omitted = not changed_names(change) & known
        omitted += is_omitted
        print(f"{'not in the changelog' if is_omitted else 'ok':20}", change.explain(griffe.ExplanationStyle.ONE_LINE))
    if omitted:
        sys.exit(f"{omitted} changes can break a caller, and CHANGELOG.md does not name them")


if __name__ == "__main__":
    main()
