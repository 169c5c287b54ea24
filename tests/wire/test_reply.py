"""Status, headers and bytes → a result or one error from the tree."""

import codecs
import contextlib
import itertools
import json
import time
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateway_async._wire.reply as reply_module
from gateway_async import _secrets
from gateway_async._secrets import AccountNumber, Secret
from gateway_async._wire.auth import log_in
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus, RepeatEffect
from gateway_async._wire.pagination import decode_page, read_raw_page
from gateway_async._wire.reply import Reply, read_reply
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.response_matching import check_belongs
from gateway_async._wire.rows import structure
from gateway_async.errors import (
    AuthenticationError,
    BadRequestError,
    GatewayError,
    MalformedReplyError,
    MethodNotAllowedError,
    MismatchedReplyError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    RecordDeletedError,
    ServerError,
    StatusError,
    ValidationError,
)
from gateway_async.models.contacts import Contact
from gateway_async.models.quick_invoices import QuickInvoice
from gateway_async.resources.contacts import CONTACT

CARD = "4111111111111111"
NOW = 1_763_467_200.0  # Tue, 18 Nov 2025 12:00:00 GMT
CALL = Call(request=HttpRequest(path="/v2/contacts/c1"), read=lambda content: structure(Contact, content))
LIST: Call[Any] = Call(
    request=HttpRequest(path="/v2/contacts"),
    decode=partial(decode_page, plural="contacts"),
    read=lambda content: read_raw_page(content, "contacts", 1, Contact),
)
SECRETIVE: Call[Any] = Call(
    request=HttpRequest(
        method="POST",
        path="/v2/accountvaults",
        secrets=(AccountNumber("072000326"), Secret("999"), Secret(";4012888888881881=30091010000012345678?")),
    ),
    read=lambda content: content,
)


def reply(status: int, body: bytes | str = b"", **headers: str) -> Reply:
    content = body.encode() if isinstance(body, str) else body
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, content, NOW)


def content_call(**facts: Any) -> Call[Any]:
    """A read whose result is the decoded content."""
    return Call(request=HttpRequest(path="/v2/contacts/c1", **facts), read=lambda content: content)


def content_lookup(absent: Any) -> Lookup[Any]:
    """A lookup whose result is the decoded content, or `absent`."""
    return Lookup(request=HttpRequest(path="/v2/contacts/c1"), read=lambda content: content, not_found_result=absent)


def malformed(body: bytes | str, call: Call[Any] = CALL, **headers: str) -> MalformedReplyError:
    with pytest.raises(MalformedReplyError) as failed:
        read_reply(call, reply(200, body, **headers))
    return failed.value


def refusal(status: int, body: bytes | str = b"", call: Call[Any] = CALL, **headers: str) -> StatusError:
    with pytest.raises(StatusError) as refused:
        read_reply(call, reply(status, body, **headers))
    return refused.value


# --- status classes


@pytest.mark.parametrize("status", [200, 201, 202, 203, 299])
def test_every_success_with_a_body_is_read(status: int) -> None:
    assert read_reply(CALL, reply(status, '{"id": "c1"}')) == Contact(id="c1")


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n"])
def test_a_success_without_a_body_is_none(body: bytes) -> None:
    seen: list[Any] = []
    call: Call[None] = Call(request=HttpRequest(method="DELETE", path="/v2/contacts/c1"), read=seen.append)
    read_reply(call, reply(204, body))
    assert seen == [None]


@pytest.mark.parametrize("depth", [900, 2_000, 100_000])
def test_deep_nesting(depth: int) -> None:
    """JSON that is nested too deeply is a malformed reply, and its error does not hold the text."""
    number = "4111111111111111"
    body = json.dumps({"contact": {"id": "c1", "tree": number}}).replace(
        f'"{number}"', "[" * depth + f'"{number}"' + "]" * depth
    )
    failures: list[MalformedReplyError] = []
    try:
        read_reply(CONTACT.get("c1", RequestDefaults(None, check_limits=True, new_id=str)), reply(200, body))
    except MalformedReplyError as error:
        failures.append(error)
    assert failures or depth == 900  # Python 3.14 reads these
    assert [error for error in failures if error.__context__ or number in str(error)] == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (300, StatusError),
        (302, StatusError),
        (304, StatusError),
        (400, BadRequestError),
        (401, AuthenticationError),
        (402, StatusError),
        (403, PermissionDeniedError),
        (404, NotFoundError),
        (405, MethodNotAllowedError),
        (408, StatusError),
        (409, RecordDeletedError),
        (410, RecordDeletedError),
        (418, StatusError),
        (422, ValidationError),
        (429, RateLimitError),
        (500, ServerError),
        (502, ServerError),
        (503, ServerError),
        (504, ServerError),
        (599, ServerError),
    ],
)
def test_statuses(status: int, kind: type[StatusError]) -> None:
    """Raise the error class of each status; follow no redirect."""
    error = refusal(status)
    assert (type(error), error.status_code, error.call) == (kind, status, "GET /v2/contacts/c1")


