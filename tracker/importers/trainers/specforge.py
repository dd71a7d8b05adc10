"""SpecForge's own MLflow runs (`tracking.report_to: mlflow`, before 0.2 `--report-to mlflow`).

Parameters are all of its arguments, once, at the start (`specforge/tracker.py`, MLflowTracker): plain names of the
command line before 0.2, names of its nested settings since. Metrics come at optimizer steps (`specforge/training/
tracking.py`, 0.2): `train/*`, `eval/avg_loss`, `eval/avg_acc`, `eval/per_position_acc/<i>`, `eval/simulated_acc_len`.
`eval/simulated_acc_len` leaves the bonus token out and is a teacher-forced estimate: never a measured accept length.
How many samples were trained on is written nowhere; they are counted where the data file is on this machine.
"""

from __future__ import annotations

import dataclasses

from tracker.domain.trainer_run import TrainerRun
from tracker.importers import _specforge_samples, _training_run
from tracker.importers.base import ImportedRun
from tracker.importers.trainers import _parts

# Arguments that SpecForge has had under these names in all its versions; one of each group is always set.
_TARGET = ("target_model_path",)
_DATA = ("train_data_path", "prompts_path", "hidden_states_path", "train_hidden_states_path")
_OWN = frozenset({"ttt_length", "draft_model_config", "draft_config_path", "build_dataset_num_proc", "strategy"})


class SpecForge:
    """SpecForge's runs."""

    name = "specforge"
    title = "SpecForge with report_to mlflow: its arguments as parameters, train/* and eval/* metrics"

    def sniff(self, run: TrainerRun) -> bool:
        """Return whether the parameters are SpecForge's arguments."""
        names = {key.rsplit(".", 1)[-1] for key in run.params}
        return bool(names & {*_TARGET}) and bool(names & {*_DATA}) and bool(names & _OWN)

    def read(self, run: TrainerRun) -> ImportedRun:
        """Return the training.

        Raises:
            InputError: The run holds no metrics, or its data file is damaged.
        """
        values = _parts.settings(run.params)
        folder = _training_run.setting(values, "output_dir")
        folder = folder if isinstance(folder, str) else None
        found = _parts.events(run)
        training, findings = _training_run.training(values, found, steps=None, near=_parts.near(folder))
        seen, unknown = _specforge_samples.seen(values, training.optimizer_steps)
        called = _training_run.setting(values, "run_id")
        return ImportedRun(
            kind="training",
            name=run.name,
            measured_at=run.started_at,
            drafter=_parts.checkpoint(called if isinstance(called, str) else folder or run.name, folder),
            target=_parts.named(_training_run.setting(values, *_TARGET)),
            training=dataclasses.replace(training, samples_seen=seen, batch_size=_specforge_samples.per_step(values)),
            findings=(*findings, *unknown),
        )


TRAINER = SpecForge()
