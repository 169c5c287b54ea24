"""Note in the reference what version 0.3.0 renamed, from the table of the upgrade page."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from gateway_async.upgrade import CHANGES, NameChange, NameKind

VERSION: Final = "0.3.0"


def change_notes(name: str) -> Iterator[str]:
    """Yield the lines of a note, in reStructuredText, on what changed in an entry; none if nothing did.

    Args:
        name: a class, `Sandbox`; a method, `transactions.increment` or `PostbackReceiver.work`; or a command, `check`.
    """
    changes = [change for change in CHANGES if _entry_of(change) == name]
    sentences = [
        _sentence([*alike])
        for _, alike in groupby(changes, lambda each: (each.kind, each.note))
    ]
    if sentences:
        yield from ("", f".. versionchanged:: {VERSION}", f"   {' '.join(sentences)}")


def _entry_of(change: NameChange) -> str:
    """Return the entry in which a reader looks for a change: that of the new name, or of its owner."""
    if change.kind is NameKind.NAME:
        return change.new
    if change.kind is NameKind.METHOD:
        return f"{change.owner}.{change.new}"
    # A value of a field or a member stands in the entry of its class.
    return (
        change.owner.partition(".")[0]
        if change.owner[0].isupper() and change.kind is NameKind.VALUE
        else change.owner
    )


def _sentence(changes: list[NameChange]) -> str:
    first = changes[0]
    note = f" ({first.note.replace('`', '``')})" if first.note else ""
    if first.kind in (NameKind.NAME, NameKind.METHOD):
        return f"Called ``{first.old}`` before{note}."
    names = ", ".join(_code(change, change.old) for change in changes)
    if first.kind is NameKind.POSITIONAL:
        return f"By keyword only: {names}."
    if not first.new:
        return f"Removed: {names}{note}."
    renamed = "; ".join(
        f"{_code(change, change.old)} is now {_code(change, change.new)}"
        for change in changes
    )
    return f"{renamed}{note}."


def _code(change: NameChange, name: str) -> str:
    return f'``"{name}"``' if change.kind is NameKind.VALUE else f"``{name}``"
