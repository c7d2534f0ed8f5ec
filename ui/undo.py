"""What the browser's own controls do: Back undoes the last change, and 1e3 in a number's field is a thousand.

Streamlit overwrites the address of a page when a field changes, and reads a number up to its first letter.
"""

import streamlit as st

SCRIPT = """<script>
if (!window.kvBudgetUndo) {
  window.kvBudgetUndo = true;
  // The first address that follows something the reader did becomes a step of the history, all others overwrite.
  let touched = false;
  const [replace, push] = [history.replaceState.bind(history), history.pushState.bind(history)];
  history.replaceState = (state, unused, url) => {
    const to = new URL(url ?? location.href, location.href);
    const isChange = touched && to.pathname === location.pathname && to.search !== location.search;
    return isChange ? history.pushState(state, unused, url) : replace(state, unused, url);
  };
  history.pushState = (...step) => { touched = false; return push(...step); };
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => { touched = true; }, true);
  addEventListener("popstate", () => { touched = false; }, true);
  const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const spellOut = ({ target }) => {
    if (target.matches?.('input[type="number"]') && /e/i.test(target.value) && Number.isFinite(Number(target.value))) {
      write.call(target, String(Number(target.value)));
      target.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  addEventListener("keydown", (event) => { if (event.key === "Enter") spellOut(event); }, true);
  addEventListener("focusout", spellOut, true);
}
</script>"""


def undo() -> None:
    """Once for all pages, beneath what they show."""
    st.html(SCRIPT, unsafe_allow_javascript=True)
