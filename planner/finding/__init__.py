"""Questions over many models or cards: which fit, which are worth taking, and the table of them."""
