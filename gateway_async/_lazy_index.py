"""Import the public names of a package on first use, so that one name does not import everything."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_index(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    Args:
        package: the package's `__name__`.
        modules: public name → the module in `gateway_async` that defines it.
    """
    namespace = vars(sys.modules[package])

    def get_attribute(name: str) -> Any:
        if name not in modules:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = namespace[name] = getattr(import_module(f"gateway_async.{modules[name]}"), name)
        return value

    return get_attribute, lambda: sorted({*namespace, *modules})
