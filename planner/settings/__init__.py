"""An engine's options and rules by version, as ``presets/engines/`` has them and a user sets them."""
