"""Public measurements of speed against the model: ``python -m tests.speed_readings``.

Constants are fitted without the card that they are tried on. ``--constants`` prints presets/speed.toml's constants as
fitted to all readings.
"""
