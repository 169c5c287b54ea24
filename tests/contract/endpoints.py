"""Every endpoint of the contract, what the SDK calls it, and which credentials it takes.

The endpoints that create, read, list, change and delete records come from `record_types.py`, the others from here.
A hash-key serves where the contract's list of HMAC endpoints says so (`hash-key`: `yes` or `no`); all other
credentials serve everywhere. A login itself (`none`) takes no credentials but the developer id. The SDK calls what has
no model by `gateway.resource`, and `custom` by `gateway.request`.
"""

from collections.abc import Callable, Iterator

import attrs

from gateway_async import AccessToken, BearerToken, HashKey, PasswordLogin, UserApiKey
from gateway_async.credentials import Credentials
from gateway_async.resources import RESOURCES
from gateway_async.sandbox import SandboxInfo

from .record_type import RecordType
from .record_types import RECORD_TYPES

_ENDPOINTS = """
    POST    /v2/token                                  tokens.create                     none
    DELETE  /v2/token/{token}                          tokens.delete                     no
    POST    /v2/quickinvoices/{id}/reopen              quick_invoices.reopen             no
    PUT     /v2/quickinvoices/{id}/addTransaction      quick_invoices.add_transaction    no
    PUT     /v2/quickinvoices/{id}/removeTransaction   quick_invoices.remove_transaction no
    POST    /v2/quickinvoices/{id}/resend              quick_invoices.resend             no
    POST    /v2/quickinvoices/{id}/files               quick_invoices.attach_file        no
    DELETE  /v2/quickinvoices/{id}/files/{file_id}     quick_invoices.remove_file        no
    POST    /v2/paylinks/{id}/resend                   paylinks.resend                   no
    GET     /v2/accountvaults/{id}/bininfo             account_vaults.bin_info           yes
    GET     /v2/transactionbatches                     transaction_batches.list          no
    GET     /v2/transactionbatches/{id}                transaction_batches.get           no
    POST    /v2/transactionbatches/{id}/settle         transaction_batches.settle        no
    GET     /v2/transactions/{id}/bininfo              transactions.bin_info             yes
    POST    /v2/transactions/{id}/override             transactions.override             yes
    POST    /v2/transactions/{id}/achupdate            transactions.achupdate            yes
    GET     /custom/tsvtransactions                    custom.tsvtransactions            no
    POST    /v2/recurrings/{id}/skipPayment            recurrings.skip                   no
    POST    /v2/recurrings/{id}/deferPayment           recurrings.defer                  no
    POST    /v2/recurrings/{id}/activate               recurrings.activate               no
    POST    /v2/hostedpaymentpages                     hostedpaymentpages.create         no
    GET     /v2/hostedpaymentpages/{id}                hostedpaymentpages.get            no
    GET     /v2/hostedpaymentpages                     hostedpaymentpages.list           no
    GET     /v2/locations                              locations.list                    no
    GET     /v2/locations/{id}                         locations.get                     no
    POST    /v2/locations                              locations.create                  no
    PUT     /v2/locations/{id}                         locations.update                  no
    DELETE  /v2/locations/{id}                         locations.delete                  no
    GET     /v2/locationinfos                          locations.infos                   no
    GET     /v2/terminals                              terminals.list                    no
    GET     /v2/terminals/{id}                         terminals.get                     no
    POST    /v2/terminals                              terminals.create                  no
    PUT     /v2/terminals/{id}                         terminals.update                  no
    DELETE  /v2/terminals/{id}                         terminals.delete                  no
    GET     /v2/users                                  users.list                        no
    GET     /v2/users/me                               users.me                          no
    GET     /v2/users/{id}                             users.get                         no
    POST    /v2/users                                  users.create                      no
    PUT     /v2/users/{id}                             users.update                      no
    DELETE  /v2/users/{id}                             users.delete                      no
    POST    /v2/users/{id}/generateuserapikey          users.generateuserapikey          no
    GET     /v2/authroleusers                          authroleusers.list                no
    GET     /v2/authroleusers/{id}                     authroleusers.get                 no
    POST    /v2/authroleusers                          authroleusers.create              no
    DELETE  /v2/authroleusers/{id}                     authroleusers.delete              no
"""

