"""The only folder that touches the network."""
