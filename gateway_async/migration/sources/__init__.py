"""Files as sources of rows, in bounded memory. A record that cannot be read becomes one row with its problem."""
