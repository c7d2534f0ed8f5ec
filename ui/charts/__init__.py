"""Rows to Altair charts. Nothing here knows Streamlit."""
