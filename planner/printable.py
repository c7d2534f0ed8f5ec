"""Text from files, names and servers made fit for a terminal: no escapes, no breaks of the line."""


def printable(text: str) -> str:
    """*text* on one line, with a mark in place of each character that a terminal would act on.

    >>> printable("a\\x1b[31m b\\n c")
    'a�[31m b c'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
