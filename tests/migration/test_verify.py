"""Verification of the accounts that a migration stored."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest

from gateway_async import AsyncGateway, AuthenticationError, CardVaultCreate, InvalidRequestError, JournalError
from gateway_async.migration import Finding, Totals, VaultRow, Verdict, Verification, migrate_vaults, verify_vaults
from gateway_async.models.account_vaults import AccountVaultUpdate
from gateway_async.sandbox import Sandbox

from .journals import MemoryJournal

pytestmark = pytest.mark.anyio

READ = "GET /v2/accountvaults/{id}"


def cards(sandbox: Sandbox, count: int) -> list[CardVaultCreate]:
    return [
        CardVaultCreate(
            account_number="4111111111111111",
            exp_date="1230",
            account_holder_name=f"Ada {number}",
            contact_id=sandbox.contact_id,
            account_vault_api_id=f"row-{number}",
        )
        for number in range(count)
    ]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "cards.journal"


def found(result: Verification) -> set[tuple[str, str]]:
    return {(finding.key, finding.verdict) for finding in result.findings}


async def test_all_is_as_it_should_be(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    rows = cards(sandbox, 30)
    await migrate_vaults(gateway, rows, journal=journal)
    seen: list[int] = []
    for given in (None, rows):
        result = await verify_vaults(
            gateway, journal=journal, rows=given, on_progress=lambda so_far: seen.append(so_far.checked)
        )
        assert (result.good, result.matching, result.total, result.findings) == (True, 30, 30, [])
    assert seen[-1] == 30


async def test_a_key_with_a_card_number_is_masked(gateway: AsyncGateway, journal: Path) -> None:
    await migrate_vaults(gateway, [], journal=journal)
    result = await verify_vaults(gateway, journal=journal, rows=[VaultRow(key="5454545454545454")])
    assert found(result) == {("************5454", Verdict.NOT_STORED)}


async def test_what_is_wrong_is_found(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    rows = cards(sandbox, 6)
    await migrate_vaults(gateway, rows, journal=journal)
    vaults = {vault.account_vault_api_id: vault.id async for vault in gateway.account_vaults.list()}
    await gateway.account_vaults.update(vaults["row-1"], AccountVaultUpdate(exp_date="0131"))
    await gateway.account_vaults.delete(vaults["row-2"])
    more = attrs.evolve(rows[0], account_vault_api_id="more")
    edited = attrs.evolve(rows[4], billing_zip="12345")
    result = await verify_vaults(gateway, journal=journal, rows=[*rows[1:4], edited, more])
    different = {("row-1", Verdict.DIFFERENT), ("row-4", Verdict.DIFFERENT)}
    assert found(result) == different | {("row-2", Verdict.MISSING), ("more", Verdict.NOT_STORED)}
    assert (result.good, result.matching, result.checked) == (False, 3, 6)
    details = {each.key: each.details[0] for each in result.findings if each.details}
    assert details["row-1"].startswith("exp_date: ")
    assert details["row-4"] == "key: another row is stored under this key with other content"
    without_input = await verify_vaults(gateway, journal=journal)
    assert found(without_input) == {("row-2", Verdict.MISSING)}


async def test_a_sample(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    """A sample has the wanted number of accounts, each as likely as any other; a larger one is all of them."""
    rows = cards(sandbox, 20)
    await migrate_vaults(gateway, rows, journal=journal)
    for given in (None, rows):
        result = await verify_vaults(gateway, journal=journal, rows=given, sample=7, random=Random(1))  # noqa: S311  it picks a sample
        assert (result.good, result.matching, result.total) == (True, 7, 7)
    assert (await verify_vaults(gateway, journal=journal, sample=99)).matching == 20


async def test_a_sample_finds_every_row_that_is_not_stored(
    sandbox: Sandbox, gateway: AsyncGateway, journal: Path
) -> None:
    rows = cards(sandbox, 20)
    await migrate_vaults(gateway, rows[:15], journal=journal)
    result = await verify_vaults(gateway, journal=journal, rows=rows, sample=1)
    assert (result.good, result.checked, result.not_stored) == (False, 1, 5)


async def test_an_account_that_cannot_be_read_is_no_account_that_is_missing(
    sandbox: Sandbox, gateway: AsyncGateway, journal: Path
) -> None:
    await migrate_vaults(gateway, cards(sandbox, 3), journal=journal)
    sandbox.fault("GET /v2/accountvaults/{id}", "garbage")
    result = await verify_vaults(gateway, journal=journal, concurrency=1)
    assert (result.unread, result.matching) == (1, 2)


async def test_a_gateway_that_is_gone_ends_it(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    await migrate_vaults(gateway, cards(sandbox, 180), journal=journal)
    sandbox.fault(READ, "garbage", nth=1, times=60)
    sandbox.fault(READ, "garbage", nth=62, times=1000)
    result = await verify_vaults(gateway, journal=journal, concurrency=1)
    assert (result.good, result.matching) == (False, 1)
    assert result.unread == 160
    assert result.stopped.startswith("100 accounts in a row could not be read: ")


async def test_wrong_credentials_end_it(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    await migrate_vaults(gateway, cards(sandbox, 5), journal=journal)
    sandbox.reset()
    async with sandbox.gateway(developer_id="wrong") as stranger:
        with pytest.raises(AuthenticationError):
            await verify_vaults(stranger, journal=journal)


async def test_an_input_that_cannot_be_read_ends_it(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    await migrate_vaults(gateway, cards(sandbox, 5), journal=journal)

    def broken() -> Iterable[CardVaultCreate]:
        yield cards(sandbox, 1)[0]
        raise InvalidRequestError("source: cut off")

    with pytest.raises(InvalidRequestError, match="cut off"):
        await verify_vaults(gateway, journal=journal, rows=broken())


@pytest.mark.parametrize("wrong", [{"sample": 0}, {"concurrency": 0}, {"sample": True}])
async def test_numbers_are_checked(gateway: AsyncGateway, journal: Path, wrong: dict[str, Any]) -> None:
    """By their names."""
    with pytest.raises(InvalidRequestError, match=f"{next(iter(wrong))}: must be a whole number above 0"):
        await verify_vaults(gateway, journal=journal, **wrong)


async def test_the_row_that_was_stored_is_compared(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    good, other = (attrs.evolve(card, account_vault_api_id="k") for card in cards(sandbox, 2))
    rows = [
        VaultRow(key="k", line=2, request=attrs.evolve(good, exp_date="0131"), problems=("exp_date: no",)),
        VaultRow(key="k", line=3, request=good),
        VaultRow(key="k", line=4, request=other),
    ]
    report = await migrate_vaults(gateway, rows, journal=journal)
    result = await verify_vaults(gateway, journal=journal, rows=rows)
    assert (result.matching, result.different, result.not_stored) == (1, 0, 2)
    assert [(finding.line, finding.details) for finding in result.findings] == [
        (2, ("exp_date: no",)),
        (4, ("key: line 3 has the same key",)),
    ]
    assert result.totals == report.totals == Totals(stored=1, rejected=1, repeated=1)


async def test_a_row_that_was_stored_from_a_later_line_is_compared(
    sandbox: Sandbox, gateway: AsyncGateway, journal: Path
) -> None:
    first, second = (attrs.evolve(card, account_vault_api_id="k") for card in cards(sandbox, 2))
    await migrate_vaults(gateway, [VaultRow(key="k", line=9, request=second)], journal=journal)
    rows = [VaultRow(key="k", line=line, request=card) for line, card in ((2, first), (3, second), (4, second))]
    result = await verify_vaults(gateway, journal=journal, rows=rows)
    assert (result.matching, result.different) == (1, 0)
    assert [(finding.line, finding.details) for finding in result.findings] == [
        (2, ("key: line 9 is stored under this key with other content",)),
        (4, ("key: line 9 has the same key",)),
    ]


async def test_why_rows_are_not_stored_comes_from_the_journal(
    sandbox: Sandbox, gateway: AsyncGateway, journal: Path
) -> None:
    rows = [attrs.evolve(card, contact_id="f" * 24) if number < 3 else card for number, card in
            enumerate(cards(sandbox, 6))]  # fmt: skip
    bad = [VaultRow(key="", line=line, problems=(f"key: line {line} has the same key",)) for line in (8, 9)]
    report = await migrate_vaults(gateway, [*rows[:5], *bad], journal=journal)
    result = await verify_vaults(gateway, journal=journal, rows=[*rows, *bad])
    assert result.totals == report.totals == Totals(stored=2, rejected=5)
    assert (result.matching, result.not_stored) == (2, 6)
    details = [finding.details[0] for finding in result.findings]
    assert details[0].startswith("contact_id: ")
    assert dict(result.reasons) == {
        (Verdict.NOT_STORED, details[0]): 3,
        (Verdict.NOT_STORED, "row: not migrated yet"): 1,
        (Verdict.NOT_STORED, "key: another line has the same key"): 2,
    }


async def test_the_worst_findings_come_first(sandbox: Sandbox, gateway: AsyncGateway, journal: Path) -> None:
    rows = cards(sandbox, 4)
    await migrate_vaults(gateway, rows, journal=journal)
    vaults = {vault.account_vault_api_id: vault.id async for vault in gateway.account_vaults.list()}
    await gateway.account_vaults.update(vaults["row-1"], AccountVaultUpdate(exp_date="0131"))
    await gateway.account_vaults.delete(vaults["row-2"])
    more = [VaultRow(key=f"more-{number}", line=number, request=rows[0]) for number in range(1500)]
    found: list[Finding] = []
    result = await verify_vaults(gateway, journal=journal, rows=[*more, *rows], on_finding=found.append)
    assert [finding.verdict for finding in result.findings] == [
        Verdict.MISSING,
        Verdict.DIFFERENT,
        *[Verdict.NOT_STORED] * 1000,
    ]
    assert (result.not_stored, len(found)) == (1500, 1502)
    assert result.reasons[Verdict.NOT_STORED, "row: not migrated yet"] == 1500


async def test_a_journal_of_an_earlier_version_is_verified(
    sandbox: Sandbox, gateway: AsyncGateway, journal: Path
) -> None:
    (card,) = cards(sandbox, 1)
    await migrate_vaults(gateway, [VaultRow(key="1001.0", request=card)], journal=journal)
    rows = [VaultRow(key="1001", former_key="1001.0", request=card)]
    assert (await verify_vaults(gateway, journal=journal, rows=rows)).good


@pytest.mark.parametrize("is_in_the_input", [True, False])
async def test_an_entry_of_wrong_types_is_named(sandbox: Sandbox, gateway: AsyncGateway, is_in_the_input: bool) -> None:
    rows, journal = cards(sandbox, 1), MemoryJournal()
    await migrate_vaults(gateway, rows, journal=journal)
    journal.kept["row-0"] = attrs.evolve(journal.kept["row-0"], line="seven")  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="the entry of key 'row-0': Expected `int"):
        await verify_vaults(gateway, journal=journal, rows=rows if is_in_the_input else [])
