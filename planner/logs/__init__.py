"""Start-up logs as readings: one file an engine, each a table of the lines that it prints."""
