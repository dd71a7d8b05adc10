"""Train a tiny Llama target and EAGLE-3 drafters on growing data, in the layout that SGLang loads.

    python3 train.py OUT [--budget-s 330] [--smoke]

Every drafter sees its data for the same number of epochs; two sizes are also trained with twice the epochs, so that the
effect of data and of optimizer steps can be told apart. Hidden states of the target are extracted once for all.
What is finished stays finished: a second call goes on where the first one stopped.

OUT/target, OUT/eagle3-<samples>[-x2]   checkpoints, each drafter with a training.json that `tracker sweep` reads
OUT/prompts.jsonl                       held-out prompts with their categories
OUT/train_log.json                      what was trained on what, at what cost
"""
# ruff: noqa: TID253 - a training script needs torch

from __future__ import annotations

import argparse
import json
import logging
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own habit
from corpus import collect, train_tokenizer, write_prompts
from model import Draft, Size, Target, draft_loss
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

log = logging.getLogger("train")
# The first tells how fast this machine is. Then the ends: should time run out, the middle of the curve is missing.
SIZES = (10_000, 100_000, 1_000, 50_000, 2_000, 20_000, 5_000)
DOUBLED = (2_000, 10_000)
VALIDATION_SAMPLES = 512
TRAIN_STEPS, SERVED_STEPS = 3, 5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is trained."""

    size: Size = field(default_factory=Size)
    """Dimensions."""
    sizes: tuple[int, ...] = SIZES
    """Samples of the drafters."""
    doubled: tuple[int, ...] = DOUBLED
    """Of these, the ones trained with twice the epochs as well."""
    epochs: int = 5
    """Passes over a drafter's data."""
    batch: int = 64
    """Samples per optimizer step of a drafter."""
    learning_rate: float = 1e-3
    """Peak learning rate of target and drafters."""
    target_steps: int = 4_000
    """Optimizer steps of the target, at most."""
    target_batch: int = 128
    """Samples per optimizer step of the target."""
    target_s: float = 75.0
    """Seconds for the target, at most."""
    max_files: int = 12_000
    """Training files, at most."""
    compile: bool = True
    """Whether PyTorch compiles the steps."""


