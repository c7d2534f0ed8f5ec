"""``python -m sglang.launch_server`` from a plan, and back. Source of the options: python/sglang/srt/server_args.py."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.deployment import Deployment
from planner.draft import EAGLE, Draft
from planner.engines.sglang.options import tp_size
from planner.errors import NotItsCommand, PlannerError
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import Launch, in_full, option_of, options_of, shell, whole_number
from planner.launch.drafting import draft_checkpoint, draft_notes, draft_of, has_files, left_out
from planner.launch.pasted import arguments, ignored
from planner.launch.several import several_options
from planner.launch.spelling import Spelling, checkpoint_notes, loaded, of_checkpoint
from planner.launch.variables import stated, variables
from planner.settings.data import EngineSettings
from planner.shares import attends_apart

COMMAND = ["python", "-m", "sglang.launch_server"]
SPELLING = Spelling(
    caches={"bf16": "bfloat16", "fp8": "fp8_e4m3"},
    dtypes={"fp16": "float16", "fp32": "float32"},
    weights={"fp8": "fp8"},
    read={"fp8_e5m2": "fp8", "bf16": "bf16"},
)
BY_DTYPE = replace(SPELLING, caches={"fp8": "fp8_e4m3"}, dtypes={**SPELLING.dtypes, "bf16": "bfloat16"})
"""Of releases whose cache in 16 bits follows from the whole model's format."""
VALUES = (
    *("mem_fraction_static", "max_total_tokens", "max_running_requests", "chunked_prefill_size", "max_prefill_tokens"),
    *("cuda_graph_max_bs", "page_size", "swa_full_tokens_ratio", "mamba_full_memory_ratio", "max_mamba_cache_size"),
    *("mamba_ssm_dtype", "attention_backend", "speculative_num_draft_tokens"),
)
LARGE = ("max_total_tokens", "max_prefill_tokens")
"""Settings that may be written as --context-length may: 32k."""
SWITCHES = ("disable_radix_cache", "disable_hybrid_swa_memory", "disable_cuda_graph", "disable_piecewise_cuda_graph")
SPLITS = {"--tp-size": "tp", "--pp-size": "pp", "--dp-size": "dp", "--ep-size": "ep"}
LONG = {
    "--tp": "--tp-size",
    "--tensor-parallel-size": "--tp-size",
    "--pipeline-parallel-size": "--pp-size",
    "--dp": "--dp-size",
    "--data-parallel-size": "--dp-size",
    "--ep": "--ep-size",
    "--expert-parallel-size": "--ep-size",
}
"""Other spellings of the splits."""
MOST_GRAPHS, PREFILL_GRAPHS = "--cuda-graph-max-bs-decode", "--cuda-graph-backend-prefill"
"""Names of later releases for the settings cuda_graph_max_bs and disable_piecewise_cuda_graph."""


DRAFT_PATH, STEPS, TREE, DRAFTED = (
    *("--speculative-draft-model-path", "--speculative-num-steps", "--speculative-eagle-topk"),
    "--speculative-num-draft-tokens",
)


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets; what the plan leaves to SGLang is left to it here too."""
    program = [*variables(chosen.deployment), *COMMAND]
    words = [*program, "--model-path", loaded(choices, chosen, SPELLING.made), *_options(choices, chosen)]
    return Launch(text=shell(words, len(program)), language="sh", notes=tuple(_notes(choices, chosen)))


def _notes(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from checkpoint_notes(choices, chosen, "SGLang", SPELLING.made)
    yield from SPELLING.notes(choices, deployment, "SGLang")
    draft = deployment.draft
    is_said = draft is None or has_files(draft)
    yield from draft_notes(choices, deployment, {}) if is_said else left_out(deployment, "SGLang")


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from ("--context-length", str(chosen.workload.context_tokens))
    sizes = tp_size(deployment), deployment.pipeline_parallel, deployment.data_parallel, deployment.expert_parallel
    for option, size in zip(SPLITS, sizes, strict=True):
        if size > 1:
            yield from (option, str(size))
    if attends_apart(deployment):
        yield "--enable-dp-attention"
    spelling = SPELLING if deployment.settings.rule("names_16_bit_caches") else BY_DTYPE
    yield from spelling.options(choices, chosen)
    yield from _drafts(choices, deployment)
    yield from _settings(deployment.settings)
    yield from several_options(deployment)


def _settings(settings: EngineSettings) -> Iterator[str]:
    """The options of the plan's settings, by the names that its version has for them."""
    spelt: Mapping[str, str] = settings.rule("spelt")
    for name in VALUES:
        if name in settings.given:
            yield from (spelt.get(name, option_of(name)), str(settings.values[name]))
    for name in SWITCHES:
        if settings.flag(name):
            yield from spelt.get(name, option_of(name)).split()


