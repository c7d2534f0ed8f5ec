"""Plans to start from, each with a different answer."""

from planner.inputs.choices import Choices

EXAMPLES = {
    "13B in 4 bit, 8 GiB card": Choices(
        model="13b-class-mha", memory="8GiB", weights="int4-g128", context=2_048, users=1, overhead="1.5GiB"
    ),
    "7B in 8 bit, 16 GiB card": Choices(
        model="7b-class", memory="16GiB", weights="int8", context=8_192, users=4, overhead="1.5GiB"
    ),
    "8B for 4 users, RTX 4090": Choices(
        model="llama-3.1-8b", device="rtx-4090", context=8_192, users=4, overhead="1.5GiB"
    ),
}
