"""Locations, location infos, users and terminals: what is there from the start, and who sees it."""

from collections.abc import Iterator

import pytest

from gateway_async import AsyncGateway, InvalidRequestError, NotFoundError, TagCreate, UserApiKey, ValidationError
from gateway_async.sandbox import Sandbox, SandboxInfo


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of this module's own, so that no other test adds locations."""
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def branch(sandbox: Sandbox) -> SandboxInfo:
    """A location below the first one."""
    return sandbox.add_location("Branch", parent_id=sandbox.info.location_id)


@pytest.fixture(scope="module")
def stranger(sandbox: Sandbox) -> SandboxInfo:
    """A location that belongs to someone else."""
    return sandbox.add_location("Stranger")


def client(info: SandboxInfo) -> AsyncGateway:
    """Return a client with the credentials of a location's user."""
    credentials = UserApiKey(info.user_id, info.user_api_key)
    return AsyncGateway(
        info.base_url, developer_id=info.developer_id, credentials=credentials, location_id=info.location_id
    )


@pytest.mark.asyncio
async def test_visible_locations(sandbox: Sandbox, branch: SandboxInfo, stranger: SandboxInfo) -> None:
    """A user sees its own location and those below; others are unknown, also the one above."""
    async with client(sandbox.info) as above, client(branch) as below:
        assert {each.name async for each in above.locations.list()} == {"Sandbox", "Branch"}
        assert [each.name async for each in below.locations.list()] == ["Branch"]
        assert (await above.locations.get(branch.location_id)).parent_id == sandbox.info.location_id
        for gateway, hidden in ((above, stranger), (below, sandbox.info)):
            with pytest.raises(NotFoundError):
                await gateway.locations.get(hidden.location_id)


@pytest.mark.asyncio
async def test_expands(sandbox: Sandbox, branch: SandboxInfo) -> None:
    """Merchant accounts, terminals and the location above come under the names of their expands."""
    async with sandbox.gateway() as gateway:
        expand = ("parent", "product_transactions", "terminal", "branding_domain", "developer_company", "product_file")
        location = await gateway.locations.get(branch.location_id, expand=expand)
    assert location.extra["parent"]["id"] == sandbox.info.location_id
    accounts = {each["id"] for each in location.extra["product_transactions"]}
    assert accounts == {branch.cc_product_transaction_id, branch.ach_product_transaction_id}
    assert accounts == {location.default_cc, location.default_ach}
    assert [each["id"] for each in location.extra["terminal"]] == [branch.terminal_id]
    assert [location.extra[name] for name in ("branding_domain", "developer_company", "product_file")] == [None] * 3


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("relationship", "names"),
    [(None, ["Sandbox"]), ("direct", ["Sandbox"]), ("child", ["Branch"]), ("all", ["Branch", "Sandbox"])],
)
@pytest.mark.usefixtures("branch", "stranger")
async def test_relationships(sandbox: Sandbox, relationship: str | None, names: list[str]) -> None:
    """The list of infos has the user's own location unless more is asked for."""
    async with sandbox.gateway() as gateway:
        filters = {} if relationship is None else {"relationship": relationship}
        assert sorted([each.name or "" async for each in gateway.locations.infos(filters)]) == names


@pytest.mark.asyncio
async def test_location_info(sandbox: Sandbox) -> None:
    """An info has the merchant accounts, with a surcharge if there is one, the terminals, the tags and the links."""
    async with sandbox.gateway() as gateway:
        tag = await gateway.tags.create(TagCreate(title="Tea"))
        (info,) = (await gateway.locations.infos()).records
        (full,) = (await gateway.locations.infos(expand=("terminals",))).records
        sandbox.change_product(surcharge=True)
        (charging,) = (await gateway.locations.infos()).records
        sandbox.change_product(surcharge=False)
    assert [account.payment_method for account in info.product_transactions or ()] == ["cc", "ach"]
    assert [terminal.id for terminal in info.terminals or ()] == [sandbox.info.terminal_id]
    assert [terminal.serial_number for terminal in info.terminals or ()] == [None]
    assert [terminal.serial_number for terminal in full.terminals or ()] != [None]
    assert [each["id"] for each in info.tags or ()] == [tag.id]
    assert info.product_file is None
    assert info.extra["_links"]["location"]["href"].endswith(f"/v2/locations/{info.id}")
    accounts = charging.product_transactions or ()
    assert [account.surcharge and account.surcharge["surcharge_rate"] for account in accounts] == ["3.0", None]


@pytest.mark.asyncio
async def test_filters(sandbox: Sandbox) -> None:
    """Infos show an inactive merchant account only when asked for; unknown words and names are refused."""
    async with sandbox.gateway() as gateway:
        (info,) = (await gateway.locations.infos({"product_transaction_active": 0})).records
        assert info.product_transactions == ()
        location = await gateway.locations.get(info.id)
        infos = gateway.locations.infos({"location_api_id": location.location_api_id})
        assert [each.id async for each in infos] == [info.id]
        assert [each.id async for each in gateway.locations.infos({"location_api_id": "nobody's"})] == []
        for filters in ({"relationship": "cousin"}, {"product_transaction_active": "perhaps"}):
            with pytest.raises(ValidationError) as caught:
                await gateway.locations.infos(filters)
            assert list(caught.value.fields) == list(filters)
        with pytest.raises(InvalidRequestError, match="relationship"):
            gateway.locations.infos({"relationships": "all"})
        gateway.locations.infos({"name": "Sandbox"}, extra_filters={"relationships": "all"})
