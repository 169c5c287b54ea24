"""Bad input: an error that names the problem, on both sides; never a traceback, a 500 or a lost record."""

from datetime import date
from decimal import Decimal
from typing import Any

import httpx
import pytest

from gateway_async import (
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    InvalidRequestError,
    NotFoundError,
    StatusError,
    TransactionCreate,
    UserApiKey,
    ValidationError,
)
from gateway_async.errors import AuthenticationError
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

CARD = CardVaultCreate(account_number="4111111111111111", exp_date="1230")
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "float as money": ({"transaction_amount": 12.5}, "transaction_amount"),
    "three decimals": ({"transaction_amount": Decimal("1.005")}, "transaction_amount"),
    "not a number": ({"transaction_amount": "ten"}, "transaction_amount"),
    "NaN": ({"transaction_amount": Decimal("NaN")}, "transaction_amount"),
    "a list as text": ({"description": ["x"]}, "description"),
    "no source": ({"account_vault_id": None}, "account_number"),
    "two sources": ({"ticket": "t"}, "account_vault_id, ticket"),
    "a float in free-form data": ({"custom_data": {"a": [0.1]}}, "custom_data.a[0]"),
}


@pytest.mark.parametrize(("wrong", "field"), WRONG.values(), ids=WRONG)
async def test_wrong_transaction(gateway: AsyncGateway, wrong: dict[str, Any], field: str) -> None:
    """The problem starts with the field's name, and the gateway has no record of it."""
    right: dict[str, Any] = {"action": "sale", "account_vault_id": "v", "transaction_amount": 1, "exp_date": "1230"}
    new = TransactionCreate(**right | wrong)
    with pytest.raises(InvalidRequestError) as caught:
        await gateway.transactions.create(new)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [field]
    assert await gateway.transactions.list().count() == 0


async def test_all_problems(gateway: AsyncGateway) -> None:
    """A person corrects a form once, with all its problems."""
    new = AchVaultCreate(
        account_number="12",
        account_holder_name="",
        account_type="checking",
        is_company="yes",  # type: ignore[arg-type]
        routing="123",
        dl_number="D1",
        billing_zip="1",
    )
    with pytest.raises(InvalidRequestError) as caught:
        await gateway.account_vaults.create(new)
    named = {problem.partition(":")[0] for problem in caught.value.problems}
    assert named == {"account_number", "account_holder_name", "is_company", "routing", "dl_state", "billing_zip"}


@pytest.mark.parametrize("wrong", [None, {"last_name": "Smith"}, "Smith", 7, ContactCreate, CARD])
async def test_wrong_types(gateway: AsyncGateway, wrong: Any) -> None:
    """A dict, a text, the class itself and a card instead of a contact's account number are refused."""
    with pytest.raises(InvalidRequestError, match="request: must be ContactCreate, not"):
        await gateway.contacts.create(wrong)


@pytest.mark.parametrize("wrong", ["", " ", "a b", ".", "..", None, 7, ApiId(""), "\ud800"])
async def test_path_ids(gateway: AsyncGateway, wrong: Any) -> None:
    """An id that cannot stand in a path is refused: an empty one would ask for the list, two dots for the parent."""
    with pytest.raises(InvalidRequestError, match="id: "):
        await gateway.contacts.get(wrong)


@pytest.mark.parametrize("odd", ["a/b", "a?b", "a#b", "a%2Fb", "ü", "a;b", "a&b=c"])
async def test_an_odd_id_is_percent_encoded_and_found_again(gateway: AsyncGateway, odd: str) -> None:
    made = await gateway.contacts.create(ContactCreate(last_name="Odd", contact_api_id=odd))
    assert (await gateway.contacts.get(ApiId(odd))).id == made.id
    with pytest.raises(NotFoundError):
        await gateway.contacts.get(odd)


async def test_wrong_credentials(sandbox: Sandbox) -> None:
    """The error is an authentication error, and it does not show the key."""
    async with sandbox.gateway(credentials=UserApiKey("nobody", "wrong-key")) as gateway:
        with pytest.raises(AuthenticationError) as caught:
            await gateway.contacts.list()
    assert "wrong-key" not in str(caught.value)


async def test_large_text(gateway: AsyncGateway) -> None:
    """A text of 20 megabytes is refused before sending for its length, and is not quoted."""
    huge = ContactCreate(last_name="x" * 20_000_000)
    with pytest.raises(InvalidRequestError, match="last_name: must have 1 to 64 characters, has 20000000"):
        await gateway.contacts.create(huge)


async def test_large_body(sandbox: Sandbox) -> None:
    """The gateway reads no more than it must, and says why."""
    async with sandbox.gateway(check_limits=False) as gateway:
        with pytest.raises(StatusError) as caught:
            await gateway.contacts.create(ContactCreate(last_name="x" * 20_000_000))
    assert caught.value.status_code == 413


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"contact": 7}', 400),
        (b'{"wrong": {}}', 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"contact": {"last_name": ["x"]}}', 422),
        (b'{"contact": {"last_name": "x", "contact_balance": 1e400}}', 422),
        (b'{"contact": {}}', 422),
    ],
)
async def test_garbage(sandbox: Sandbox, content: bytes, status: int) -> None:
    """Garbage is a 4xx that says why, never a 500, whatever the body."""
    headers = {
        "developer-id": sandbox.developer_id,
        "user-id": sandbox.user_id,
        "user-api-key": sandbox.user_api_key,
        "content-type": "application/json",
    }
    async with httpx.AsyncClient(base_url=sandbox.base_url, headers=headers) as client:
        response = await client.post("/v2/contacts", content=content)
    assert response.status_code == status
    assert response.json().get("message") or response.json().get("errors")


async def test_gateway_refusal(sandbox: Sandbox) -> None:
    """With the limits off, the gateway's own validation is what the caller sees."""
    async with sandbox.gateway(check_limits=False) as gateway:
        with pytest.raises(ValidationError) as caught:
            await gateway.account_vaults.create(
                CardVaultCreate(account_number="4111111111111112", exp_date="1330", title="x" * 65)
            )
    assert set(caught.value.fields) == {"account_number", "exp_date", "title"}


async def test_values(gateway: AsyncGateway) -> None:
    """Nothing is lost on the way there and back, a lone quote or an emoji included."""
    new = ContactCreate(last_name='O"Neill \U0001f600 \x7f', date_of_birth=date(1970, 1, 31), email_trx_receipt=False)
    made = await gateway.contacts.create(new)
    assert (made.last_name, made.date_of_birth, made.email_trx_receipt) == (new.last_name, date(1970, 1, 31), False)
