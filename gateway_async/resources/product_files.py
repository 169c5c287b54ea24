"""`gateway.product_files`: file storage for a location (contract, *Quick invoices*, rule 2)."""

from typing import Any, Final

import attrs

from gateway_async._secrets import seal
from gateway_async._wire.record_reader import read_undocumented
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.files import ProductFile, ProductFileCreate
from gateway_async.resources._resource import WritableResource

PRODUCT_FILE: Final = ResourceSpec(
    name="productfile", plural="productfiles", record=ProductFile, creates=(ProductFileCreate,)
)


class ProductFiles(WritableResource[ProductFile]):
    """File storage of locations. A location needs it before files can be attached to its invoices."""

    spec = PRODUCT_FILE

    async def create(self, new: ProductFileCreate) -> ProductFile:
        """Enable file storage for a location.

        The contract does not show the response, so fields that are missing from it are None.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been enabled; a lookup is not possible.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(attrs.evolve(PRODUCT_FILE.create(new, self._defaults), read=_read))


def _read(content: Any) -> ProductFile:
    return read_undocumented(ProductFile, (PRODUCT_FILE.name,), content) or ProductFile()
