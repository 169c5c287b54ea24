"""Detection of duplicates among millions of texts, in twelve bytes for each."""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import attrs

__all__ = ["Duplicates", "Twice"]

_PARTS: Final = 256
_MOST_LINES: Final = 2**31 - 1


@attrs.frozen
class Twice:
    """The texts that occurred more than once.

    Attributes:
        count: number of repeated occurrences.
        examples: lines of some of them, each with the line of the first occurrence.
    """

    count: int
    examples: Sequence[tuple[int, int]] = ()


class Duplicates:
    """Remembers texts as keyed digests of eight bytes.

    With ten million texts, the probability of one false duplicate is 1 : 300,000.

    Args:
        secret: the key of the digests. For card numbers it must be random. It must stay in memory, and so must this
            object.
        most_examples: maximum number of examples.
    """

    def __init__(self, secret: bytes, *, most_examples: int = 5) -> None:
        self._secret = secret
        self._most_examples = most_examples
        self._digests = [array("Q") for _ in range(_PARTS)]
        self._lines = [array("I") for _ in range(_PARTS)]

    def add(self, text: str, line: int, *, marked: bool = True) -> None:
        """Add a text and its line. `count_marked` ignores texts that are not marked."""
        digest = blake2b(text.encode(errors="surrogatepass"), key=self._secret, digest_size=8).digest()
        self._digests[digest[0]].append(int.from_bytes(digest))
        self._lines[digest[0]].append(min(line, _MOST_LINES) << 1 | marked)

    def found(self) -> Twice:
        """Return the texts that occurred more than once."""
        count, examples = 0, []
        for digests, lines in zip(self._digests, self._lines, strict=True):
            first: dict[int, int] = {}
            for digest, line in zip(digests, lines, strict=True):
                if digest in first:
                    count += 1
                    examples.append((line >> 1, first[digest]))
                first.setdefault(digest, line >> 1)
            examples = sorted(examples)[: self._most_examples]
        return Twice(count, tuple(examples))

    def count_marked(self) -> int:
        """Return how many marked texts repeat an earlier marked text."""
        return sum(
            len(marked) - len(set(marked))
            for digests, lines in zip(self._digests, self._lines, strict=True)
            for marked in [[digest for digest, line in zip(digests, lines, strict=True) if line & 1]]
        )
