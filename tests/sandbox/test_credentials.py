"""Who may ask: every way to send a user's key, and everyone else."""

import base64

import httpx
import pytest


def ways(facts, key=None):
    """The same credentials in headers, in the query and as Basic."""
    key = facts.user_api_key if key is None else key
    pair = {"user-id": facts.user_id, "user-api-key": key}
    basic = base64.b64encode(f"{facts.user_id}:{key}".encode()).decode()
    return {"headers": (pair, {}), "query": ({}, pair), "basic": ({"authorization": f"Basic {basic}"}, {})}


def ask(facts, headers, query):
    """Ask for something that needs credentials."""
    return httpx.get(f"{facts.base_url}/v2/contacts", headers=headers, params=query)


@pytest.mark.parametrize("way", ["headers", "query", "basic"])
@pytest.mark.parametrize("place", ["headers", "query"])
def test_a_key_is_accepted_wherever_it_is_sent(sandbox, way, place):
    """Each way works with the developer id in either place."""
    headers, query = ways(sandbox.facts)[way]
    developer = {"developer-id": sandbox.developer_id}
    known = (headers | developer, query) if place == "headers" else (headers, query | developer)
    assert ask(sandbox.facts, *known).status_code == 200


@pytest.mark.parametrize("way", ["headers", "query", "basic"])
@pytest.mark.parametrize("key", ["wrong", "", "ü"])
def test_a_wrong_key_is_refused(sandbox, way, key):
    """401, in the shape of every refusal."""
    headers, query = ways(sandbox.facts, key)[way]
    encoded = {name: value.encode() for name, value in headers.items()}
    answer = ask(sandbox.facts, encoded | {"developer-id": sandbox.developer_id}, query)
    assert (answer.status_code, answer.json()["status"], answer.json()["name"]) == (401, 401, "Unauthorized")


def test_a_developer_id_is_always_needed(sandbox):
    """Missing or unknown, it is 401."""
    headers, query = ways(sandbox.facts)["headers"]
    assert ask(sandbox.facts, headers, query).status_code == 401
    assert ask(sandbox.facts, headers | {"developer-id": "another"}, query).status_code == 401


@pytest.mark.parametrize("authorization", ["Basic", "Basic !", "Basic /w==", "Basic OmE=", "Bearer x", ""])
def test_an_unreadable_authorization_is_refused(sandbox, authorization):
    """Whatever the header holds, the answer is 401."""
    headers = {"developer-id": sandbox.developer_id, "authorization": authorization}
    assert ask(sandbox.facts, headers, {}).status_code == 401


def test_no_refusal_repeats_a_secret(sandbox):
    """The key that was sent is not in the answer."""
    headers, query = ways(sandbox.facts, "planted-secret")["query"]
    assert "planted-secret" not in ask(sandbox.facts, headers | {"developer-id": sandbox.developer_id}, query).text
