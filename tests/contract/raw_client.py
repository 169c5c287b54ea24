"""A client for one location of a sandbox: raw JSON over HTTP, and records that other requests need."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx

from gateway_async.sandbox import Sandbox, SandboxInfo
from tests.support import plain_http

RECEIVER = "https://127.0.0.1/receiver"
VISA = "4111111111111111"
BANK_ACCOUNT = {
    "account_number": "100020003000",
    "account_type": "checking",
    "routing": "072000326",
    "account_holder_name": "John Smith",
}
_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _client(info: SandboxInfo, headers: Mapping[str, str] = MappingProxyType({})) -> httpx.Client:
    return plain_http.open_client(base_url=info.base_url, headers=dict(headers))


class RawClient:
    """A client with the credentials of one location of a sandbox.

    Attributes:
        http: a client with the user's key; `anonymous` is one without.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.info: SandboxInfo = sandbox.info
        self._sandbox = sandbox
        self._given: Counter[int] = Counter()
        self.http = self.another_client()
        self.anonymous = _client(self.info)

    def close(self) -> None:
        self.http.close()
        self.anonymous.close()

    def reset(self) -> None:
        """Delete all records, and the record of used integrator ids."""
        self._sandbox.reset()
        self._given.clear()

    def another_client(self) -> httpx.Client:
        names = ("developer_id", "user_id", "user_api_key")
        return _client(self.info, {name.replace("_", "-"): getattr(self.info, name) for name in names})

    def post(self, path: str, wrapper: str, record: Any) -> httpx.Response:
        return self.http.post(path, json={wrapper: record} if wrapper else record)

    def put(self, path: str, wrapper: str, record: Any) -> httpx.Response:
        return self.http.put(path, json={wrapper: record})

    def made(self, path: str, wrapper: str, **fields: Any) -> dict[str, Any]:
        """POST a record that must be accepted, and return it."""
        response = self.post(path, wrapper, {"location_id": self.info.location_id} | fields)
        assert response.is_success, response.text
        record: dict[str, Any] = response.json()[wrapper]
        return record

    def own_id(self, length: int) -> str:
        number, digits = self._given[length], ""
        self._given[length] += 1
        while len(digits) < length and (number or not digits):
            number, digit = divmod(number, len(_CHARACTERS))
            digits = _CHARACTERS[digit] + digits
        return digits.rjust(length, "-")

    def ticket(self) -> str:
        """A ticket, which can replace a card once."""
        return self._sandbox.ticket()

    def sale(self, **fields: Any) -> dict[str, Any]:
        """An approved sale."""
        sale = {"action": "sale", "transaction_amount": "12.50", "account_number": VISA, "exp_date": "1230"}
        return self.made("/v2/transactions", "transaction", **sale | fields)

    def vault(self, **fields: Any) -> dict[str, Any]:
        card = {"payment_method": "cc", "account_number": VISA, "exp_date": "1230"}
        kept = {name: value for name, value in (card | fields).items() if value is not ...}
        return self.made("/v2/accountvaults", "accountvault", **kept)

    def invoice(self, **fields: Any) -> dict[str, Any]:
        """An open invoice over 12.50."""
        due = {"title": "Tea", "due_date": "2030-01-31", "item_list": {"Tea": 12.5}}
        return self.made("/v2/quickinvoices", "quickinvoice", **due | fields)

    def location_api_id(self) -> str:
        contact = self.http.get(f"/v2/contacts/{self.info.contact_id}?expand=location").json()["contact"]
        return str(contact["location"]["location_api_id"])

    def contact(self, **fields: Any) -> dict[str, Any]:
        return self.made("/v2/contacts", "contact", last_name="Smith", **fields)


class FakeClient:
    """A raw client without a sandbox, with invented ids."""

    class info:  # noqa: N801  an attribute of a raw client
        """Invented ids and credentials."""

        location_id = contact_id = terminal_id = "a" * 24
        cc_product_transaction_id = ach_product_transaction_id = "b" * 24
        username, password, domain = "user", "password", "domain"

    def own_id(self, length: int) -> str:
        return "x" * length

    def ticket(self) -> str:
        return "t" * 24

    def sale(self, **fields: Any) -> dict[str, Any]:
        return {"id": "c" * 24, **fields}

    def vault(self, **fields: Any) -> dict[str, Any]:
        return {"id": "d" * 24, **fields}

    def contact(self, **fields: Any) -> dict[str, Any]:
        return {"id": "e" * 24, **fields}

    def invoice(self, **fields: Any) -> dict[str, Any]:
        return {"id": "f" * 24, **fields}

    def location_api_id(self) -> str:
        return "location"
