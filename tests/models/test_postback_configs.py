"""Postback configs: a password is a secret from the start."""

from gateway_async._secrets import Secret
from gateway_async.models.postback_configs import PostbackConfig, PostbackConfigCreate, PostbackConfigUpdate
from gateway_async.models.request import UNSET


def test_password() -> None:
    """A create, an update and a record seal the password; an update can also leave it out, or remove it."""
    create = PostbackConfigCreate(url="https://shop.test", resource="contact", basic_auth_password="pw")
    assert create.basic_auth_password == Secret("pw")
    assert PostbackConfigUpdate(basic_auth_password="pw").basic_auth_password == Secret("pw")
    assert PostbackConfigUpdate(basic_auth_password=None).basic_auth_password is None
    assert PostbackConfigUpdate().basic_auth_password is UNSET
    assert PostbackConfig(id="p", basic_auth_password="pw").basic_auth_password == Secret("pw")