def _drafts(choices: Choices, deployment: Deployment) -> Iterator[str]:
    """What drafts: SGLang's own settings say it, or the plan's draft, in a chain of so many steps."""
    settings, draft = deployment.settings, deployment.draft
    algorithm = settings.text("speculative_algorithm")
    if algorithm:
        yield from ("--speculative-algorithm", algorithm.upper())
        if algorithm in ("nextn", "eagle"):
            steps = (settings.integer("speculative_num_draft_tokens") or 1) - 1
            yield from (STEPS, str(max(1, steps)), TREE, "1")
    elif draft is not None and has_files(draft):
        yield from _draft(choices, draft)


def _draft(choices: Choices, draft: Draft) -> Iterator[str]:
    yield from ("--speculative-algorithm", "EAGLE" if draft.name == EAGLE else "STANDALONE")
    yield from (DRAFT_PATH, draft_checkpoint(choices, draft), STEPS, str(draft.draft_tokens), TREE, "1")
    # The token that the model gives itself is one of those of a step.
    yield from (DRAFTED, str(draft.draft_tokens + 1))


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = arguments("sglang", text, (COMMAND, ("sglang", "serve")))
    if words is None:
        raise NotItsCommand("This is not a command that begins with python -m sglang.launch_server.")
    flags = SPELLING.flags | {"--model-path": "model", "--model": "model", "--context-length": "context"}
    flags |= {"--speculative-algorithm": "algorithm", DRAFT_PATH: "draft"}
    flags |= SPLITS | {long: SPLITS[option] for long, option in LONG.items()}
    flags |= {option_of(name): f"set.{name}" for name in VALUES}
    flags |= {MOST_GRAPHS: "set.cuda_graph_max_bs", PREFILL_GRAPHS: "prefill"}
    flags |= dict.fromkeys((STEPS, TREE), "ignored")
    switches = {option_of(name): f"set.{name}=true" for name in SWITCHES}
    switches |= {"--enable-dp-attention": "attention=1"}
    beside, beside_switches = ignored("sglang")
    flags, switches = flags | beside, switches | beside_switches
    found, sizes = replace(like, engine="sglang", set=stated("sglang", text)), dict.fromkeys(SPLITS.values(), 1)
    shares, draft, stored, loads = False, "", dict[str, str](), ""
    for name, value in options_of(words, flags, switches):
        if name == "draft":
            draft = value
        elif name.startswith("set."):
            setting = name.removeprefix("set.")
            found = replace(found, set=(*found.set, f"{setting}={in_full(value) if setting in LARGE else value}"))
        elif name == "algorithm":
            found = replace(found, set=(*found.set, f"speculative_algorithm={value}"))
        elif name in sizes:
            sizes[name] = whole_number(value, name)
        elif name == "attention":
            shares = True
        elif name == "prefill":
            found = replace(found, set=(*found.set, f"disable_piecewise_cuda_graph={str(value == 'disabled').lower()}"))
        elif name == "ignored":
            pass
        elif name in SPELLING.flags:
            stored[name] = value
        elif name == "model":
            loads, found = value, replace(found, **of_checkpoint(value))  # type: ignore[arg-type]
        elif name == "context":
            found = replace(found, context=whole_number(in_full(value), name))
        else:
            raise PlannerError(f"sglang.launch_server has no use for the word {value[:40]!r}.")
    found = replace(found, **SPELLING.said(stored, loads))  # type: ignore[arg-type]
    return _split(_with_draft(found, draft) if draft else found, sizes, shares)


def _with_draft(found: Choices, checkpoint: str) -> Choices:
    """The plan's own draft in place of the settings that say how it is run."""
    said = dict(text.split("=", 1) for text in found.set)
    tokens = whole_number(said.pop("speculative_num_draft_tokens", ""), DRAFTED) - 1
    said.pop("speculative_algorithm", None)
    kept = tuple(f"{name}={value}" for name, value in said.items())
    return replace(found, set=kept, **draft_of(checkpoint, tokens))  # type: ignore[arg-type]


def _split(found: Choices, sizes: dict[str, int], shares: bool) -> Choices:
    """Sizes as a plan has them: with data-parallel attention ``tp_size`` counts all devices, replicas among them."""
    tensor, replicas, experts = sizes["tp"], sizes["dp"], sizes["ep"]
    if shares and replicas > 1:
        if tensor % replicas:
            raise PlannerError(f"--tp-size {tensor} is not a multiple of --dp-size {replicas}.")
        found, tensor = replace(found, set=(*found.set, "enable_dp_attention=true")), tensor // replicas
    return replace(
        found,
        tensor_parallel=tensor if tensor > 1 else found.tensor_parallel,
        pipeline_parallel=sizes["pp"] if sizes["pp"] > 1 else found.pipeline_parallel,
        data_parallel=replicas if replicas > 1 else found.data_parallel,
        expert_parallel=experts if experts > 1 else found.expert_parallel,
    )
