"""The server of the page Batching: slots, blocks, chunks, a common beginning of all prompts, evicted caches."""

from dataclasses import dataclass, replace

import streamlit as st

from planner.batching.server import MAX_SLOTS, Schedule, Server, Tier
from planner.serving.shape import ServerShape, ShapeWish
from planner.units import GIB
from ui.fields import choice as fields

_MOST_TOKENS = 2**20
_SLOWEST_COPY_S = 1.0
USUAL_STEP = 2_048
"""Tokens of a step where the engine of the set-up has no limit of its own: vLLM's on most cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWish:
    """What the fields say. *copies* are where evicted caches go, as (name, GB/s, GiB or ``None`` for no limit).

    *engine_chunks*: the engine has a limit of a step's tokens; *typed_chunk*: the reader gave one. Without either
    chunks are a comparison.
    """

    slots: int
    block_tokens: int
    chunk_tokens: int
    engine_chunks: bool
    typed_chunk: bool
    prefix_tokens: int
    copies: tuple[tuple[str, float, float | None], ...]
    wait_to_fill: bool
    reserved_tokens: int | None = None

    @property
    def own(self) -> Schedule:
        """How this server refills its slots."""
        is_chunked = self.engine_chunks or self.typed_chunk
        return Schedule.CHUNKED if is_chunked and self.chunk_tokens >= self.slots else Schedule.CONTINUOUS

    @property
    def shape(self) -> ShapeWish:
        """What of it is asked of the engine."""
        return ShapeWish(
            slots=self.slots,
            step_tokens=self.chunk_tokens if self.typed_chunk and self.own is Schedule.CHUNKED else None,
            block_tokens=self.block_tokens,
            whole_prompts=self.own is Schedule.CONTINUOUS,
        )

    def servers(self, pool_blocks: int | None, bytes_per_token: float, chunks: bool) -> dict[Schedule, Server]:
        """The same server under its schedules; with *chunks* also prompts in parts, where a step has room for them."""
        whole = Server(
            schedule=Schedule.STATIC,
            slots=self.slots,
            block_tokens=self.block_tokens,
            pool_blocks=pool_blocks,
            shared_prefix_tokens=self.prefix_tokens,
            wait_to_fill=self.wait_to_fill,
            reserved_tokens=self.reserved_tokens,
        )
        refilled = replace(whole, schedule=Schedule.CONTINUOUS, wait_to_fill=False, tiers=self._tiers(bytes_per_token))
        found = {Schedule.STATIC: whole, Schedule.CONTINUOUS: refilled}
        if chunks and self.chunk_tokens >= self.slots:
            found[Schedule.CHUNKED] = replace(
                refilled, schedule=Schedule.CHUNKED, max_num_batched_tokens=self.chunk_tokens
            )
        return found

    def _tiers(self, bytes_per_token: float) -> tuple[Tier, ...]:
        block_bytes = bytes_per_token * self.block_tokens
        return tuple(
            Tier(
                name=name,
                copy_s_per_token=min(_SLOWEST_COPY_S, bytes_per_token / (gb_per_s * 1e9)),
                blocks=None if gib is None or not block_bytes else int(gib * GIB / block_bytes),
            )
            for name, gb_per_s, gib in self.copies
        )


def server_fields(usual: ServerShape, usually_waits: bool) -> ServerWish:
    """The fields; while they are empty the server is the *usual* one."""
    with st.grid(3, min_column_width=170):
        slots = fields.optional_whole(
            "slots", "Slots", usual.slots, MAX_SLOTS, help="Requests that run at once; engines say max_num_seqs."
        )
        block = fields.optional_whole(
            "block", "Tokens of a cache block", usual.block_tokens, 4_096, help="Paged engines hand out whole blocks."
        )
        chunk = fields.optional_whole(
            "chunk",
            "Tokens of a step, with chunks",
            usual.step_tokens or USUAL_STEP,
            _MOST_TOKENS,
            help="max_num_batched_tokens: prompts longer than a step has room for come in several parts.",
        )
        prefix = fields.whole(
            "prefix",
            "Tokens that all prompts begin with",
            0,
            _MOST_TOKENS,
            least=0,
            help="A common beginning, such as instructions, is kept and computed once.",
        )
        wait = fields.segments(
            "batch",
            "A whole batch starts",
            ("with who is there", "when it is full"),
            "when it is full" if usually_waits else "with who is there",
        )
        reserved = fields.figure(
            "reserved",
            "Reserved without paging",
            None,
            1.0,
            float(_MOST_TOKENS),
            step=1.0,
            format="%.0f",
            placeholder="the longest",
            help="Tokens that a server without paging keeps free for each request from its start: what the paged cache "
            "saves is said beside it.",
        )
    st.caption(
        "An evicted cache is dropped and computed again, unless there is somewhere to copy it: main memory first, then "
        "the disk. A speed switches each on; an empty size is no limit."
    )
    with st.grid(4, min_column_width=150):
        copies = [_copy_fields(key, name) for key, name in (("host", "host memory"), ("disk", "disk"))]
    return ServerWish(
        slots=slots,
        block_tokens=block,
        chunk_tokens=chunk,
        engine_chunks=usual.step_tokens is not None,
        typed_chunk=st.session_state.get("chunk") is not None,
        prefix_tokens=prefix,
        copies=tuple((name, speed, size) for name, speed, size in copies if speed),
        wait_to_fill=wait == "when it is full",
        reserved_tokens=None if reserved is None else int(reserved),
    )


def _copy_fields(key: str, name: str) -> tuple[str, float | None, float | None]:
    title = name.capitalize()
    speed = fields.figure(f"{key}_speed", f"{title}, GB/s", None, 0.1, 10_000.0, format="%g", placeholder="none")
    size = fields.figure(f"{key}_size", f"{title}, GiB", None, 0.0, 1e6, format="%g", placeholder="no limit")
    return name, speed, size
