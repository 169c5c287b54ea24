"""Bad input that reaches the gateway: an error that names the problem, never a traceback, a 500 or a lost record."""

from datetime import date

import pytest

from gateway_async import ApiId, AsyncGateway, CardVaultCreate, ContactCreate, NotFoundError, ValidationError
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("odd", ["a/b", "a?b", "a#b", "a%2Fb", "ü", "a;b", "a&b=c"])
async def test_an_odd_id_is_percent_encoded_and_found_again(gateway: AsyncGateway, odd: str) -> None:
    made = await gateway.contacts.create(ContactCreate(last_name="Odd", contact_api_id=odd))
    assert (await gateway.contacts.get(ApiId(odd))).id == made.id
    with pytest.raises(NotFoundError):
        await gateway.contacts.get(odd)


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
