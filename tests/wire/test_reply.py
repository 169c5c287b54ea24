"""Status, headers and bytes → a result or one error from the tree."""

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import AccountNumber, Secret
from gateway_async._wire.call import Call
from gateway_async._wire.convert import structure
from gateway_async._wire.reply import Reply, read_reply
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

CARD = "4111111111111111"
NOW = 1_763_467_200.0  # Tue, 18 Nov 2025 12:00:00 GMT
CALL = Call(method="GET", path="/v2/contacts/c1", read=lambda content: structure(Contact, content))
SECRETIVE: Call[Any] = Call(
    method="POST",
    path="/v2/accountvaults",
    read=lambda content: content,
    secrets=(AccountNumber("072000326"), Secret("999"), Secret(";4012888888881881=30091010000012345678?")),
)


def reply(status: int, body: bytes | str = b"", **headers: str) -> Reply:
    """An answer that came at noon."""
    content = body.encode() if isinstance(body, str) else body
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, content, NOW)


def refusal(status: int, body: bytes | str = b"", call: Call[Any] = CALL, **headers: str) -> StatusError:
    """The error that an answer becomes."""
    with pytest.raises(StatusError) as refused:
        read_reply(call, reply(status, body, **headers))
    return refused.value


# --- status classes


@pytest.mark.parametrize("status", [200, 201, 202, 203, 299])
def test_a_success_is_read(status: int) -> None:
    """Every 2xx with a body is read by the call."""
    assert read_reply(CALL, reply(status, '{"id": "c1"}')) == Contact(id="c1")


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n"])
def test_a_success_without_a_body_is_nothing(body: bytes) -> None:
    """A call that expects no body gets None."""
    seen: list[Any] = []
    call: Call[None] = Call(method="DELETE", path="/v2/contacts/c1", read=seen.append)
    read_reply(call, reply(204, body))
    assert seen == [None]


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
def test_each_status_has_its_error(status: int, kind: type[StatusError]) -> None:
    """Every status class is one class of error; a redirect is no success and is not followed."""
    error = refusal(status)
    assert (type(error), error.status_code, error.call) == (kind, status, "GET /v2/contacts/c1")


@pytest.mark.parametrize("status", [404, 409])
@pytest.mark.parametrize("absent", [None, "not there"])
def test_an_absence_may_be_an_answer(status: int, absent: Any) -> None:
    """Where a call says what absence means, 404 and 409 are that result."""
    call: Call[Any] = Call(method="GET", path="/v2/contacts/c1", read=lambda content: content, absent=absent)
    assert read_reply(call, reply(status, "gone")) == absent


@pytest.mark.parametrize("page", ["<!DOCTYPE html><h1>Not here</h1>", "  <html></html>"])
@pytest.mark.parametrize("absent", [None, "not there"])
def test_a_page_for_people_proves_no_absence(page: str, absent: Any) -> None:
    """A proxy in the gateway's place knows no record."""
    call: Call[Any] = Call(method="GET", path="/v2/contacts/c1", read=lambda content: content, absent=absent)
    with pytest.raises(NotFoundError):
        read_reply(call, reply(404, page))


@pytest.mark.parametrize("status", [400, 401, 403, 410, 422, 500])
def test_nothing_else_is_an_absence(status: int) -> None:
    """A refusal for another reason says nothing about the record."""
    call: Call[Any] = Call(method="GET", path="/v2/contacts/c1", read=lambda content: content, absent=None)
    with pytest.raises(StatusError):
        read_reply(call, reply(status))


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
    ('["Smith"]', "9 bytes that break off or go astray", {}),
    ('"just text"', '"just text"', {}),
    ("null", "null", {}),
    ("", "", {}),
    ("   ", "", {}),
    ("Terminal not found", "Terminal not found", {}),
    ('{"errors": {"tax": ["ba', "23 bytes that break off or go astray", {}),
    ("line\r\n\tbreaks\x00and\x1bcontrol", "line breaks and control", {}),
]


@pytest.mark.parametrize(("body", "message", "fields"), BODIES)
def test_the_forms_of_an_error_body(body: str, message: str, fields: dict[str, tuple[str, ...]]) -> None:
    """Fields, a message, a name, or what text there is; JSON of another form may be personal and is not quoted."""
    error = refusal(422, body)
    assert (error.message, dict(error.fields)) == (message, fields)


PAGE = """<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>p {color: red}</style>
<script>alert("</p>")</script></head><body><h1>502 Bad&nbsp;Gateway</h1><p>nginx</body></html>"""


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", ""])
def test_a_page_of_html_is_read_as_text(content_type: str) -> None:
    """Tags, scripts and styles are left out, whatever the header says."""
    error = refusal(502, PAGE, content_type=content_type)
    assert error.message == "502 Bad Gateway 502 Bad&nbsp;Gateway nginx"


def test_no_cut_goes_through_a_card_number() -> None:
    """What masking makes shorter does not let the first digits of a card number slip into the excerpt."""
    track = ";4012888888881881=30091010000012345678?" + "x" * 200
    call: Call[Any] = Call(method="POST", path="/v2/x", read=lambda content: content, secrets=(Secret(track),))
    for padding in range(90, 130):
        assert "411111" not in refusal(500, f"{track} {track} {'z' * padding} {CARD}", call).message


def test_a_long_body_is_cut() -> None:
    """An error quotes no more than a few lines."""
    error = refusal(500, "word " * 100_000)
    assert (len(error.message), error.message[-1]) == (301, "…")


