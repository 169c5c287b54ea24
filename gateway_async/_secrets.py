"""Secret values (card numbers, bank accounts, keys, tokens), and masking of card numbers in texts.

A secret is masked wherever Python converts it to text (`repr`, `str`, `format`, `%s`, logs, tracebacks). It cannot be
pickled, and only `reveal()` returns its value. `mask_text` masks text from outside, such as a gateway's message that
echoes a card number. `quote_text` does so for text that an error quotes.

An object holds no text itself: the texts of all secrets are in one table of this module. Code that walks objects (error
trackers, `vars`, `__slots__`, `__getstate__`, jsonpickle, `gc.get_referents`) therefore does not find the value. This
does not protect against code that calls `reveal()` or reads the table, nor against a memory dump.
"""

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import accumulate, pairwise
from json import dumps
from types import NoneType
from typing import Any, Final, NoReturn, Self, TypeVar, cast
from urllib.parse import quote

E = TypeVar("E", bound=BaseException)

MASK: Final = "***"
"""The text shown for a confidential value that is not a `Secret`."""

_STARS = "************"
_texts: Final[dict[int, str]] = {}
"""The text of each secret, by the id of its `_Key`."""


class _Key:
    """The key of one text, which is forgotten together with it. It refers to nothing that could be followed."""

    __slots__ = ()

    def __del__(self, forget: Any = _texts.pop) -> None:  # Python may clear this module's names before, at exit
        forget(id(self), None)


