"""What no desk has, in a form that can be steered: time, cards and their issuer, terminals, and misfortune.

The law of this folder: it reads no table and answers no request; what it decides, others keep and tell.
"""
