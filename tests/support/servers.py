"""The real PostgreSQL and Redis of the tests; without their addresses the tests are skipped."""

import os

import pytest

POSTGRES = os.environ.get("GATEWAY_TEST_POSTGRES", "")
REDIS = os.environ.get("GATEWAY_TEST_REDIS", "")
postgres_only = pytest.mark.skipif(
    not POSTGRES, reason="needs a PostgreSQL: GATEWAY_TEST_POSTGRES=postgresql://postgres@127.0.0.1:5432/test"
)
KINDS = [
    pytest.param("sqlite", "asyncio", id="sqlite-asyncio"),
    pytest.param("sqlite", "trio", id="sqlite-trio"),
    pytest.param("postgres", "asyncio", id="postgres-asyncio", marks=postgres_only),
]
"""Each kind of inbox and journal, on each event loop that it runs on."""

redis_only = pytest.mark.skipif(not REDIS, reason="needs a Redis: GATEWAY_TEST_REDIS=redis://127.0.0.1:6379/0")
