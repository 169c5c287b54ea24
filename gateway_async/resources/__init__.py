"""The nouns on the client, one file for each: what a person calls. Methods make a call of a noun and send it."""
