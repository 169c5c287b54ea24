"""URLs of the gateway's hosted forms and pages, and checks of what comes back (contract, *Signed forms*).

On such a form a customer or a clerk enters a card or a bank account, which your programs never see. `payform_url` is
for a payment, `accountform_url` for an account vault, and `hosted_page_url` for a payment page that exists at the
gateway. Nothing here sends a request.

**Neither a signature nor an encryption protects the data.** Anyone who has the URL of a form can change it, the amount
too, and submit it. Look up the record by its integrator id afterwards and compare it by `compare_form_result`, before
you deliver anything.

The signature of a form also authenticates other requests of its user until it expires. Use a user that may do little.
"""

from gateway_async.hosted_forms.page_urls import HostedPage, hosted_page_url, read_hosted_page_url
from gateway_async.hosted_forms.signed_urls import (
    SignedForm,
    accountform_url,
    check_form_url,
    compare_form_result,
    payform_url,
)

__all__ = [
    "HostedPage",
    "SignedForm",
    "accountform_url",
    "check_form_url",
    "compare_form_result",
    "hosted_page_url",
    "payform_url",
    "read_hosted_page_url",
]