WITHOUT_MODELS = frozenset(
    {
        *("GET /v2/signatures", "POST /v2/signatures", "GET /v2/signatures/{id}"),
        *("GET /v2/deviceterms", "POST /v2/deviceterms", "GET /v2/deviceterms/{id}"),
        *("POST /v2/transactionlevel3s", "GET /v2/transactionlevel3s/{id}", "DELETE /v2/transactionlevel3s/{id}"),
    }
)
"""Operations that the SDK calls by `gateway.resource(…)`, and their tests `test_documented_<records>.py`."""

OUT_OF_SCOPE = {
    "contactsso": "single sign-on: the contract does not show how its URL is made",
    "accountform, payform, hostedpaymentpage": "pages for a browser; `gateway_async.hosted_forms` makes their URLs",
    "ticketing": "deprecated; a ticket can be spent (`TicketVaultCreate`, `TransactionCreate(ticket=…)`), not made",
    "salestax": "not shown",
    "OAuth authorization": "not shown; its token is a `BearerToken`",
}
"""Endpoints that the contract names and does not show, and why they have no row."""


@attrs.frozen
class Endpoint:
    """One endpoint.

    Attributes:
        verb: the SDK's method, `resource.verb`.
        hash_key: whether it takes a hash-key; None when it takes no credentials at all.
    """

    method: str
    path: str
    verb: str
    hash_key: bool | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _endpoint(line: str) -> Endpoint:
    method, path, verb, hash_key = line.split()
    return Endpoint(method, path, verb, {"yes": True, "no": False, "none": None}[hash_key])


def _endpoints(record_type: RecordType) -> Iterator[Endpoint]:
    path, resource = record_type.path, record_type.resource
    for verb, (method, tail) in VERBS.items():
        if hasattr(RESOURCES[resource], verb):
            yield Endpoint(method, path + tail, f"{resource}.{verb}", record_type.hash_key)
    for word, verb in record_type.actions.items():
        yield Endpoint("POST", f"{path}/{{id}}/{word}", f"{resource}.{verb}", record_type.hash_key)


VERBS = {
    "create": ("POST", ""),
    "update": ("PUT", "/{id}"),
    "get": ("GET", "/{id}"),
    "list": ("GET", ""),
    "delete": ("DELETE", "/{id}"),
}
"""The methods of most resources, with their requests."""

WITH_RESOURCE = tuple(record_type for record_type in RECORD_TYPES if record_type.resource)

ENDPOINTS = (
    *(_endpoint(line) for line in _ENDPOINTS.strip().splitlines()),
    *(endpoint for record_type in WITH_RESOURCE for endpoint in _endpoints(record_type)),
)


CREDENTIALS: dict[str, Callable[[SandboxInfo, str], Credentials]] = {
    "key": lambda user, _: UserApiKey(user.user_id, user.user_api_key),
    "key-query": lambda user, _: UserApiKey(user.user_id, user.user_api_key, send_in="query"),
    "key-basic": lambda user, _: UserApiKey(user.user_id, user.user_api_key, send_in="basic"),
    "token": lambda _, token: AccessToken(token),
    "token-query": lambda _, token: AccessToken(token, send_in="query"),
    "login": lambda user, _: PasswordLogin(user.username, user.password, user.domain),
    "hmac": lambda user, _: HashKey(user.user_id, user.user_hash_key),
    "hmac-query": lambda user, _: HashKey(user.user_id, user.user_hash_key, send_in="query"),
    "bearer": lambda _, token: BearerToken(token),
}
"""Every kind of credentials in every place: from the info of a user and a token of that user."""


def works(endpoint: Endpoint, credentials: str) -> bool:
    """Return whether an endpoint accepts a kind of credentials."""
    return endpoint.hash_key is not False or not credentials.startswith("hmac")


def print_out_of_scope() -> str:
    """Return the endpoints without a row, and the reasons, in Markdown."""
    lines = ["| named by the contract | why it has no row |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {reason} |" for name, reason in OUT_OF_SCOPE.items())])
