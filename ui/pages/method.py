"""Method: the formulas with their assumptions and limits, as written beside the planner and checked by its tests."""

import re
from pathlib import Path

import streamlit as st

METHOD = Path(__file__).parents[2] / "planner" / "METHOD.md"
STYLE = "<style>.st-key-method table { display: block; overflow-x: auto; }</style>"
"""A table wider than a phone scrolls by itself; the page does not."""
_EXAMPLE = re.compile(r"(?:^ *(?:>>>|\.\.\.)(?: .*)?\n(?:^ *(?!>>>|\.\.\.)\S.*\n)*)+", re.MULTILINE)


def main() -> None:
    st.html(STYLE)
    with st.container(key="method"):
        st.markdown(fenced(METHOD.read_text(encoding="utf-8")))


def fenced(text: str) -> str:
    """*text* with its interpreter examples as blocks of code: in Markdown ``>>>`` would be a quotation."""
    return _EXAMPLE.sub(_as_code, text)


def _as_code(match: re.Match[str]) -> str:
    lines = match[0].splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    body = "\n".join(line[indent:] for line in lines)
    return f"\n```python\n{body}\n```\n"


main()