@pytest.mark.parametrize("status", [404, 409, 410])
@pytest.mark.parametrize("absent", [LookupResult(status) for status in (LookupStatus.NO_RECORD, LookupStatus.GONE)])
def test_absence(status: int, absent: Any) -> None:
    """Where a call says what absence means, the gateway's own 404, 409 and 410 are that result."""
    for body in (
        {"name": "Gone", "message": "gone", "code": 0, "status": status},
        {"name": "Gone", "code": str(status)},
        {"errors": {"id": ["gone"]}},
    ):
        assert read_reply(content_lookup(absent), reply(status, json.dumps(body))) == absent


@pytest.mark.parametrize("absent", [LookupResult(status) for status in (LookupStatus.NO_RECORD, LookupStatus.GONE)])
@pytest.mark.parametrize(
    ("statuses", "bodies"),
    [
        (
            [404, 409, 410],
            [
                "",
                "gone",
                "[]",
                '{"message": "no Route matched"}',
                '{"status": 500}',
                '{"errors": {}}',
                '{"errors": ["no"]}',
                '{"status": 404}',
                '{"code": 409}',
                '{"name": "Gone", "code": 0, "status": 500}',
            ],
        ),
        ([404], ["<!DOCTYPE html><h1>Not here</h1>", "  <html></html>"]),
        ([400, 401, 403, 422, 500], [""]),
    ],
    ids=["not the gateway's words", "a page", "another refusal"],
)
def test_no_absence(statuses: list[int], bodies: list[str], absent: Any) -> None:
    """Other words, a proxy's page and another refusal do not say that a record does not exist."""
    for status, body in itertools.product(statuses, bodies):
        assert type(refusal(status, body, content_lookup(absent))) is type(refusal(status))


# --- error bodies

BODIES: list[tuple[str, str, dict[str, tuple[str, ...]]]] = [
    ('{"errors": {"tax": ["bad", "worse"], "tip": ["no"]}}', "", {"tax": ("bad", "worse"), "tip": ("no",)}),
    ('{"errors": {"tax": "bad"}}', "", {"tax": ("bad",)}),
    ('{"errors": {"tax": {"0": ["bad"], "1": "worse"}}}', "", {"tax": ("bad", "worse")}),
    ('{"errors": {"tax": [5, null, true]}}', "", {"tax": ("5", "True")}),
    ('{"errors": {"tax": null}}', "", {"tax": ()}),
    ('{"errors": ["bad", "worse"]}', "", {"": ("bad", "worse")}),
    ('{"errors": "bad"}', "", {"": ("bad",)}),
    ('{"message": "invalid user"}', "invalid user", {}),
    ('{"name": "Forbidden", "message": "No privilege", "code": 0, "status": 403}', "No privilege", {}),
    ('{"name": "Forbidden", "code": 0, "status": 403}', "Forbidden", {}),
    ('{"message": "Invalid", "errors": {"tax": ["bad"]}}', "Invalid", {"tax": ("bad",)}),
    ('{"message": 5}', "5", {}),
    ('{"message": "", "errors": {}}', "", {}),
    ('{"message": null}', "", {}),
    ('{"last_name": "Smith"}', "", {}),
    ("{}", "", {}),
    ('["Smith"]', "9 bytes of incomplete or invalid JSON", {}),
    ('"just text"', '"just text"', {}),
    ("null", "null", {}),
    ("", "", {}),
    ("   ", "", {}),
    ("Terminal not found", "Terminal not found", {}),
    ('{"errors": {"tax": ["ba', "23 bytes of incomplete or invalid JSON", {}),
    ("line\r\n\tbreaks\x00and\x1bcontrol", "line breaks and control", {}),
]


