"""All clients that are compared, with those of Stripe and OpenAI, whose import takes seconds under a profiler."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, NamedTuple

import openai
import stripe
from clients import CARD, Calls, bare, ours, with_aiohttp, with_httpx
from server import CONTACT, SECONDS


@asynccontextmanager
async def with_stripe(url: str, http_client: Callable[..., Any]) -> AsyncIterator[Calls]:
    """Open a Stripe client; each call returns one of its objects."""
    http = http_client(timeout=SECONDS)
    client = stripe.StripeClient("sk_test", base_addresses={"api": url}, http_client=http)
    card: Any = {"number": CARD["account_number"], "exp_month": 12, "exp_year": 2030}
    owner: Any = {"name": CARD["account_holder_name"]}
    try:
        yield Calls(
            lambda: client.v1.customers.retrieve_async(CONTACT["id"]),
            lambda: client.v1.payment_methods.create_async({"type": "card", "card": card, "billing_details": owner}),
        )
    finally:
        await http.close_async()


@asynccontextmanager
async def with_openai(url: str) -> AsyncIterator[Calls]:
    """Open an OpenAI client; each call returns one of its models."""
    async with openai.AsyncOpenAI(base_url=url, api_key="key", timeout=SECONDS) as client:
        yield Calls(
            lambda: client.models.retrieve(CONTACT["id"]),
            lambda: client.vector_stores.create(name=CARD["account_holder_name"], metadata=CARD),
        )


class Client(NamedTuple):
    """One of the clients.

    Attributes:
        open: opens it.
        is_slow: it costs more than a millisecond, so it is measured in fewer rounds.
    """

    open: Callable[[str], AbstractAsyncContextManager[Calls]]
    is_slow: bool = False


OURS: Final = "gateway_async"
BARE: Final = "bare protocol"
CLIENTS: Final[dict[str, Client]] = {
    OURS: Client(ours),
    BARE: Client(bare),
    "aiohttp": Client(with_aiohttp),
    "stripe on aiohttp": Client(lambda url: with_stripe(url, stripe.AIOHTTPClient)),
    "stripe on httpx": Client(lambda url: with_stripe(url, stripe.HTTPXClient), is_slow=True),
    "httpx": Client(with_httpx, is_slow=True),
    "openai": Client(with_openai, is_slow=True),
}
