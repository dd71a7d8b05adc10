"""A model checkpoint described from its files, without its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CheckpointKind = Literal["eagle", "eagle3", "mtp", "dflash", "dspark", "medusa", "speculators", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Identity and facts of one target or draft model."""

    name: str
    """Short name people use: folder name or Hub id."""
    path: str | None = None
    """Path or Hub id as given; home folders masked."""
    revision: str | None = None
    """Hub revision, when known."""
    kind: CheckpointKind | None = None
    """What the files say it is; None when they do not say."""
    architecture: str | None = None
    """First entry of `architectures` in config.json."""
    config_digest: str | None = None
    """SHA-256 of config.json."""
    header_digest: str | None = None
    """SHA-256 over all tensor names, dtypes and shapes."""
    file_sizes_bytes: Mapping[str, int] = field(default_factory=dict)
    """Weight files and their sizes."""
    hidden_size: int | None = None
    """config `hidden_size`."""
    target_hidden_size: int | None = None
    """config `target_hidden_size`: the target's width where it differs."""
    num_hidden_layers: int | None = None
    """config `num_hidden_layers`."""
    vocab_size: int | None = None
    """config `vocab_size`."""
    draft_vocab_size: int | None = None
    """config `draft_vocab_size`; None means the target's."""
    max_position_embeddings: int | None = None
    """config `max_position_embeddings`."""
    fc_input_width: int | None = None
    """Columns of `fc.weight`: 2 x hidden for EAGLE-1/2, layers x target hidden for EAGLE-3."""
    aux_layer_ids: tuple[int, ...] | None = None
    """`eagle_config.eagle_aux_hidden_state_layer_ids`."""
    has_draft_vocab_map: bool | None = None
    """Whether `d2t`/`t2d` tensors are present; None when no header was read."""
    tensor_count: int | None = None
    """Number of tensors in all headers; None when no header was read."""
    key_tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Shapes of the tensors that tell kinds apart (`fc.weight`, `d2t`, `lm_head.weight`); empty without a header."""
    kind_evidence: tuple[str, ...] = ()
    """What shows the kind, strongest first, in words."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of config.json that checks look at (rope, quantization, norms, speculators layout)."""
    draft_map_problem: str | None = None
    """How `d2t` and `t2d` contradict each other, in words; None when they agree or were not read."""
    embeddings_match_target: bool | None = None
    """Whether sampled rows of `embed_tokens` equal the target's; None when not compared."""
    not_finite_tensors: tuple[str, ...] = ()
    """Tensors that hold NaN or infinity; empty also when the weights were not read."""
    zero_tensors: tuple[str, ...] = ()
    """Weight matrices that are zero throughout; empty also when the weights were not read."""
    untrained_tensors: tuple[str, ...] = ()
    """Embedding and head matrices whose rows look like a fresh initialisation; empty also when not read."""
    vocabulary_coverage_fraction: float | None = None
    """Share of the training text's tokens inside the draft vocabulary, token-weighted."""
    sources: tuple[str, ...] = ()
    """`config.json`, `safetensors header`, `campaign.toml`, ..."""

    @property
    def identity(self) -> str:
        """Return the strongest digest there is, else the name."""
        return self.header_digest or self.config_digest or self.name
