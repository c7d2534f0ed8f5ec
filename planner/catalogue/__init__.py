"""What presets/ knows beside architectures: speeds, quality, published drafts, names and where files are had."""