SMOKE = Plan(
    size=Size(hidden=32, layers=8, intermediate=64, vocab=512, draft_vocab=256, heads=2, length=32),
    sizes=(64, 32), doubled=(32,), epochs=2, batch=16, target_steps=20, target_batch=8, target_s=20, max_files=40,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Tokenized samples on the device."""

    train: Tensor
    """(samples, length)."""
    validation: Tensor
    """(VALIDATION_SAMPLES, length)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the target says about samples, extracted once."""

    aux: Tensor
    """Auxiliary hidden states, (samples, length, 3 x width), bfloat16."""
    labels: Tensor
    """The target's most likely next token as draft token, -100 outside the draft vocabulary; int16."""
    seconds: float
    """Seconds the extraction took."""


def main() -> None:
    """Train whatever is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--budget-s", type=float, default=1e9, help="begin no drafter that would end after this time")
    parser.add_argument("--smoke", action="store_true", help="tiny dimensions, for a test on a CPU")
    parser.add_argument("--eager", action="store_true", help="do not compile")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)7.0f ms  %(message)s")
    begun_s = time.monotonic()
    torch.set_float32_matmul_precision("high")
    plan = SMOKE if options.smoke else Plan()
    if options.eager:
        plan = replace(plan, compile=False)
    data = load_data(options.out, plan)
    target, told = get_target(options.out / "target", plan, data)
    top = data.train.flatten().bincount(minlength=plan.size.vocab).topk(plan.size.draft_vocab).indices.sort().values
    told["draft_vocab_coverage"] = coverage(data.train, top, plan.size)
    log.info("draft vocabulary covers %.4f of the training tokens", told["draft_vocab_coverage"])
    train_drafters(options.out, plan, data, target, top, told, deadline_s=begun_s + options.budget_s)


def load_data(out: Path, plan: Plan) -> Data:
    """Return the samples; tokenizer and prompts are written on the way."""
    folder = out / "target"
    folder.mkdir(parents=True, exist_ok=True)
    corpus = collect(max_files=plan.max_files)
    log.info("%d files, %.1f MB, %d prompts", len(corpus.texts), sum(map(len, corpus.texts)) / 1e6, len(corpus.prompts))
    if (folder / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    else:
        tokenizer = train_tokenizer(corpus.texts, vocab_size=plan.size.vocab)
        tokenizer.save(str(folder / "tokenizer.json"))
        write_json(folder / "tokenizer_config.json", {
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
            "chat_template": "{% for m in messages %}{{ m['content'] }}\n{% endfor %}",
        })  # fmt: skip
    write_prompts(out / "prompts.jsonl", corpus)
    needed = (max(plan.sizes) + VALIDATION_SAMPLES) * plan.size.length
    ids = array("H")
    for first in range(0, len(corpus.texts), 500):
        for encoding in tokenizer.encode_batch(corpus.texts[first : first + 500]):
            ids.extend(encoding.ids)
            ids.append(1)
        if len(ids) > 1.3 * needed:
            break
    count = len(ids) // plan.size.length
    samples = torch.from_numpy(np.asarray(ids[: count * plan.size.length], dtype=np.int64)).view(count, -1)
    samples = samples[torch.randperm(count, generator=torch.Generator().manual_seed(1))].to(DEVICE)
    log.info("%d samples of %d tokens", count, plan.size.length)
    if count < max(plan.sizes) + VALIDATION_SAMPLES:
        log.warning("fewer samples than wanted: the largest drafters get %d", count - VALIDATION_SAMPLES)
    held = min(VALIDATION_SAMPLES, count // 4)
    return Data(train=samples[held:], validation=samples[:held])


def get_target(folder: Path, plan: Plan, data: Data) -> tuple[Target, dict[str, Any]]:
    """Return the trained target in bfloat16 and what its log says."""
    torch.manual_seed(0)
    target = Target(plan.size).to(DEVICE)
    weights, told_file = folder / "model.safetensors", folder / "target_log.json"
    if weights.exists():
        target.load_state_dict(load_file(weights, device=DEVICE))
        told = json.loads(told_file.read_text())
    else:
        told = train_target(target, plan, data.train)
        told["validation_loss"] = validate_target(target, data.validation)
        write_json(folder / "config.json", target_config(plan.size))
        save(target.state_dict(), weights)
        write_json(told_file, told)
    log.info("target: %s", told)
    target = target.to(torch.bfloat16).eval()
    target.requires_grad_(False)
    return target, {"target": told}


def train_target(target: Target, plan: Plan, samples: Tensor) -> dict[str, Any]:
    """Train the target and return its log."""
    step_model = torch.compile(target) if plan.compile else target
    optimizer = adamw(target, plan.learning_rate, weight_decay=0.1)
    target_loss(step_model, samples[: plan.target_batch]).backward()  # compiled now, so that it costs no training time
    begun_s, step = time.monotonic(), 0
    while (done := max(step / plan.target_steps, (time.monotonic() - begun_s) / plan.target_s)) < 1:
        set_rate(optimizer, plan.learning_rate * min(1, (step + 1) / 200) * (1 - 0.9 * done))
        batch = samples[torch.randint(len(samples), (plan.target_batch,), device=DEVICE)]
        loss = target_loss(step_model, batch)
        optimise(optimizer, loss, target, max_norm=1.0)
        step += 1
        if step % 500 == 0:
            log.info("target step %d, loss %.3f", step, loss.item())
    return {"optimizer_steps": step, "batch_size": plan.target_batch, "seconds": round(time.monotonic() - begun_s, 1)}


def target_loss(model: Callable[[Tensor], tuple[Tensor, Tensor]], batch: Tensor) -> Tensor:
    """Return the mean loss per token."""
    with torch.autocast(DEVICE, torch.bfloat16):
        logits, _ = model(batch[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())


@torch.no_grad()
def validate_target(target: Target, samples: Tensor) -> float:
    """Return the mean loss per token on held-out samples."""
    losses = []
    for batch in samples.split(64):
        losses.append(target_loss(target, batch).item())
    return round(sum(losses) / len(losses), 4)


def coverage(samples: Tensor, top: Tensor, size: Size) -> float:
    """Return the share of the training tokens that the draft vocabulary holds."""
    counts = samples.flatten().bincount(minlength=size.vocab).float()
    return round((counts[top].sum() / counts.sum()).item(), 4)


@torch.no_grad()
def extract(target: Target, samples: Tensor, top: Tensor, size: Size) -> Features:
    """Return what the target says about the samples."""
    begun_s = time.monotonic()
    to_draft = torch.full((size.vocab,), -100, dtype=torch.int16, device=DEVICE)
    to_draft[top] = torch.arange(size.draft_vocab, dtype=torch.int16, device=DEVICE)
    width = len(size.aux_layers) * size.hidden
    aux = torch.empty(len(samples), size.length, width, dtype=torch.bfloat16, device=DEVICE)
    labels = torch.empty(len(samples), size.length, dtype=torch.int16, device=DEVICE)
    for first in range(0, len(samples), 256):
        part = samples[first : first + 256]
        logits, aux[first : first + len(part)] = target(part)
        labels[first : first + len(part)] = to_draft[logits.argmax(-1)]
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    seconds = time.monotonic() - begun_s
    log.info("extracted %d samples in %.1f s", len(samples), seconds)
    return Features(aux=aux, labels=labels, seconds=seconds)


def train_drafters(
    out: Path, plan: Plan, data: Data, target: Target, top: Tensor, told: dict[str, Any], *, deadline_s: float
) -> None:
    """Train the drafters that are not there yet, as far as time allows."""
    jobs = [(size, 1) for size in plan.sizes] + [(size, 2) for size in plan.doubled]
    trainer = DraftTrainer(plan, data, target, top)
    per_step_s = 0.0
    for wanted, factor in jobs:
        folder = out / (f"eagle3-{wanted}" + ("" if factor == 1 else f"-x{factor}"))
        samples = min(wanted, len(data.train))
        if not (folder / "training.json").exists():
            if time.monotonic() + per_step_s * plan.epochs * factor * samples / plan.batch > deadline_s:
                log.info("%s: left out, no time", folder.name)
                continue
            per_step_s = trainer.train(folder, samples, plan.epochs * factor, told)
        write_log(out, plan.size, told)


class DraftTrainer:
    """Trains drafters one after the other with one compiled step."""

    def __init__(self, plan: Plan, data: Data, target: Target, top: Tensor) -> None:
        self.plan, self.data, self.top = plan, data, top
        self.embedding = target.model.embed_tokens.weight
        self.pool = data.train[: max(plan.sizes)]
        self.features = extract(target, self.pool, top, plan.size)
        self.validation = extract(target, data.validation, top, plan.size)
        torch.manual_seed(0)
        self.draft = Draft(plan.size).to(DEVICE)
        self.initial = {name: value.clone() for name, value in self.draft.state_dict().items()}
        self.loss = torch.compile(draft_loss) if plan.compile else draft_loss
        begun_s = time.monotonic()
        self.batch_loss(torch.arange(plan.batch, device=DEVICE)).backward()
        log.info("first step of a drafter took %.1f s", time.monotonic() - begun_s)

    def batch_loss(self, index: Tensor) -> Tensor:
        """Return the training loss over these samples."""
        with torch.autocast(DEVICE, torch.bfloat16):
            loss, _ = self.loss(
                self.draft, self.pool[index], self.features.aux[index], self.features.labels[index].long(),
                self.embedding, TRAIN_STEPS,
            )  # fmt: skip
        return loss

    def train(self, folder: Path, samples: int, epochs: int, told: dict[str, Any]) -> float:
        """Train one drafter from the common start, write it, and return seconds per step."""
        self.draft.load_state_dict(self.initial)
        optimizer = adamw(self.draft, self.plan.learning_rate, weight_decay=0.01)
        steps = samples * epochs // self.plan.batch
        begun_s = time.monotonic()
        for step, index in enumerate(batches(samples, epochs, self.plan.batch)):
            warm = min(1.0, (step + 1) / max(1, steps // 20))
            set_rate(optimizer, self.plan.learning_rate * warm * (1 - 0.95 * step / steps))
            optimise(optimizer, self.batch_loss(index), self.draft, max_norm=0.5)
        accuracy, validation_loss = self.validate()
        seconds = time.monotonic() - begun_s
        facts = self.facts(samples, epochs, steps, seconds, accuracy, validation_loss, told["draft_vocab_coverage"])
        self.write(folder, facts)
        log.info("%s: %d steps, %.1f s, accuracy %s", folder.name, steps, seconds, accuracy)
        return seconds / max(1, steps)

    @torch.no_grad()
    def validate(self) -> tuple[list[float], float]:
        """Return teacher-forced accuracy per draft position and the loss, on held-out samples."""
        hits = torch.zeros(SERVED_STEPS)
        losses = []
        parts = zip(
            self.data.validation.split(64), self.validation.aux.split(64), self.validation.labels.split(64), strict=True
        )
        batches_done = 0
        for tokens, aux, labels in parts:
            with torch.autocast(DEVICE, torch.bfloat16):
                loss, right = draft_loss(self.draft, tokens, aux, labels.long(), self.embedding, SERVED_STEPS)
            hits += torch.tensor([part.float().mean().item() for part in right])
            losses.append(loss.item())
            batches_done += 1
        return [round(value, 4) for value in (hits / batches_done).tolist()], round(sum(losses) / batches_done, 4)

    def facts(
        self, samples: int, epochs: int, steps: int, seconds: float, accuracy: list[float], loss: float, covered: float
    ) -> dict[str, Any]:
        """Return training.json: the fields of tracker's `Training`."""
        extraction_s = self.features.seconds * samples / len(self.pool)
        tokens = samples * self.plan.size.length
        return {
            "samples": samples,
            "tokens": tokens,
            "unique_samples": int(self.pool[:samples].unique(dim=0).shape[0]),
            "samples_seen": steps * self.plan.batch,
            "optimizer_steps": steps,
            "batch_size": self.plan.batch,
            "epochs": epochs,
            "mix": "python-source",
            "data_name": "Python source of the machine's packages",
            "hyperparameters": {
                "learning_rate": self.plan.learning_rate,
                "ttt_length": TRAIN_STEPS,
                "validation_loss": loss,
                "draft_vocab_coverage": covered,
                "labels": "argmax of the target on the training text",
            },
            "validation_position_accuracy": accuracy,
            "gpu": torch.cuda.get_device_name() if DEVICE == "cuda" else None,
            # Seconds of a CPU are no GPU-hours.
            "cost": {}
            if DEVICE != "cuda"
            else {
                "extraction_gpu_hours": round(extraction_s / 3600, 6),
                "training_gpu_hours": round(seconds / 3600, 6),
            },
        }

    def write(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write one drafter; training.json last, as the sign that it is whole."""
        folder.mkdir(parents=True, exist_ok=True)
        size = self.plan.size
        write_json(folder / "config.json", draft_config(size))
        state = dict(self.draft.state_dict())
        state["d2t"] = self.top - torch.arange(size.draft_vocab, device=DEVICE)
        known = torch.zeros(size.vocab, dtype=torch.bool, device=DEVICE)
        known[self.top] = True
        state["t2d"] = known
        save(state, folder / "model.safetensors")
        write_json(folder / "training.json", facts)


def batches(samples: int, epochs: int, batch: int) -> Iterator[Tensor]:
    """Yield the indices of each step's samples: every epoch all of them once, in an order of its own.

    Batches run on over the border of epochs, so that each has the same size; a rest at the very end is left out.
    """
    generator = torch.Generator(device=DEVICE).manual_seed(0)
    rest = torch.empty(0, dtype=torch.int64, device=DEVICE)
    for _ in range(epochs):
        rest = torch.cat([rest, torch.randperm(samples, generator=generator, device=DEVICE)])
        whole = len(rest) // batch * batch
        yield from rest[:whole].split(batch)
        rest = rest[whole:]


def adamw(module: nn.Module, rate: float, *, weight_decay: float) -> torch.optim.AdamW:
    """Return the optimizer."""
    return torch.optim.AdamW(
        module.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=weight_decay, fused=DEVICE == "cuda"
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimise(optimizer: torch.optim.Optimizer, loss: Tensor, module: nn.Module, *, max_norm: float) -> None:
    """Take one step."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(module.parameters(), max_norm)
    optimizer.step()


def target_config(size: Size) -> dict[str, Any]:
    """Return config.json of the target."""
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": size.hidden,
        "num_hidden_layers": size.layers, "intermediate_size": size.intermediate, "vocab_size": size.vocab,
        "num_attention_heads": size.heads, "num_key_value_heads": size.heads, "head_dim": size.hidden // size.heads,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "hidden_act": "silu", "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
    }  # fmt: skip


def draft_config(size: Size) -> dict[str, Any]:
    """Return config.json of a drafter."""
    aux = {"eagle_aux_hidden_state_layer_ids": list(size.aux_layers), "use_aux_hidden_state": True}
    return target_config(size) | {
        "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": size.draft_vocab,
        "eagle_config": aux,
    }  # fmt: skip


def save(state: dict[str, Tensor], path: Path) -> None:
    """Write tensors in bfloat16 where they are floats; whole or not at all."""
    cast = {
        name: (value.to(torch.bfloat16) if value.is_floating_point() else value).detach().contiguous().cpu()
        for name, value in state.items()
    }
    partial = path.with_suffix(".partial")
    save_file(cast, partial, metadata={"format": "pt"})
    partial.replace(path)


def write_log(out: Path, size: Size, told: dict[str, Any]) -> None:
    """Write train_log.json over all drafters that are there."""
    drafters = [
        {"name": path.parent.name, **json.loads(path.read_text())}
        for path in sorted(out.glob("eagle3-*/training.json"))
    ]
    write_json(out / "train_log.json", {**told, "size": asdict(size), "torch": torch.__version__, "drafters": drafters})


def write_json(path: Path, value: object) -> None:
    """Write JSON."""
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
