"""Who printed a line, by what stands before it: the same for every engine that runs one process a card."""

import re
from collections.abc import Iterable

_NAMED = re.compile(r"(?<![A-Za-z])(?:(?:DP|PP|TP|EP)\d{1,4}[ _]?){1,4}|\brank[= ]?(\d{1,4})\b")
_NUMBERED = re.compile(r"\[(?:RANK|MpiWorker|TRT-LLM\] \[RANK) (\d{1,4})\]|\[1,(\d{1,4})\]<")
_WORKER = re.compile(r"(TP|PP|DP|rank )(\d{1,4})")
_PROCESS = re.compile(r"Worker\w{0,20} pid=(\d{1,8})")


def rank(prefix: str) -> str:
    """The worker in a line's prefix, such as ``TP1`` or ``rank 1``; its process where it has no number.

    >>> rank("(Worker_DP0_TP1 pid=77) INFO"), rank("(RayWorkerWrapper pid=12, ip=10.0.0.1)"), rank("(EngineCore pid=5)")
    ('DP0 TP1', 'pid 12', '')
    >>> rank("[TensorRT-LLM][INFO] [RANK 1] "), rank("[1,0]<stdout>: [TensorRT-LLM]"), rank("[rank2]: torch.")
    ('rank 1', 'rank 0', 'rank 2')
    """
    if named := _NAMED.search(prefix):
        return f"rank {named[1]}" if named[1] else named[0].rstrip("_ ").replace("_", " ")
    if numbered := _NUMBERED.search(prefix):
        return f"rank {numbered[1] or numbered[2]}"
    process = _PROCESS.search(prefix)
    return f"pid {process[1]}" if process else ""


def workers(ranks: Iterable[str]) -> dict[str, int]:
    """How many of each kind *ranks* show at least, by their names here.

    >>> workers(["PP0 TP0", "PP1 TP3"]), workers(["rank 7"]), workers(["", "pid 12"])
    ({'PP': 2, 'TP': 4}, {'rank': 8}, {})
    """
    found: dict[str, int] = {}
    for name, number in (pair for each in set(ranks) for pair in _WORKER.findall(each)):
        kind = name.rstrip()
        found[kind] = max(int(number) + 1, found.get(kind, 1))
    return dict(sorted(found.items()))
