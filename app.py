"""The app: page set-up, navigation and the form that all pages share. ``make app`` starts it."""

from pathlib import Path

import streamlit as st

from ui.page import DRAWER, style
from ui.scenario import sidebar
from ui.undo import undo

st.set_page_config(
    page_title="KV Budget",
    page_icon=str(Path(__file__).parent / "ui" / "icon.svg"),  # a named icon would be fetched from the network
    layout="wide",
    initial_sidebar_state="expanded" if st.session_state.pop(DRAWER, False) else "auto",
)
plan = st.Page("ui/pages/plan.py", title="Plan", url_path="/", default=True)
by_its_name = st.Page(lambda: None, title="Plan", url_path="plan", visibility="hidden")
page = st.navigation(
    [
        plan,
        st.Page("ui/pages/tables.py", title="Tables"),
        st.Page("ui/pages/which.py", title="Which"),
        st.Page("ui/pages/cache.py", title="Cache"),
        st.Page("ui/pages/speed.py", title="Speed"),
        st.Page("ui/pages/batching.py", title="Batching"),
        st.Page("ui/pages/speculation.py", title="Speculation"),
        st.Page("ui/pages/cost.py", title="Cost"),
        st.Page("ui/pages/measure.py", title="Measure"),
        st.Page("ui/pages/log.py", title="My log"),
        st.Page("ui/pages/model.py", title="Model", visibility="hidden"),
        st.Page("ui/pages/own.py", title="Own model", visibility="hidden"),
        st.Page("ui/pages/method.py", title="Method", visibility="hidden"),
        by_its_name,
    ],
    position="top",
)
if page is by_its_name:  # the first page has no path, and who types one means it
    st.switch_page(plan, query_params=st.query_params.to_dict())
style()
sidebar()
page.run()
undo()
