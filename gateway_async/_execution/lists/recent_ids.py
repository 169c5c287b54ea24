"""`RecentIds`: the ids of the records that a list has yielded recently, in bounded memory."""

from collections.abc import Iterable
from typing import Any, Final

_MAX_REMEMBERED: Final = 25_000
"""Number of ids in each of the two generations; twice as many while pages are read again."""


class RecentIds:
    """Remembers between 20,000 and 100,000 ids.

    There are two generations; the older one is dropped when the younger one is full. The ids of a page that is read
    again become young again. So all yielded records that are listed behind a remembered one are remembered too, if the
    list has a fixed order.

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
        """How many records one can go back in the list and certainly reach a remembered one, if none was removed."""
        return _MAX_REMEMBERED // 2

    def among(self, ids: Iterable[Any]) -> set[Any]:
        """Return those of the ids that are remembered."""
        wanted = set(ids)
        return (wanted & self._young) | (wanted & self._old)

    def remember(self, ids: Iterable[Any], *, others_are_gone: bool, may_forget: bool) -> None:
        """Remember the ids of a page.

        Args:
            ids: the ids; None is not one.
            others_are_gone: whether no other record that was yielded is still listed.
            may_forget: whether older ids may be dropped, because no record behind the page was yielded.
        """
        if others_are_gone:
            self._young_may_be_listed = self._old_may_be_listed = False
        new = set(ids) - {None}
        if len(self._young) + len(new) > (_MAX_REMEMBERED if may_forget else 2 * _MAX_REMEMBERED):
            self.has_forgotten = self.has_forgotten or self._old_may_be_listed
            self._old, self._old_may_be_listed = self._young, self._young_may_be_listed
            self._young = set()
        self._young |= new
        self._young_may_be_listed = True
