"""A Llama target and an EAGLE-3 drafter as SGLang reads them, in plain PyTorch.

Names of parameters are those of the checkpoint files. The drafter's training unrolls its own predictions over several
steps (training-time test of the EAGLE-3 paper, arXiv 2503.01840): step j at position p sees the hidden state that
step j-1 made there and the embedding of the token j+1 ahead.
"""
# ruff: noqa: TID253 - a training script needs torch

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own habit
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Dimensions of target and drafter."""

    hidden: int = 256
    """Width."""
    layers: int = 8
    """Target layers."""
    intermediate: int = 704
    """Width of the MLP."""
    vocab: int = 4096
    """Tokens."""
    draft_vocab: int = 2048
    """Tokens that the drafter can propose."""
    heads: int = 4
    """Attention heads."""
    length: int = 256
    """Tokens of a training sample."""
    aux_layers: tuple[int, ...] = (1, 3, 6)
    """Target layers whose output the drafter sees."""


class RMSNorm(nn.Module):
    """Root-mean-square norm in single precision."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalised and scaled."""
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return normed.to(x.dtype) * self.weight.to(x.dtype)


def linear(width_in: int, width_out: int) -> nn.Linear:
    """Return a linear map without bias, initialised as Llama's."""
    layer = nn.Linear(width_in, width_out, bias=False)
    nn.init.normal_(layer.weight, std=0.02)
    return layer


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Apply rotary position embedding (base 10,000, halves paired)."""
    half = torch.arange(0, x.shape[-1], 2, device=x.device).float()
    angles = positions[:, None].float() / (10_000.0 ** (half / x.shape[-1]))
    cos, sin = (torch.cat([part, part], -1).to(x.dtype) for part in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class MLP(nn.Module):
    """Gated MLP."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gate_proj = linear(size.hidden, size.intermediate)
        self.up_proj = linear(size.hidden, size.intermediate)
        self.down_proj = linear(size.intermediate, size.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return the MLP's output."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Attention(nn.Module):
    """Projections of causal self-attention."""

    def __init__(self, size: Size, width_in: int) -> None:
        super().__init__()
        self.heads = size.heads
        self.q_proj = linear(width_in, size.hidden)
        self.k_proj = linear(width_in, size.hidden)
        self.v_proj = linear(width_in, size.hidden)
        self.o_proj = linear(size.hidden, size.hidden)

    def project(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, (batch, heads, length, width)."""
        batch, length, _ = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, self.heads, -1).transpose(1, 2)

        return rotate(split(self.q_proj(x)), positions), rotate(split(self.k_proj(x)), positions), split(self.v_proj(x))


class Layer(nn.Module):
    """One layer of the target."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.self_attn = Attention(size, size.hidden)
        self.mlp = MLP(size)
        self.input_layernorm = RMSNorm(size.hidden)
        self.post_attention_layernorm = RMSNorm(size.hidden)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the layer's output."""
        q, k, v = self.self_attn.project(self.input_layernorm(x), positions)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.self_attn.o_proj(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.post_attention_layernorm(x))


class Target(nn.Module):
    """The Llama model that is served."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.aux_layers = size.aux_layers
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(size.vocab, size.hidden)
        nn.init.normal_(self.model.embed_tokens.weight, std=0.02)
        self.model.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.model.norm = RMSNorm(size.hidden)
        self.lm_head = linear(size.hidden, size.vocab)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits, and the outputs of the auxiliary layers side by side."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.model.embed_tokens(tokens)
        kept = []
        for index, layer in enumerate(self.model.layers):
            hidden = layer(hidden, positions)
            if index in self.aux_layers:
                kept.append(hidden)
        return self.lm_head(self.model.norm(hidden)), torch.cat(kept, -1)


class DraftLayer(nn.Module):
    """The drafter's one layer: attention sees embedding and hidden state side by side."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.self_attn = Attention(size, 2 * size.hidden)
        self.mlp = MLP(size)
        self.hidden_norm = RMSNorm(size.hidden)
        self.input_layernorm = RMSNorm(size.hidden)
        self.post_attention_layernorm = RMSNorm(size.hidden)


class Draft(nn.Module):
    """An EAGLE-3 drafter."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.fc = linear(len(size.aux_layers) * size.hidden, size.hidden)
        self.midlayer = DraftLayer(size)
        self.norm = RMSNorm(size.hidden)
        self.lm_head = linear(size.hidden, size.draft_vocab)

    def step(
        self, embedding: Tensor, hidden: Tensor, cache: list[tuple[Tensor, Tensor]], positions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the next hidden states and the logits; `cache` grows by this step's keys and values.

        A position attends to all earlier ones of step 0, and of the later steps to its own alone: as when served.
        """
        layer = self.midlayer
        joined = torch.cat([layer.input_layernorm(embedding), layer.hidden_norm(hidden)], -1)
        q, k, v = layer.self_attn.project(joined, positions)
        cache.append((k, v))
        attended = _attend(q, cache)
        out = hidden + layer.self_attn.o_proj(attended.transpose(1, 2).reshape(hidden.shape))
        out = out + layer.mlp(layer.post_attention_layernorm(out))
        return out, self.lm_head(self.norm(out))


def _attend(q: Tensor, cache: list[tuple[Tensor, Tensor]]) -> Tensor:
    scale, length = 1 / math.sqrt(q.shape[-1]), q.shape[2]
    keys, values = cache[0]
    past = torch.ones(length, length, device=q.device, dtype=torch.bool).tril()
    scores = [((q @ keys.transpose(-1, -2)) * scale).masked_fill(~past, -1e4)]
    scores += [(q * later).sum(-1, keepdim=True) * scale for later, _ in cache[1:]]
    weights = torch.cat(scores, -1).float().softmax(-1).to(q.dtype)
    out = weights[..., :length] @ values
    for index, (_, later) in enumerate(cache[1:]):
        out = out + weights[..., length + index : length + index + 1] * later
    return out


def draft_loss(
    draft: Draft, tokens: Tensor, aux: Tensor, labels: Tensor, embedding: Tensor, steps: int
) -> tuple[Tensor, list[Tensor]]:
    """Return the summed loss over draft steps (weights 1, 0.8, ...) and the hits per step, (batch, positions).

    Args:
        draft: The drafter.
        tokens: Token ids, (batch, length).
        aux: Auxiliary hidden states of the target, (batch, length, 3 x width).
        labels: What the target says after each position, as draft token; -100 outside the draft vocabulary.
        embedding: The target's embedding.
        steps: Draft steps to unroll.
    """
    length = tokens.shape[1]
    hidden = draft.fc(aux)
    positions = torch.arange(length, device=tokens.device)
    cache: list[tuple[Tensor, Tensor]] = []
    total = hidden.new_zeros((), dtype=torch.float32)
    hits = []
    for step in range(steps):
        hidden, logits = draft.step(F.embedding(_ahead(tokens, step + 1), embedding), hidden, cache, positions + step)
        wanted = _ahead(labels, step + 1)
        # The last positions look beyond the sample.
        wanted = torch.where(positions[None] < length - 2 - step, wanted, -100)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=-100)
        total = total + 0.8**step * loss
        hits.append((logits.argmax(-1) == wanted)[:, : length - 2 - step])
    return total, hits


def _ahead(x: Tensor, count: int) -> Tensor:
    return torch.cat([x[:, count:], x[:, :1].expand(-1, count)], 1)
