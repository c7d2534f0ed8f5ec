"""What a page asks: each field kept in the address."""
