"""URLs of the gateway's hosted forms and pages, and checks of what comes back (contract, *Signed forms*).

Customers or clerks enter a card or a bank account on the form, and your programs never see it. `payform_url` is for a
payment, `accountform_url` for an account vault, and `hosted_page_url` for a payment page that exists at the gateway.
Nothing here sends a request.

**Neither signature nor encryption protects the data.** Anyone who has the URL of a form can change it, including the
amount, and submit it. Before you deliver anything, look up the record by its integrator id, and compare it with
`compare_form_result`.

Until it expires, the signature of a form authenticates any other request of its user. Use a user with few privileges.
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
