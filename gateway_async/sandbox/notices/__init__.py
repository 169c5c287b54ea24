"""What customers are told, by e-mail and text: the contract's "Notifications to customers".

The law of this folder: nothing is really sent; every notice ends in the outbox, where it can be read.
"""
