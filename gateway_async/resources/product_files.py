"""`gateway.product_files`: file storage for a location (contract, *Quick invoices*, rule 2)."""

from typing import Any, Final

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.noun import Noun, Scope
from gateway_async._wire.unshown import read_unshown
from gateway_async.models.files import ProductFile, ProductFileCreate

__all__ = ["PRODUCT_FILE", "ProductFiles"]

PRODUCT_FILE: Final = Noun(name="productfile", plural="productfiles", record=ProductFile, creates=(ProductFileCreate,))


@attrs.frozen
class ProductFiles:
    """File storage, which a location needs before files can be attached to its invoices."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: ProductFileCreate) -> ProductFile:
        """Enable file storage for a location. The contract does not show the answer; it is read as far as it goes.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses it; `.fields` says why.
            OutcomeUnknownError: it may have been enabled; nothing can tell.
        """
        return await self._sender.send(attrs.evolve(PRODUCT_FILE.create(new, self._scope), read=_read))


def _read(content: Any) -> ProductFile:
    return read_unshown(ProductFile, (PRODUCT_FILE.name,), content) or ProductFile()
