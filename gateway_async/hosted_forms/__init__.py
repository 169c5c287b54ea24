"""Signed URLs of the gateway's hosted forms, and checks of what comes back (contract, *Signed forms*).

On such a form a customer or a clerk enters a card or a bank account, which your programs never see. `payform_url` is
for a payment, `accountform_url` for an account vault. Nothing here sends a request.

**The signature does not cover the form's data.** Anyone who has the URL can change it, the amount too, and submit it.
Look up the record by its integrator id afterwards and compare it by `compare_form_result`, before you deliver anything.

The signature also authenticates other requests of its user until it expires. Use a user that may do little.
"""

from gateway_async.hosted_forms.results import compare_form_result
from gateway_async.hosted_forms.signed_urls import SignedForm, accountform_url, check_form_url, payform_url

__all__ = ["SignedForm", "accountform_url", "check_form_url", "compare_form_result", "payform_url"]