class Secret:
    """A text that is never shown: a key, a CVV, track data or a token.

    Two secrets are equal if their values are equal. A secret never equals a plain string. If the value is not text,
    only its type is stored, for error messages.
    """

    __slots__ = ("_key", "kind")

    kind: type
    """The type of the given value: `str`, or another type if the value was invalid."""
    _key: _Key

    def __init__(self, value: "str | Secret") -> None:
        if isinstance(value, Secret):
            self.kind, self._key = value.kind, value._key  # noqa: SLF001  its own class
        else:
            is_text = isinstance(value, str)
            self.kind = str if is_text else type(value)
            self._key = _Key()
            _texts[id(self._key)] = str.__str__(value) if is_text else ""

    @classmethod
    def of(cls, value: str | int | Decimal | date) -> Self:
        """Make a secret of a JSON value; `plain()` returns it again."""
        kind: Any = next(kind for kind in (str, int, Decimal, date) if isinstance(value, kind))
        secret = cls(kind.__str__(value))
        secret.kind = kind
        return secret

    def plain(self) -> str | int | Decimal | date:
        """The value in plain, as `of` got it."""
        text = self.reveal()
        if self.kind is date:
            return date.fromisoformat(text)
        return self.kind(text) if text and self.kind in (int, Decimal) else text

    @property
    def has_value(self) -> bool:
        """Whether the value is stored; of an invalid one only the type is."""
        return self.kind is str or self.reveal() != ""

    def reveal(self) -> str:
        """The plain value as text; empty if the given value was not text."""
        return _texts[id(self._key)]

    def __str__(self) -> str:
        return _STARS

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self.kind is other.kind and hmac.compare_digest(
            repr(self.reveal()).encode(), repr(other.reveal()).encode()
        )

    def __hash__(self) -> int:
        return hash((Secret, self.reveal()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __getstate__(self) -> None:
        """No state, so that serializers do not get the value."""

    def __reduce__(self) -> NoReturn:
        msg = f"a {type(self).__name__} does not pickle: pass what reveal() returns, where that is safe"
        raise TypeError(msg)


def kind_of(value: object) -> type:
    return value.kind if isinstance(value, Secret) else type(value)


class AccountNumber(Secret):
    """A card, bank account or routing number, which shows at most its last four digits."""

    __slots__ = ("shown_digits",)

    shown_digits: str
    """The last four digits; empty if the number is so short that they would show more than half of it."""

    def __init__(self, value: "str | Secret") -> None:
        super().__init__(value)
        text = value if isinstance(value, str) else self.reveal()
        self.shown_digits = text[-4:] if len(text) >= 8 else ""  # noqa: PLR2004  at least half stays hidden

    def __str__(self) -> str:
        return _STARS + self.shown_digits

    @property
    def last_four(self) -> str:
        """The last four digits, as in the gateway's field `last_four`."""
        return self.reveal()[-4:]


_MAX_SHORT_SECRET = 6
_SHORTEST, _LONGEST = 13, 19
"""The minimum and maximum number of digits of a card number."""

# Separators between the digit groups of a number:
# - blanks and signs as `repr`, JSON and URLs escape them (the digits of an escape do not belong to the number),
# - one sign, optionally with blanks around it, or blanks. Zero-width characters may be anywhere.
# A comma with a blank separates list items, not groups.
_ESCAPED = r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%20|%2[bBdD]|%[cC]2%[aA]0|%[eE]2%80%[0-9a-fA-F]{2}"
_NO_WIDTH = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0f\ufeff"
_BLANK = r"[^\S\r\n]"
_SIGN = rf"{_BLANK}?(?:[^\w\s,;]|_){_BLANK}?|{_BLANK}{{1,3}}|[,;]"
_IN_PROSE = rf"(?![^\W_])(?:{_ESCAPED}|[{_NO_WIDTH}]{{0,3}}(?:{_SIGN})?[{_NO_WIDTH}]{{0,3}})"
_ANYWHERE = rf"(?:{_ESCAPED}|[\W_]{{1,8}})"
_SIMPLE = re.compile(rf"{_ESCAPED}|[{_NO_WIDTH}]*(?:{_BLANK}|[-+\u2010-\u2015\u2043\u2212\uff0d])?[{_NO_WIDTH}]*")
"""A blank or a hyphen, as people group a number, or a plus sign, as forms encode a blank."""

_GAP = r"(?:\\[nrt]|[\W_]){0,8}+"
"""A separator between digits of a known number."""

_POSSIBLE = re.compile(rf"[^a-zA-Z]{{{_SHORTEST}}}|\\[xu]|%[2cCeE]")  # a quick test, which most texts fail
_GROUP = re.compile(rf"{_ESCAPED}|(\d+)")
_TRACK_TAIL = re.compile(r"[=^](?:[^^\r\n]{2,26}\^)?\d{7,}")
"""The data after the number on a magnetic stripe: name, expiry, service code and the issuer's digits."""

_FLOAT_AMOUNT = re.compile(r"[0-9]{1,8}\.[0-9]{2}(?:0{5,}|9{5,})[0-9]{1,2}")
"""An amount with the error of a binary float, such as 19.989999999999998. No card number is written like this."""


class _Numbers:
    """Finder of card numbers in texts.

    Args:
        gap: the pattern of what may separate two digits of one number.
        smallest: the minimum number of digits of an inner group, unless all gaps of the number are simple. It excludes
            dates, times and lists of small numbers.
        excluded: the pattern of numbers that are not card numbers, with no other digits beside them.
    """

    def __init__(self, gap: str, smallest: int, excluded: re.Pattern[str] | None = None) -> None:
        self._runs = re.compile(rf"\d++(?:{gap}\d++)*+")
        self._smallest = smallest
        self._excluded = excluded

    def mask(self, text: str) -> str:
        """Mask card numbers, except their last four digits.

        Magnetic stripe data after a number is masked too.
        """
        if not _POSSIBLE.search(text):
            return text
        masked, done = [], 0
        for run in self._runs.finditer(text):
            if self._excluded and self._excluded.fullmatch(run[0]):
                continue
            for start, end, last_four in self._cards(text, run):
                if end <= done:  # it is part of track data that is already masked
                    continue
                tail = _TRACK_TAIL.match(text, end)
                masked += [text[done:start], _STARS, last_four, tail[0][0] + _STARS if tail else ""]
                done = tail.end() if tail else end
        return "".join([*masked, text[done:]]) if done else text

    def _cards(self, text: str, run: re.Match[str]) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and last four digits of each number.

        Overlapping numbers count as one.
        """
        groups = [found.span(1) for found in _GROUP.finditer(text, *run.span()) if found[1]]
        digits = "".join(text[start:end] for start, end in groups)
        if len(digits) < _SHORTEST:
            return
        offsets = [*accumulate((end - start for start, end in groups), initial=0)]
        simple = [bool(_SIMPLE.fullmatch(text, end, start)) for (_, end), (start, _) in pairwise(groups)]
        sums = _luhn_sums(digits)
        found = ((first, self._last_group(offsets, simple, sums, first)) for first in range(len(groups)))
        for first, last in _merge_spans((first, last) for first, last in found if last is not None):
            yield groups[first][0], groups[last][1], digits[: offsets[last + 1]][-4:]

    def _last_group(
        self, offsets: Sequence[int], simple: Sequence[bool], sums: Sequence[Sequence[int]], first: int
    ) -> int | None:
        """Find the last group of the longest number from group `first`.

        Args:
            offsets: the number of digits before each group, and the total.
            simple: whether the gap after each group except the last is simple.
            sums: the result of `_luhn_sums`.
            first: the index of the group.
        """
        found, all_simple, small = None, True, False
        for last in range(first, len(offsets) - 1):
            if last > first:
                all_simple = all_simple and simple[last - 1]
                small = small or (last - 1 > first and offsets[last] - offsets[last - 1] < self._smallest)
            begin, end = offsets[first], offsets[last + 1]
            if end - begin > _LONGEST or (small and not all_simple):
                break
            own = sums[(end - 1) % 2]
            if end - begin >= _SHORTEST and (own[end] - own[begin]) % 10 == 0:
                found = last
        return found


def _merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _luhn_sums(digits: str) -> tuple[Sequence[int], Sequence[int]]:
    """The prefix sums of the Luhn checksum.

    The first sequence is for numbers that end at an even index, the second for an odd one.
    """
    values = [int(digit) for digit in digits]
    doubled = [_DOUBLED[value] for value in values]
    even, odd = [*values], [*doubled]
    even[1::2], odd[1::2] = doubled[1::2], values[1::2]
    return [*accumulate(even, initial=0)], [*accumulate(odd, initial=0)]


_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""Luhn: digit sum of twice the digit."""

_in_prose = _Numbers(_IN_PROSE, smallest=3, excluded=_FLOAT_AMOUNT)
_anywhere = _Numbers(_ANYWHERE, smallest=1)


def mask_text(text: str, secrets: Iterable[Secret] = ()) -> str:
    """Mask everything in a text that could be a card number.

    A card number has 13–19 digits, of any script, that pass the Luhn check. The digits may be in groups, separated by a
    sign, blanks or zero-width characters. Groups of one or two digits count only if a blank, a hyphen or a plus sign
    separates all groups. Dates with times and lists of numbers therefore stay unchanged, as do amounts that a program
    with binary floats writes (19.989999999999998).

    Args:
        text: a text from outside.
        secrets: values to mask as well, wherever the text contains them.
    """
    for secret in sorted(secrets, key=lambda secret: -len(secret.reveal())):  # one may be a part of another
        text = _mask_value(text, secret)
    return text if len(text) < _SHORTEST else _in_prose.mask(text)


def mask_digits(text: str) -> str:
    """Mask what could be a card number, with any separators. Dates and lists may be masked by mistake.

    Use it for texts that may contain a card number and need not stay readable, such as cells of a customer's file.
    """
    return _anywhere.mask(text)


SHORTEST_CARD: Final = _SHORTEST
LONGEST_CARD: Final = 64
"""The maximum length of a card number in characters, with separators."""


_NUMBER_NAME: Final = re.compile(
    r"(?:acc(?:oun)?t|card|(?:^|_)cc)_?(?:number|num|nbr|nr|no)s?$|(?:^|_)[df]?pans?$|(?:^|_)iban$|bank_?account$"
    r"|routing(?:_?transit)?(?:_?(?:number|num|nbr|nr|no))?s?$|(?:^|_)(?:aba|dda)(?:_?(?:number|num|nbr|nr|no))?$"
)
"""Names of card, bank account and routing numbers. Most names match by their end."""
_SECRET_NAME: Final = re.compile(
    r"(?:cvv|cvc|(?:^|_)(?:cvn|csc|cid))[0-9]?(?:_?(?:code|number|value))?$|(?:security|card)_?code$"
    r"|verification_?(?:code|value)$|(?:^|_)pin(?:_?(?:block|code|number))?$|(?:^|_)micr(?:_?(?:data|line))?$"
    r"|(?:^|_)tracks?(?:_?data)?(?:_?[0-9])?(?:_?data)?$|mag(?:netic)?_?stripe(?:_?data)?$|swipe_?data$"
    r"|(?:^|_)e_serial_number$|(?:^|_)(?:cavv|ksn|xid)$|cryptogram$|(?:^|_)image_(?:back|front)$|(?:^|_)signature$"
    r"|(?:^|_)ssn[0-9]?(?:_|$)|social_?security(?:_?(?:number|num|no))?$|(?:^|_)dob(?:_|$)|birth_?(?:date|month|year)$"
    r"|of_?birth$|(?:^|_)dl_?(?:number|num|no)$|licen[sc]e_?(?:number|num|no)$|drivers?_?licen[sc]e$"
    r"|passw(?:or)?ds?$|(?:^|_)(?:pass|pwd)$|pass(?:code|phrase)$|secrets?$|tokens?$|tickets?$"
    r"|(?:^|_)keys?$|(?:access|api|auth|encryption|hash|private|secret|signing)keys?$"
    r"|(?:^|_)(?:bearer|cookies?|credentials?|jwt)$|^(?:proxy_)?authorization$"
)
"""Names of other secrets, and of data that identifies a person."""
_FLAG_NAME: Final = re.compile(r"(?:vt_)?(?:allow|auto_decline|display|has|hide|is|requires?|show)_")
"""The beginning of the names of settings, such as `show_cvv`."""
_OF_CUSTOMER: Final = re.compile(r"(?:.*_)?(?:contact|location|user)s?(?:_create|_update)?")
"""Owners whose `account_number` is the merchant's number for a customer, not a bank's."""
_ID_NAME: Final = re.compile(r"(?:.*[_.])?ids?")

_PATH_SEPARATOR: Final = re.compile(r"[.\[\]]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_IN_WORD: Final = re.compile(r"[\W_]+")

_NO_NUMBERS: Final = frozenset({bool, date, datetime, Decimal, float, NoneType})
_SMALLEST_CARD: Final = 10 ** (_SHORTEST - 1)
_NUMBER_ALONE: Final = re.compile(rf"[\d\W_]{{{_SHORTEST},{LONGEST_CARD}}}")
_NOT_OF_CARD: Final = re.compile(r"\W*(?:[01789]|2[01])")
"""The beginning of a number that no issuer gives, such as a time. Card numbers begin with 22 to 27, or 3 to 6."""


def is_confidential(name: str) -> bool:
    """Whether values of this name are hidden: card and bank data, secrets, and data that identifies a person.

    Case, separators and humps do not matter: `account_number`, `Account-Number`, `accountNumber`. The name may be a
    path, such as `transaction[account_number]`. `contact.account_number` is the merchant's own number for a customer,
    so it is not hidden.
    """
    return _classes[name] is not None


class _Classes(dict[Any, "type[Secret] | None"]):
    """The class of secrets for the values of each name; None if they are not confidential.

    Only identifiers and paths of them are remembered, because any other name may itself be a card number.
    """

    def __missing__(self, name: Any) -> "type[Secret] | None":
        found = _class_for(str(name))
        if all(map(str.isidentifier, str(name).split("."))) and len(self) < _MAX_REMEMBERED_NAMES:
            self[name] = found
        return found


_MAX_REMEMBERED_NAMES: Final = 4096
_classes: Final = _Classes()


def _class_for(path: str) -> "type[Secret] | None":
    owner = ""
    for name in _PATH_SEPARATOR.split(path):
        words = _NOT_IN_WORD.sub("_", _HUMP.sub("_", name).lower()).strip("_")
        is_harmless = _FLAG_NAME.match(words) or (words == "account_number" and _OF_CUSTOMER.fullmatch(owner))
        if not is_harmless and _NUMBER_NAME.search(words):
            return AccountNumber
        if not is_harmless and _SECRET_NAME.search(words):
            return Secret
        owner = words or owner
    return None


def is_card_number(value: object) -> bool:
    """Whether a whole text or number could be a card number."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return _NUMBER_ALONE.fullmatch(text) is not None and not _NOT_OF_CARD.match(text) and mask_text(text) != text


def seal(data: Any, owner: str = "") -> Any:
    """Copy free-form data, with its confidential values as secrets.

    These are the values of confidential names, with all that is inside them, and card numbers under any name but that
    of an id. Flags, None and empty texts stay as they are, and so does anything that is not JSON. `owner` is what the
    data describes, such as `contact`: it may make the names of the data harmless, as for `is_confidential`. A whole
    text instead of data, such as JSON, becomes a secret. So does data that is nested too deeply.
    """
    try:
        match data:
            case Mapping():
                return seal_fields(data, owner)
            case str() | bytes() | bytearray() if data:
                return Secret(cast("str", data))
            case _:
                return _seal(data, "", None)
    except RecursionError:
        return Secret(cast("Any", data))  # its type is reported later


def seal_fields(fields: Mapping[Any, Any], owner: str = "", kind: "type[Secret] | None" = None) -> dict[Any, Any]:
    """Seal a mapping; `kind` is the class for all its values, if they are confidential."""
    sealed: dict[Any, Any] = {}
    is_number = _NUMBER_ALONE.fullmatch
    for name, value in fields.items():  # each record is sealed, so most values take no further call
        found = kind or _classes[f"{owner}.{name}" if owner else name]
        of = type(value)
        if of is dict:
            sealed[name] = seal_fields(value, kind=found)
        elif found is None and (
            of in _NO_NUMBERS
            or (of is str and (len(value) < _SHORTEST or not is_number(value)))
            or (of is int and value < _SMALLEST_CARD)
        ):
            sealed[name] = value
        else:
            sealed[name] = _seal(value, str(name), found)
    return sealed


def seal_field(name: str, value: Any) -> Any:
    """Seal the value of one field, as `seal_fields` does."""
    kind = _classes[name]
    return seal_fields(value, kind=kind) if type(value) is dict else _seal(value, name, kind)


def _seal(value: Any, name: str, kind: "type[Secret] | None") -> Any:  # noqa: PLR0911  one for each kind of value
    """Seal what is under a name; `kind` is the class for all of it, or None if the name is not confidential."""
    match value:
        case None | bool() | "" | datetime():
            return value
        case str() | int() | Decimal() | date():
            is_number = kind is None and _NUMBER_ALONE.fullmatch(str(value)) and is_card_number(value)
            if is_number and not _ID_NAME.fullmatch(name):
                kind = Secret if "=" in str(value) else AccountNumber  # a track ends with digits that stay hidden
            return value if kind is None else kind.of(value)
        case Mapping():
            return seal_fields(value, kind=kind)
        case list():
            return [_seal(each, name, kind) for each in value]
        case tuple() if len(value) == 2 and isinstance(value[0], str):  # noqa: PLR2004  a name with its value
            return value[0], _seal(value[1], value[0], kind or _classes[value[0]])
        case tuple():
            return tuple(_seal(each, name, kind) for each in value)
        case set() | frozenset():
            return type(value)(_seal(each, name, kind) for each in value)
        case float() | bytes() if kind is not None:
            return kind(cast("str", value))  # its type is reported later
        case _:
            return value


def unseal(data: Any) -> Any:
    """Copy sealed data with its secrets in plain, as `seal` got them."""
    return _replace_secrets(data, Secret.plain)


def mask_fields(data: Any) -> Any:
    """Copy free-form data with its confidential values masked. Any other value is returned unchanged."""
    if not isinstance(data, Mapping | list | tuple | set | frozenset):
        return data
    return _replace_secrets(seal(data), lambda _: MASK)


def _replace_secrets(data: Any, replacement: Callable[[Secret], Any]) -> Any:
    match data:
        case Secret():
            return replacement(data)
        case Mapping():
            return {name: _replace_secrets(each, replacement) for name, each in data.items()}
        case list() | tuple() | set() | frozenset():
            return type(data)(_replace_secrets(each, replacement) for each in data)
        case _:
            return data


def secrets_in(data: Any) -> Iterator[Secret]:
    match data:
        case Secret():
            yield data
        case Mapping():
            for each in data.values():
                yield from secrets_in(each)
        case list() | tuple() | set() | frozenset():
            for each in data:
                yield from secrets_in(each)
        case _:
            return


def repr_of(name: str, value: Any) -> str:
    """The repr of a field's value, masked if it is confidential; `name` is as for `is_confidential`."""
    if isinstance(value, Secret):
        return repr(value)
    if is_confidential(name) and not isinstance(value, bool):
        return MASK
    return mask_text(mask_passwords(repr(mask_fields(value))))


_URL_PASSWORD: Final = re.compile(r"(?<=://)([^/?#\s:@]*):([^?#\s]*)(?=@)")
_ADDRESS: Final = re.compile(r"postgres(?:ql)?:|.*://|[a-zA-Z][\w+.-]+:/")


def is_address(location: str) -> bool:
    """Whether a location is an address, not a file; also if one of its slashes, or both, are missing."""
    return _ADDRESS.match(location) is not None


def mask_passwords(text: str) -> str:
    return _URL_PASSWORD.sub(rf"\1:{MASK}", text)


def passwords_in(text: str) -> Iterator[Secret]:
    yield from (Secret(found[2]) for found in _URL_PASSWORD.finditer(text) if found[2])


def quote_text(text: str, secrets: Iterable[Secret] = (), limit: int = 300) -> str:
    """Quote the first `limit` characters of `text`, masked and on one line.

    A longer text ends with "…". A card number that is broken over lines is masked as well.

    Only the beginning of the text is read, so a long text costs no more than a short one. A secret that is cut at the
    end of this beginning cannot be masked, so the characters that may belong to it are dropped.
    """
    secrets = tuple(secrets)
    margin = max((len(secret.reveal()) for secret in secrets), default=0) + LONGEST_CARD
    masked = mask_text(text[: limit + margin], secrets)  # a secret may have line breaks of its own
    words = mask_text(" ".join(masked.splitlines()), secrets)
    if len(text) > limit + margin:
        words = words[:-margin]
    elif len(words) <= limit:
        return words
    return words[:limit] + "…"


def strip_traceback(error: E) -> E:
    """Remove the traceback, the cause and the context from `error`.

    They contain what was sent. Error trackers show `__cause__`, `__context__` and the local variables of every frame,
    even with `from None`. Raise the result outside the `except` block; inside it, Python would set the context again.
    """
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            strip_traceback(each)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _mask_value(text: str, secret: Secret) -> str:
    """Mask a secret in `text`, also as URLs and JSON escape it.

    A short one, such as a CVV, is masked only as a separate word. An account number is found in groups of any size.
    """
    value = secret.reveal()
    if len(value) > _MAX_SHORT_SECRET:
        if isinstance(secret, AccountNumber) and value.isdecimal():
            text = re.sub(_GAP.join(value), lambda _: str(secret), text)
        for form in {value} if value.isalnum() else _written_forms(value):
            text = text.replace(form, str(secret))
        return text
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", str(secret), text) if value else text


def _written_forms(value: str) -> set[str]:
    in_json = (dumps(value, ensure_ascii=only_ascii)[1:-1] for only_ascii in (True, False))
    in_urls = (quote(value, safe, errors="surrogatepass") for safe in ("", "/"))
    return {value, *in_urls, *in_json}


def luhn_valid(digits: str) -> bool:
    """Whether a card number's check digit is correct (ISO/IEC 7812)."""
    return (sum(map(int, digits[::-2])) + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])) % 10 == 0
