"""What moves a gateway beside the contract's requests: control calls, faults on the wire, nights, the seed.

The law of this folder: it takes no credentials, and no request of the contract can bring about what it does.
"""
