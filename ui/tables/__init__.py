"""Tables of a page, as HTML or as a data frame."""