@given(st.binary(max_size=200), st.sampled_from([301, 400, 404, 422, 500]))
def test_garbage_is_quoted_as_one_line(body: bytes, status: int) -> None:
    """No bytes make an error of another kind, or a message that breaks a log line."""
    assert refusal(status, body).message.isprintable()


def test_a_body_nested_without_end_is_told_by_its_size() -> None:
    """Depth is no way to another error."""
    assert refusal(500, "[" * 100_000).message == "100000 bytes that break off or go astray"


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
def test_an_echoed_card_number_is_masked(body: str) -> None:
    """A gateway that repeats a card number in an error does not get it into ours."""
    error = refusal(422, body)
    shown = f"{error} {error!r} {error.message} {error.fields} {error.args}"
    assert CARD not in shown.replace(" ", "").replace("-", "")


@pytest.mark.parametrize(
    "form", ['{{"message": "{}"}}', '{{"errors": {{"routing": ["{}"]}}}}', "{}", "<html><p>{}</p></html>"]
)
def test_the_calls_own_secrets_are_masked(form: str) -> None:
    """What the request held is masked in the answer, also where its form does not give it away."""
    said = "routing 072000326, cvv 999, track ;4012888888881881=30091010000012345678? refused"
    error = refusal(422, form.format(said), SECRETIVE)
    said = error.message or error.fields["routing"][0]
    assert said == "routing ************0326, cvv ************, track ************ refused"


def test_a_success_that_is_no_json_is_masked_too() -> None:
    """The excerpt of an unreadable answer repeats no secret."""
    with pytest.raises(MalformedReplyError) as failed:
        read_reply(SECRETIVE, reply(200, f"card {CARD}, routing 072000326"))
    assert failed.value.reason == "not JSON: card ************1111, routing ************0326"


# --- successes that cannot be understood


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"id": "c', "not JSON: 9 bytes that break off or go astray"),
        (b"<html><b>OK</b></html>", "not JSON: OK"),
        (b"\xff\xfe\xfa", "not JSON: \ufffd\ufffd\ufffd"),
        (b'{"id": "c1"}{"id": "c1"}', "not JSON: 24 bytes that break off or go astray"),
        (b'{"id": 1e99999999999999999999}', "not JSON: 30 bytes that break off or go astray"),
    ],
)
def test_a_success_that_is_no_json(body: bytes, reason: str) -> None:
    """A 2xx with garbage, a cut body or two answers at once is malformed at its root."""
    with pytest.raises(MalformedReplyError) as failed:
        read_reply(CALL, reply(200, body))
    assert (failed.value.path, failed.value.reason, failed.value.call) == ("$", reason, "GET /v2/contacts/c1")


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        (b"", "$", "not an object"),
        (b"[]", "$", "not an object"),
        (b"{}", "$.id", "missing"),
        (b'{"id": "c1", "city": []}', "$.city", "not a text"),
    ],
)
def test_a_success_that_does_not_fit(body: bytes, path: str, reason: str) -> None:
    """A 2xx of another form says where it does not fit."""
    with pytest.raises(MalformedReplyError) as failed:
        read_reply(CALL, reply(200, body))
    assert (failed.value.path, failed.value.reason) == (path, reason)


def test_a_mismatch_names_its_call() -> None:
    """The answer to another question is raised with the call it came to."""

    def elsewhere(content: Any) -> None:
        raise MismatchedReplyError(["id is 'b', not 'a'"])

    call = Call(method="GET", path="/v2/contacts/a", read=elsewhere)
    with pytest.raises(MismatchedReplyError) as failed:
        read_reply(call, reply(200, "{}"))
    assert (failed.value.call, failed.value.differences) == ("GET /v2/contacts/a", ("id is 'b', not 'a'",))


@given(st.binary(max_size=300), st.integers(200, 599))
def test_every_answer_ends_in_a_result_or_our_error(body: bytes, status: int) -> None:
    """No bytes under any status raise anything but an error of the tree."""
    with contextlib.suppress(GatewayError):
        assert isinstance(read_reply(CALL, reply(status, body)), Contact)


def test_an_answer_does_not_show_its_body() -> None:
    """The bytes of an answer are in no repr."""
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
        *[
            (nonsense, None)
            for nonsense in ("", "soon", "-1", "1e3", "nan", "inf", "9" * 400, "7 s", "٧", "18 Foo 2025")
        ],
        *[
            (absurd, None)
            for absurd in (
                "86401",
                "1000000000",
                "Tue, 18 Nov 2025 11:59:00 GMT",
                "Wed, 19 Nov 2025 12:00:01 GMT",
                "Sun, 18 Nov 2125 12:00:00 GMT",
            )
        ],
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    """Seconds, or a date in any of HTTP's three forms, become seconds from now; all that is absurd is None."""
    assert refusal(429, retry_after=header).retry_after == seconds


def test_a_retry_date_is_measured_by_the_gateways_own_clock() -> None:
    """Where the answer has a `Date`, this machine's clock does not matter; one that is none is passed over."""
    until = "Mon, 01 Jan 2024 00:00:30 GMT"
    assert refusal(429, retry_after=until, date="Mon, 01 Jan 2024 00:00:00 GMT").retry_after == 30.0
    assert refusal(429, retry_after="Tue, 18 Nov 2025 12:00:30 GMT", date="noon").retry_after == 30.0


def test_retry_after_does_not_depend_on_the_machines_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date without a zone is GMT, as HTTP says."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/Detroit")
        time.tzset()
        assert refusal(503, retry_after="Tue Nov 18 12:00:30 2025").retry_after == 30.0
    time.tzset()


def test_without_the_header_there_is_no_pause() -> None:
    """A gateway that names no pause leaves it to the caller."""
    assert refusal(429).retry_after is None
