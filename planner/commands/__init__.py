"""One module a command, imported when it is called: ``add_arguments(parser)`` and ``run(arguments) -> exit code``.

One whose options depend on each other also has ``unused(arguments)``: which of them have no effect beside the others.
"""

COMMANDS = {
    "plan": ("planner.commands.plan", "one model on one card: what fits, and every byte"),
    "table": ("planner.commands.table", "models × weight formats × memory sizes"),
    "log": ("planner.commands.log", "an engine's start-up log: what it says beside the plan, and what would start"),
    "which": ("planner.commands.which", "the devices that serve a model, or the models that a device runs"),
    "inspect": ("planner.commands.inspect", "a model layer by layer: kinds, growth, parameters by role"),
    "cache": ("planner.commands.cache", "one conversation by kind of attention, beside other models and the weights"),
    "speed": ("planner.commands.speed", "tokens a second, time to first token, and what bounds them"),
    "cost": ("planner.commands.cost", "what a million tokens cost, and the cheapest cards that do what is asked"),
    "capacity": ("planner.commands.capacity", "how many requests a second and users meet a latency target"),
    "simulate": ("planner.commands.simulate", "many requests at once: throughput, waiting, slots and cache blocks"),
    "speculate": ("planner.commands.speculate", "what a draft is worth: faster or slower, and by how much"),
    "arithmetic": ("planner.commands.arithmetic", "what a cache saves: arithmetic of one head with and without"),
    "models": ("planner.commands.listing", "the model presets"),
    "devices": ("planner.commands.listing", "the cards with nominal and usable memory"),
    "formats": ("planner.commands.listing", "the number formats with bytes and elements of a block"),
    "engines": ("planner.commands.listing", "the engines whose rules are known"),
    "profiles": ("planner.commands.listing", "what was measured on machines, for plan --profile"),
    "drafts": ("planner.commands.listing", "published acceptance of draft models, n-grams, MTP, EAGLE, Medusa"),
    "quality": ("planner.commands.listing", "published losses of quality, by format and model"),
    "check": ("planner.commands.check", "validate every file in presets/"),
}
"""Each command's module and its line in ``kvbudget --help``."""

DONE, DOES_NOT_FIT, BAD_INPUT = 0, 1, 2
"""Exit codes."""