@pytest.mark.parametrize(("body", "message", "fields"), BODIES)
def test_error_bodies(body: str, message: str, fields: dict[str, tuple[str, ...]]) -> None:
    """Fields, a message, a name, or what text there is; JSON of another form may be personal and is not quoted."""
    error = refusal(422, body)
    assert (error.message, dict(error.fields)) == (message, fields)


PAGE = """<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>p {color: red}</style>
<script>alert("</p>")</script></head><body><h1>502 Bad&nbsp;Gateway</h1><p>nginx</body></html>"""


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", ""])
def test_html(content_type: str) -> None:
    """Tags, scripts and styles are left out, whatever the header says and whatever spaces are before the page."""
    error = refusal(502, f"\n {PAGE}", content_type=content_type)
    assert error.message == "502 Bad Gateway 502 Bad&nbsp;Gateway nginx"


def test_cut_numbers() -> None:
    """Quote no digits of a cut card number after masking has shortened the text."""
    track = ";4012888888881881=30091010000012345678?" + "x" * 200
    call = content_call(secrets=(Secret(track),))
    for padding in range(90, 130):
        assert "411111" not in refusal(500, f"{track} {track} {'z' * padding} {CARD}", call).message


def test_a_long_body_is_cut_in_errors() -> None:
    error = refusal(500, "word " * 100_000)
    assert (len(error.message), error.message[-1]) == (301, "…")


@given(st.binary(max_size=200), st.sampled_from([301, 400, 404, 422, 500]))
def test_garbage(body: bytes, status: int) -> None:
    """No bytes make an error of another kind, or a message that breaks a log line."""
    assert refusal(status, body).message.isprintable()


def test_a_body_nested_without_end_is_told_by_its_size() -> None:
    assert refusal(500, "[" * 100_000).message == "100000 bytes of incomplete or invalid JSON"


# --- what an error must not repeat


@pytest.mark.parametrize(
    "body",
    [
        f'{{"message": "card {CARD} is not valid"}}',
        f'{{"errors": {{"account_number": ["card {CARD} is not valid"]}}}}',
        f'{{"errors": {{"{CARD}": ["not valid"]}}}}',
        f'{{"errors": ["4111 1111 1111 1111 is not valid"]}}',  # noqa: F541  one of a column
        f'{{"message": {CARD}}}',
        f'{{"request": {{"account_number": "{CARD}"}}}}',
        f"<html><p>card {CARD}</p></html>",
        f"card 4111-1111-1111-1111, or {CARD}",
        f"{'x' * 290} {CARD}",
        "41111111&#8203;11111111 4111\t1111\n1111 1111",
    ],
)
def test_echoed_card(body: str) -> None:
    """A gateway that repeats a card number in an error does not get it into ours."""
    error = refusal(422, body)
    shown = f"{error} {error!r} {error.message} {error.fields} {error.args}"
    assert CARD not in shown.replace(" ", "").replace("-", "")


@pytest.mark.parametrize(
    "form", ['{{"message": "{}"}}', '{{"errors": {{"routing": ["{}"]}}}}', "{}", "<html><p>{}</p></html>"]
)
def test_the_calls_own_secrets_are_masked_in_any_form(form: str) -> None:
    said = "routing 072000326, cvv 999, track ;4012888888881881=30091010000012345678? refused"
    error = refusal(422, form.format(said), SECRETIVE)
    said = error.message or error.fields["routing"][0]
    assert said == "routing ************0326, cvv ************, track ************ refused"


