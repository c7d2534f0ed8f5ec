"""What vLLM's profiling of a vision or audio encoder takes beside the text model's peak."""

from collections import Counter

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.vllm.options import options
from planner.engines.vllm.step import SIXTEEN_BIT_BYTES

PATCH = "patch"


def kept_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """What stays while the text model is profiled: the encoder's outputs for a full batch, and the pixels they are of.

    2 bytes · tokens · (hidden + patches a token · elements a patch); tokens are those of a step, or of the largest
    image where that has more.
    """
    settings = deployment.settings
    per_token = settings.rule("patches_per_token")
    patches: int = per_token.get(architecture.model_type, per_token["other"])
    tokens = max(options(deployment).max_num_batched_tokens, largest_image(architecture, deployment) // patches)
    return SIXTEEN_BIT_BYTES * tokens * (architecture.hidden_size + patches * _patch_elements(architecture))


def largest_image(architecture: Architecture, deployment: Deployment) -> int:
    """Patches of the largest image, 0 where it is not known."""
    found: int = deployment.settings.rule("encoder_patches").get(architecture.model_type, 0)
    return found


def row_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """One 16-bit element of the encoder's width for every patch of the largest image."""
    widths = Counter(tensor.columns for tower in architecture.towers for tensor in tower.tensors)
    return SIXTEEN_BIT_BYTES * largest_image(architecture, deployment) * widths.most_common(1)[0][0]


def _patch_elements(architecture: Architecture) -> int:
    """Elements of the picture in a patch: the inputs of the first projection."""
    tensors = (tensor for tower in architecture.towers for tensor in tower.tensors)
    return next((tensor.columns for tensor in tensors if PATCH in tensor.name and tensor.rows > 1), 0)
