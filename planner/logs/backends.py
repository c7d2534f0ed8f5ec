"""What ggml's backends for Metal and Vulkan print, whichever program runs them: the card, its limit, and failures.

Source: ggml/src/ggml-metal and ggml/src/ggml-vulkan, and public reports.
"""

from planner.logs.patterns import pattern

PATTERNS = (
    pattern("device", r"ggml_metal_\w{1,30}: found device: (?P<set__device>Apple [\w ]{1,30})"),
    # What Metal lets one program have, in MiB, behind what it has already.
    pattern(
        "allocated", r"allocated (?:'\w{1,20} *' )?buffer, size = *SIZE Mi?B,.{0,30}?\( *<in_use__mib> / *<card__mib>\)"
    ),
    pattern(
        "kIOGPUCommandBufferCallbackErrorOutOfMemory",
        r"Insufficient Memory \(\d{1,8}:kIOGPUCommandBufferCallbackErrorOutOfMemory\)",
        fails="memory",
    ),
    pattern("status", r"command buffer \d{1,4} failed with status 5", fails="other"),
    pattern("maximum", r"size <allocation__bytes> is larger than buffer maximum of ", fails="buffer"),
    pattern("ggml_vulkan", r"ggml_vulkan: \d{1,2} = (?P<set__device>[^(|]{2,60}?) *\("),
    pattern("allocation", r"Device memory allocation of size <allocation__bytes> failed", fails="memory"),
    pattern("exceeds", r"Requested buffer size exceeds device (?:memory allocation|buffer size) limit", fails="buffer"),
)