ODD_TEXTS = {
    "UTF-8": (b"K\xc3\xb6ln", "", "Köln"),
    "another charset": (b"K\xf6ln", "application/json; charset=ISO-8859-1", "Köln"),
    "the wrong charset": (b"K\xc3\xb6ln", "application/json; charset=ISO-8859-1", "Köln"),
    "another charset of Windows": (b"\x80", 'text/json;charset="Windows-1252"', "€"),
    "a charset that is not named": (b"K\xf6ln", "application/json", "K\ufffdln"),
    "an unknown charset": (b"K\xf6ln", "application/json; charset=x-user", "K\ufffdln"),
    "the first half of an emoji": (b"Ulm \\ud83d", "", "Ulm \ufffd"),
    "the first half before a whole one": (b"\\ud83d\\uD83D\\uDE00", "", "\ufffd😀"),
    "the second half of an emoji": (b"\\uDE00 Ulm", "", "\ufffd Ulm"),
    "halves in the wrong order": (b"\\ude00\\ud83d", "", "\ufffd\ufffd"),
    "letters after a backslash": (b"\\\\ud83d \\ud83d", "", "\\ud83d \ufffd"),
    "half an emoji as bytes": (b"\xed\xa0\xbd", "", "\ufffd" * 3),
    "all of it": (b"\xff\\ud83d\\t\xf6", "", "\ufffd\ufffd\t\ufffd"),
}


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8, codecs.BOM_UTF8 + b" \n"])
@pytest.mark.parametrize(("text", "content_type", "city"), ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_bytes(text: bytes, content_type: str, city: str, mark: bytes) -> None:
    """Bytes that cannot be read are replaced, in a record, a list, a refusal and a raw response."""
    headers: dict[str, Any] = {"content_type": content_type}
    record = b'{"id": "c1", "city": "%b"}' % text
    assert read_reply(CALL, reply(200, mark + record, **headers)) == Contact(id="c1", city=city)
    assert reply(200, mark + record, **headers).json()["city"] == city
    raw = read_reply(LIST, reply(200, b'%b{"contacts": [{"id": "c0"}, %b]}' % (mark, record), **headers))
    assert [each.city for each in itertools.chain(*raw.slices())] == [None, city]
    said = refusal(422, b'%b{"errors": {"city": ["%b"]}}' % (mark, text), **headers)
    assert said.fields == {"city": (city,)}


def test_cut_character() -> None:
    """The replacement character does not complete it."""
    assert "incomplete" in malformed('{"id": "c1", "city": "Kö'.encode()[:-1]).reason
    assert "incomplete" in malformed(b'{"id": "c1", "city": "\\ud8').reason
    assert "incomplete" in malformed(codecs.BOM_UTF8 + b'{"id": "c1", "city": "').reason


def test_empty_body() -> None:
    """Some servers write it before nothing."""
    assert read_reply(content_call(), reply(200, codecs.BOM_UTF8)) is None
    assert reply(200, codecs.BOM_UTF8).json() is None


@given(st.text(st.characters(exclude_categories=[])), st.sampled_from(["surrogatepass", "replace"]))
def test_text_encodings(text: str, errors: str) -> None:
    """Escaped or as bytes, with halves of emojis anywhere."""
    shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert reply(200, json.dumps({"a": text})).json() == {"a": shown}
    body = json.dumps({"a": text}, ensure_ascii=False).encode(errors=errors)
    assert len(reply(200, body).json()["a"]) >= len(shown)


def test_undescribed_success() -> None:
    """An unreadable success is told by its type and length: it may be a record or a token, and is not quoted."""
    error = malformed(f"card {CARD}, Jane Doe", SECRETIVE, content_type="text/plain; charset=utf-8")
    assert error.reason == "not JSON: 31 bytes of text/plain"


TOKEN = "token-5b1e77a0"
RECORD = f'{{"token": {{"token": "{TOKEN}"}}, "name": "Jane Doe", "last_four": "1111", "zip": "49525"}}'
FORMS: list[bytes] = [
    codecs.BOM_UTF8 + RECORD.encode() + b"}",
    RECORD.encode("utf-16"),
    f"/* {RECORD} */".encode(),
    f"<html><script>x</script><p>{RECORD}</p></html>".encode(),
]
LOGIN_FORMS: list[bytes] = [
    *FORMS,
    f"token={TOKEN}&name=Jane+Doe&last_four=1111&zip=49525".encode(),
    f"{TOKEN} Jane Doe 1111 49525".encode(),
    f"<html><p>{TOKEN} Jane Doe 1111 49525</p></html>".encode(),
]


def repeated(error: GatewayError) -> set[str]:
    """Return the values of the record that an error repeats."""
    shown = f"{error} {error!r} {vars(error)} {error.args}"
    return {value for value in (TOKEN, "Jane", "Doe", "1111", "49525") if value in shown}


@pytest.mark.parametrize("status", [200, 201, 400, 401, 422, 500])
@pytest.mark.parametrize(
    ("call", "bodies"),
    [
        (CALL, FORMS),
        (log_in("user", "password", "domain"), LOGIN_FORMS),
        (attrs.evolve(CALL, repeat_effect=RepeatEffect.NAMED), LOGIN_FORMS),
    ],
    ids=["a read", "a login", "a write"],
)
def test_wrapped_record(call: Call[Any], bodies: list[bytes], status: int) -> None:
    """A byte order mark, another encoding or text around it brings neither a record nor a token into an error."""
    for body in bodies:
        with pytest.raises(GatewayError) as failed:
            read_reply(call, reply(status, body))
        assert repeated(failed.value) == set()


def test_secret_differences() -> None:
    """Mask the call's secrets and the credentials in a mismatch."""

    def read(content: Any) -> Any:
        check_belongs({"location_id": "loc"}, content)

    call: Call[Any] = Call(
        request=HttpRequest(method="POST", path="/v2/x", secrets=(Secret("ticket-5e1d"),)), read=read
    )
    said = Reply(200, {}, b'{"location_id": "ticket-5e1d key-82c1x"}', NOW, (Secret("key-82c1x"),))
    with pytest.raises(MismatchedReplyError) as failed:
        read_reply(call, said)
    assert failed.value.differences == ("location_id is '************ ************', not 'loc'",)


def test_secret_paths() -> None:
    """Where an unreadable value is keyed by a secret, the path to it is masked."""
    call = attrs.evolve(
        content_call(secrets=(Secret("ticket-5e1d"),)), read=lambda content: structure(QuickInvoice, content)
    )
    assert "ticket" not in str(malformed('{"id": "1", "item_list": {"ticket-5e1d": "x"}}', call))


# --- how much an error quotes


def given_to_mask(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that are masked from now on."""
    lengths: list[int] = []
    mask = _secrets.mask_text

    def count(text: str, secrets: Any = ()) -> str:
        lengths.append(len(text))
        return mask(text, secrets)

    monkeypatch.setattr(_secrets, "mask_text", count)
    return lengths


@pytest.mark.parametrize("size", [200, 20_000, 200_000])
@pytest.mark.parametrize("line", ["4111 1111 ", "<", "x"])
def test_error_size(size: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty fields of any length: all their names, and no more of their lines than one error has room for."""
    lengths = given_to_mask(monkeypatch)
    said = (line * size)[:size]
    content = {"message": said, "errors": {f"field_{number}": [said] for number in range(40)}}
    error = refusal(422, json.dumps(content))
    assert len(error.fields) == 40
    assert sum(map(len, (error.message, *error.fields, *itertools.chain(*error.fields.values())))) <= 4096 + 41
    assert len(str(error)) < 5000
    assert sum(lengths) < 4096 + 81 * 64


@pytest.mark.parametrize("count", [5_000, 50_000])
@pytest.mark.parametrize("line", ["", "no"])
def test_endless_names(count: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of endless names and lines an error has the first ones, and says that there are more."""
    lengths = given_to_mask(monkeypatch)
    fields = refusal(422, json.dumps({"errors": {f"field_{number}": [line] for number in range(count)}})).fields
    lines = refusal(422, json.dumps({"errors": {"tax": [line] * count}})).fields["tax"]
    assert ([*fields][-1], lines[-1], len(fields) < 500, len(lines) < 2500) == ("…", "…", True, True)
    assert sum(lengths) < 2 * 4096
    assert len(lengths) < 5000


@pytest.mark.parametrize("part", ["<", "<script", "<script>", "</script ", "<style><script>"])
def test_large_page(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 0.8 MB costs as much as one of 20 kB, whatever it repeats."""
    looked_at: list[int] = []
    page_text = reply_module._page_text

    def note_length(page: str) -> str:
        looked_at.append(len(page))
        return page_text(page)

    monkeypatch.setattr(reply_module, "_page_text", note_length)
    refusal(502, (part * 800_000)[:800_000], content_type="text/html")
    assert looked_at == [20_000]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a</p><script>b</script>c", "a c"),
        ("<script>a</style>b", "b"),
        ("<SCRIPT src=x>a</SCRIPT\n>b<script>c", "b"),
        ("<style>a</style><style>b</style>c<", "c<"),
        ("a <<b> c", "a < c"),
    ],
)
def test_page_text(page: str, text: str) -> None:
    """Tags, scripts and styles are left out, and what is never closed is left out to its end."""
    assert refusal(502, page, content_type="text/html").message == text


# --- successes that cannot be understood


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        (b'{"id": "c', "$", "not JSON: 9 bytes of incomplete or invalid JSON"),
        (b' {"id": "c', "$", "not JSON: 10 bytes of incomplete or invalid JSON"),
        (b"<html><b>OK</b></html>", "$", "not JSON: 22 bytes of HTML"),
        (b"\xff\xfe\xfa", "$", "not JSON: 3 bytes"),
        (b'\xef\xbb\xbf{"id": "c1"}}', "$", "not JSON: 16 bytes of incomplete or invalid JSON"),
        (b'{"id": "c1"}{"id": "c1"}', "$", "not JSON: 24 bytes of incomplete or invalid JSON"),
        (b'{"id": 1e99999999999999999999}', "$", "not JSON: 30 bytes of incomplete or invalid JSON"),
        (b"", "$", "not an object"),
        (b"[]", "$", "not an object"),
        (b"{}", "$.id", "missing"),
        (b'{"id": "c1", "city": []}', "$.city", "not a text"),
    ],
)
def test_unreadable_successes(body: bytes, path: str, reason: str) -> None:
    """A 2xx with garbage, a cut body, two responses at once or another form says where it does not fit."""
    error = malformed(body)
    assert (error.path, error.reason, error.call) == (path, reason, "GET /v2/contacts/c1")


