"""Which of millions of texts come twice, in twelve bytes for each."""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import attrs

__all__ = ["Duplicates", "Twice"]

_PARTS: Final = 256
_MOST_LINES: Final = 2**32 - 1


@attrs.frozen
class Twice:
    """What came more than once.

    Attributes:
        count: how many times something came that had come before.
        examples: lines of some of them, each with the line of its first.
    """

    count: int
    examples: Sequence[tuple[int, int]] = ()


class Duplicates:
    """Remembers texts as keyed digests of eight bytes: with ten million, the odds of one wrong word are 1 : 300,000.

    Args:
        secret: the digests' key. Of numbers of cards it must be random and stay in memory, and so must this object.
        most_examples: how many are remembered.
    """

    def __init__(self, secret: bytes, *, most_examples: int = 5) -> None:
        self._secret = secret
        self._most_examples = most_examples
        self._digests = [array("Q") for _ in range(_PARTS)]
        self._lines = [array("I") for _ in range(_PARTS)]

    def add(self, text: str, line: int) -> None:
        """One more, and where it stands."""
        digest = blake2b(text.encode(errors="surrogatepass"), key=self._secret, digest_size=8).digest()
        self._digests[digest[0]].append(int.from_bytes(digest))
        self._lines[digest[0]].append(min(line, _MOST_LINES))

    def found(self) -> Twice:
        """What has come more than once."""
        count, examples = 0, []
        for digests, lines in zip(self._digests, self._lines, strict=True):
            first: dict[int, int] = {}
            for digest, line in zip(digests, lines, strict=True):
                if digest in first:
                    count += 1
                    examples.append((line, first[digest]))
                first.setdefault(digest, line)
            examples = sorted(examples)[: self._most_examples]
        return Twice(count, tuple(examples))
