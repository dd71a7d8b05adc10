"""Runs as SpecForge and speculators write them to MLflow themselves.

Names of parameters and metrics are facts of the trainers' sources, the values are made up: SpecForge 0.1
(`specforge/tracker.py`: `mlflow.log_params(vars(args))` of `scripts/train_eagle3.py`), SpecForge 0.2 (its settings
under dotted names, `specforge/training/tracking.py`), speculators 0.9 (`speculators/train/trainer.py`, metrics only).
"""

from __future__ import annotations

from collections.abc import Mapping

from tracker.domain.training import MetricPoint

SPECFORGE_0_2 = {
    "model.target_model_path": "moonshotai/Kimi-K2.5",
    "model.draft_model_config": "None",
    "model.torch_dtype": "bfloat16",
    "data.train_data_path": "/data/perfect-blend-100k.jsonl",
    "data.prompts_path": "",
    "data.hidden_states_path": "",
    "data.max_length": "4096",
    "data.max_prompts": "None",
    "data.chat_template": "kimi-k2",
    "data.build_dataset_num_proc": "8",
    "training.strategy": "eagle3",
    "training.num_epochs": "2",
    "training.max_steps": "None",
    "training.batch_size": "1",
    "training.accumulation_steps": "2",
    "training.learning_rate": "0.0001",
    "training.ttt_length": "7",
    "training.sp_ulysses_size": "1",
    "training.sp_ring_size": "1",
    "training.seed": "42",
    "tracking.report_to": "mlflow",
    "tracking.mlflow_experiment_name": "drafters",
    "deployment.mode": "disaggregated",
    "deployment.trainer.nnodes": "1",
    "deployment.trainer.nproc_per_node": "8",
    "run_id": "kimi-eagle3-100k",
    "output_dir": "/train/out/kimi-eagle3-100k",
}
SPECFORGE_0_1 = {
    "target_model_path": "moonshotai/Kimi-K2.5",
    "draft_model_config": "configs/kimi-k2.5-eagle3.json",
    "train_data_path": "/data/perfect-blend-100k.jsonl",
    "train_hidden_states_path": "None",
    "eval_data_path": "None",
    "output_dir": "/train/out/kimi-eagle3-100k",
    "num_epochs": "2",
    "batch_size": "1",
    "tp_size": "2",
    "dp_size": "4",
    "target_batch_size": "2",
    "draft_accumulation_steps": "2",
    "sp_ulysses_size": "1",
    "sp_ring_size": "1",
    "learning_rate": "0.0001",
    "max_length": "4096",
    "ttt_length": "7",
    "chat_template": "kimi-k2",
    "resume_from": "None",
    "report_to": "mlflow",
    "wandb_key": "0123456789abcdef0123456789abcdef01234567",
    "build_dataset_num_proc": "8",
}
SPECFORGE_POINTS: Mapping[str, Mapping[int, float]] = {
    "train/loss": {50: 4.0, 200: 2.5, 400: 1.75},
    "train/lr": {50: 0.0001, 200: 0.00005, 400: 0.0},
    "train/acces/0": {50: 0.4, 200: 0.7, 400: 0.76},
    "train/plosses/0": {50: 2.0, 200: 1.25, 400: 0.875},
    "train/grad_norm": {50: 1.5, 200: 0.75, 400: 0.5},
    "perf/step_time": {50: 0.25, 400: 0.25},
    "eval/avg_loss": {200: 2.75, 400: 2.0},
    "eval/avg_acc": {200: 0.7, 400: 0.75},
    "eval/per_position_acc/0": {200: 0.7, 400: 0.75},
    "eval/per_position_acc/1": {200: 0.5, 400: 0.6},
    "eval/per_position_acc/2": {200: 0.4, 400: 0.5},
    "eval/simulated_acc_len": {200: 1.19, 400: 1.425},
}
SPECULATORS_POINTS: Mapping[str, Mapping[int, float]] = {
    "train/loss": {0: 6.0, 100: 3.0, 299: 2.0},
    "train/loss_0": {0: 2.0, 100: 1.0, 299: 0.75},
    "train/full_acc_0": {0: 0.1, 100: 0.6, 299: 0.8},
    "train/cond_acc_0": {0: 0.1, 100: 0.6, 299: 0.8},
    "train/eal": {0: 1.1, 100: 2.0, 299: 2.7},
    "val/loss_epoch": {100: 3.25, 200: 2.5},
    "val/full_acc_0_epoch": {100: 0.7, 200: 0.8},
    "val/full_acc_1_epoch": {100: 0.5, 200: 0.6},
    "val/full_acc_2_epoch": {100: 0.25, 200: 0.3},
    "val/eal_epoch": {100: 2.45, 200: 2.7},
    "epoch": {0: 0.0, 100: 1.0, 299: 2.0},
    "lr": {0: 0.0001, 100: 0.00005, 299: 0.0},
    "global_step": {0: 0.0, 100: 100.0, 299: 299.0},
}


def points(series: Mapping[str, Mapping[int, float]]) -> tuple[MetricPoint, ...]:
    """Return metric histories as points."""
    return tuple(
        MetricPoint(name=name, step=step, value=value)
        for name, values in series.items()
        for step, value in values.items()
    )


def specforge_points() -> tuple[MetricPoint, ...]:
    """Return the metrics of a SpecForge run."""
    return points(SPECFORGE_POINTS)
