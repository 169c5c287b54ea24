"""`RecentIds`: the ids of the records that a list has yielded recently, in bounded memory."""

from collections.abc import Iterable
from typing import Any, Final

__all__ = ["RecentIds"]

_MAX_REMEMBERED: Final = 25_000
"""Maximum number of ids in each of the two generations."""


class RecentIds:
    """Remembers between 20,000 and 50,000 ids.

    There are two generations; the older one is dropped when the younger one is full. An id becomes young again when its
    record is read again. In a list with a fixed order, all yielded records behind a remembered one are remembered too.

    Attributes:
        has_forgotten: whether an id was dropped whose record may still be listed.
    """

    def __init__(self) -> None:
        self.has_forgotten = False
        self._young: set[Any] = set()
        self._old: set[Any] = set()
        self._young_may_be_listed = self._old_may_be_listed = False

    @property
    def reach(self) -> int:
        """How many records further ahead in the list a remembered one certainly is, if none was removed."""
        return _MAX_REMEMBERED // 2

    def among(self, names: Iterable[Any]) -> set[Any]:
        """Return those of the ids that are remembered."""
        wanted = set(names)
        return (wanted & self._young) | (wanted & self._old)

    def remember(self, names: Iterable[Any], *, others_are_gone: bool) -> None:
        """Remember ids; `others_are_gone` says that no other record that was yielded is still listed."""
        if others_are_gone:
            self._young_may_be_listed = self._old_may_be_listed = False
        new = set(names)
        if len(self._young) + len(new) > _MAX_REMEMBERED:
            self.has_forgotten = self.has_forgotten or self._old_may_be_listed
            self._old, self._old_may_be_listed = self._young, self._young_may_be_listed
            self._young = set()
        self._young |= new
        self._young_may_be_listed = True
