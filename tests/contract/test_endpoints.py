"""Every endpoint with every kind of credentials, through the SDK: it works, or is refused as in the contract."""

import hashlib
import hmac
import time

import attrs
import pytest

from gateway_async import AsyncGateway, AuthenticationError, InvalidRequestError
from gateway_async.credentials import Credentials
from gateway_async.sandbox import SandboxInfo
from gateway_async.sandbox.routes import POSTED_UPDATES, ROUTES

from .calls import CALLS, token
from .endpoints import CREDENTIALS, ENDPOINTS, WITHOUT_MODELS, Endpoint, works
from .raw_client import RawClient

REFUSED = [endpoint for endpoint in ENDPOINTS if not all(works(endpoint, kind) for kind in CREDENTIALS)]


def client(info: SandboxInfo, credentials: Credentials) -> AsyncGateway:
    return AsyncGateway(
        info.base_url, developer_id=info.developer_id, credentials=credentials, location_id=info.location_id
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
async def test_works(raw_client: RawClient, endpoint: Endpoint) -> None:
    """The method works with all credentials but those that the contract excludes."""
    for kind in (kind for kind in CREDENTIALS if works(endpoint, kind)):
        async with client(raw_client.info, CREDENTIALS[kind](raw_client.info, token(raw_client))) as gateway:
            await CALLS[endpoint.verb](gateway, raw_client)


@pytest.mark.asyncio
@pytest.mark.parametrize("endpoint", REFUSED, ids=str)
async def test_refused(raw_client: RawClient, endpoint: Endpoint) -> None:
    """With all other credentials the SDK sends nothing, and the gateway would return 403."""
    for kind in (kind for kind in CREDENTIALS if not works(endpoint, kind)):
        await check_refusal(raw_client, endpoint, kind)


async def check_refusal(raw_client: RawClient, endpoint: Endpoint, kind: str) -> None:
    """Check that the SDK sends nothing, and that the gateway returns 403."""
    async with client(raw_client.info, CREDENTIALS[kind](raw_client.info, token(raw_client))) as gateway:
        with pytest.raises(InvalidRequestError, match=r"^HashKey|credentials: HashKey cannot sign"):
            await CALLS[endpoint.verb](gateway, raw_client)
    proof, now = raw_client.info, str(int(time.time()))
    digest = hmac.new(proof.user_hash_key.encode(), f"{proof.user_id}{now}".encode(), hashlib.sha256).hexdigest()
    signed = {"developer-id": proof.developer_id, "user-id": proof.user_id, "timestamp": now, "hash-key": digest}
    params, headers = (signed, {}) if kind == "hmac-query" else ({}, signed)
    path = endpoint.path.replace("{", "").replace("}", "")
    assert raw_client.anonymous.request(endpoint.method, path, params=params, headers=headers).status_code == 403


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", CREDENTIALS)
async def test_wrong_credentials_are_an_authentication_error(raw_client: RawClient, kind: str) -> None:
    wrong = attrs.evolve(raw_client.info, user_api_key="x", user_hash_key="x", password="x")
    async with client(raw_client.info, CREDENTIALS[kind](wrong, "nobody's")) as gateway:
        with pytest.raises(AuthenticationError):
            await gateway.account_vaults.list().first()


def test_completeness() -> None:
    """Each operation of the sandbox has its row or no model, and each row its method."""
    operations = {f"{method} {path}" for path, handlers in ROUTES.items() for method in handlers}
    assert operations == {str(endpoint) for endpoint in ENDPOINTS} | WITHOUT_MODELS
    assert sorted(CALLS) == sorted(endpoint.verb for endpoint in ENDPOINTS)


def test_other_methods(raw_client: RawClient) -> None:
    """Any other method of a path is a 405, which names those that there are."""
    for path in ROUTES.keys() - {"/v2/users/me"}:  # whose other methods are those of a user with this id
        allowed = {*ROUTES[path]} | ({"POST"} if path in POSTED_UPDATES else set())
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - allowed:
            response = raw_client.http.request(method, path.replace("{", "").replace("}", ""))
            assert response.status_code == 405, (method, path)
            assert {*response.headers["allow"].split(", ")} - {"HEAD"} == allowed, (method, path)
