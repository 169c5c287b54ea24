"""The controls of a gateway: what people and tests can do to it besides requests of the contract.

Each control is one function whose first argument is the gateway. `Sandbox` has it as a method, `calls.py` as a call
over HTTP, and the pages as a form. An invalid argument raises a ValueError whose message begins with the name of the
argument. Docstrings are written for the methods of `Sandbox`, which have no argument `gateway` and turn a ValueError
into an InvalidRequestError.
"""

from gateway_async.sandbox.controls import payments, simulators

__all__ = ["payments", "simulators"]
