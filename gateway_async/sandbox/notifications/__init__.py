"""Messages to customers by e-mail and text (contract, "Notifications to customers").

No message is really sent. Every message is stored in the outbox, where it can be read. Start at `messages.py`.
"""
