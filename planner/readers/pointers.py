"""Git LFS pointers: a few lines of text under the name of a file that was not fetched.

Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
"""

from planner.errors import BadFile

_START = b"version https://git-lfs"
_LEAST_BYTES = 4


def refuse_pointer(first: bytes, what: str) -> None:
    """Raise BadFile if the *first* bytes of the file called *what*, some or all, are a pointer's."""
    if len(first) >= _LEAST_BYTES and first.startswith(_START[: len(first)]):
        raise BadFile(
            f"{what} is a Git LFS pointer, not the file itself: fetch it with 'git lfs pull' or 'hf download'."
        )
