"""What a command says beside where its cards are several machines.

Source: docs.vllm.ai, Parallelism and scaling, and Data parallel deployment; docs.sglang.io, Multi-node deployment;
tensorrt_llm/llmapi/trtllm-llmapi-launch.
"""

from collections.abc import Iterator

from planner.deployment import Deployment
from planner.machines import machine_devices, machines
from planner.shares import attends_apart

HEAD = "HEAD-ADDRESS"
"""Stands for the address of the first machine."""
FLAGS = {
    "vllm": (
        *("--nnodes", "--node-rank", "--master-addr", "--master-port", "--data-parallel-size-local", "-dpl"),
        *("--data-parallel-address", "-dpa", "--data-parallel-rpc-port", "-dpp", "--data-parallel-start-rank", "-dpr"),
        "--data-parallel-backend",
    ),
    "sglang": ("--nnodes", "--node-rank", "--dist-init-addr", "--nccl-init-addr"),
    "tensorrt_llm": ("--gpus_per_node",),
}
"""By engine, options that say on which machine what is; memory depends on none of them."""
SWITCHES = {"vllm": ("--headless",)}
_PORT = 20000


def several_options(deployment: Deployment) -> tuple[str, ...]:
    """The options of the first machine's command; nothing for one machine, or an engine whose commands have none."""
    number = machines(deployment)
    if number == 1:
        return ()
    size = machine_devices(deployment.device) or 1
    match deployment.engine:
        case "vllm" if _keeps_ranks_whole(deployment, size):
            return ("--data-parallel-size-local", str(_local(deployment, size)), "--data-parallel-address", HEAD)
        case "vllm" if deployment.settings.rule("several_machines") == "ray":
            return ("--distributed-executor-backend", "ray")
        case "vllm":
            return ("--nnodes", str(number), "--node-rank", "0", "--master-addr", HEAD)
        case "sglang" if not _has_replicas(deployment):
            return ("--nnodes", str(number), "--node-rank", "0", "--dist-init-addr", f"{HEAD}:{_PORT}")
        case "tensorrt_llm":
            return ("--gpus_per_node", str(size))
    return ()


def several_notes(deployment: Deployment) -> Iterator[str]:
    """What is started on the other machines."""
    number = machines(deployment)
    if number == 1:
        return
    size, count = machine_devices(deployment.device) or 1, deployment.device_count
    said = f"{HEAD} is the first machine's address."
    match deployment.engine:
        case "vllm" if _keeps_ranks_whole(deployment, size):
            local = _local(deployment, size)
            yield (
                f"On the other {_machines(number - 1)} start the same with --headless and --data-parallel-start-rank "
                f"{' or '.join(str(local * rank) for rank in (1, number - 1)[: number - 1])}; {said}"
            )
        case "vllm" if deployment.settings.rule("several_machines") == "ray":
            yield (
                f"Before it start ray start --head here, and ray start --address=ADDRESS:6379 on the other "
                f"{_machines(number - 1)}."
            )
        case "vllm":
            yield f"On the other {_machines(number - 1)} start the same with {_ranks(number)} and --headless; {said}"
        case "sglang" if _has_replicas(deployment):
            yield (
                f"SGLang's replicas of the whole model are on one machine: start {_machines(number)} with servers of "
                "their own, or set enable_dp_attention=true."
            )
        case "sglang":
            yield f"On the other {_machines(number - 1)} start the same with {_ranks(number)}; {said}"
        case "tensorrt_llm":
            yield (
                f"Start it on all at once, behind mpirun -n {count} trtllm-llmapi-launch or Slurm's srun -N {number} "
                f"-n {count} trtllm-llmapi-launch."
            )
        case _:
            title = deployment.settings.title or deployment.engine
            yield f"This starts on one machine; how {title} runs on {number} is not planned."


def _keeps_ranks_whole(deployment: Deployment, size: int) -> bool:
    rank = deployment.tensor_parallel * deployment.pipeline_parallel
    return deployment.data_parallel > 1 and rank <= size


def _local(deployment: Deployment, size: int) -> int:
    return size // (deployment.tensor_parallel * deployment.pipeline_parallel)


def _has_replicas(deployment: Deployment) -> bool:
    return deployment.data_parallel > 1 and not attends_apart(deployment)


def _ranks(number: int) -> str:
    return f"--node-rank {'1' if number == 2 else f'1 to {number - 1}'}"


def _machines(number: int) -> str:
    return "machine" if number == 1 else f"{number} machines"