def test_a_mismatch_names_its_call() -> None:
    def elsewhere(content: Any) -> None:
        raise MismatchedReplyError(["id is 'b', not 'a'"])

    call = Call(request=HttpRequest(path="/v2/contacts/a"), read=elsewhere)
    with pytest.raises(MismatchedReplyError) as failed:
        read_reply(call, reply(200, "{}"))
    assert (failed.value.call, failed.value.differences) == ("GET /v2/contacts/a", ("id is 'b', not 'a'",))


@given(st.binary(max_size=300), st.integers(200, 599))
def test_any_bytes(body: bytes, status: int) -> None:
    """No bytes under any status raise anything but an error of the tree."""
    with contextlib.suppress(GatewayError):
        assert isinstance(read_reply(CALL, reply(status, body)), Contact)


def test_a_response_does_not_show_its_body() -> None:
    assert "secret" not in repr(reply(200, "secret"))


# --- Retry-After


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("86400", 86400.0),
        ("Tue, 18 Nov 2025 12:00:30 GMT", 30.0),
        ("Tue, 18 Nov 2025 13:00:30 +0100", 30.0),
        ("Tuesday, 18-Nov-25 12:00:30 GMT", 30.0),
        ("Tue Nov 18 12:00:30 2025", 30.0),
        ("Wed, 19 Nov 2025 12:00:00 GMT", 86400.0),
        *((text, None) for text in ("", "soon", "-1", "1e3", "nan", "inf", "9" * 400, "7 s", "٧", "18 Foo 2025")),
        *((text, None) for text in ("86401", "1000000000", "Tue, 18 Nov 2025 11:59:00 GMT")),
        *((text, None) for text in ("Wed, 19 Nov 2025 12:00:01 GMT", "Sun, 18 Nov 2125 12:00:00 GMT")),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    """Seconds, or a date in any of HTTP's three forms, become seconds from now; all that is absurd is None."""
    assert refusal(429, retry_after=header).retry_after == seconds
    assert refusal(429).retry_after is None


def test_retry_date() -> None:
    """Compare a retry date with the response's `Date`; ignore an invalid one."""
    until = "Mon, 01 Jan 2024 00:00:30 GMT"
    assert refusal(429, retry_after=until, date="Mon, 01 Jan 2024 00:00:00 GMT").retry_after == 30.0
    assert refusal(429, retry_after="Tue, 18 Nov 2025 12:00:30 GMT", date="noon").retry_after == 30.0


def test_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date without a zone is GMT, as HTTP says."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/Detroit")
        time.tzset()
        assert refusal(503, retry_after="Tue Nov 18 12:00:30 2025").retry_after == 30.0
    time.tzset()
