"""SGLang: a static share of the card, divided into pools of tokens and states before anything runs."""
