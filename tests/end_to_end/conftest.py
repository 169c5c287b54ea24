"""A sandbox whose terminals wait for a person."""

import pytest

from tests.support.sandboxes import manual_sandbox

sandbox_by_hand = pytest.fixture(manual_sandbox)
