"""What a speed-up is worth: GPU-hours over a horizon, pay-back, and the value of information."""

from __future__ import annotations

import numpy as np

from tracker.analysis.uncertainty import FloatArray

_SIMULATIONS = 256


def saved_fraction(speedup: FloatArray, *, forced: bool = False) -> FloatArray:
    """Return the share of the baseline's GPU-hours that serving at `speedup` saves.

    The baseline stays available, so a slower outcome saves 0; `forced` serves it all the same and saves less than 0.
    """
    served = speedup if forced else np.maximum(speedup, 1.0)
    return np.asarray(1 - 1 / served, dtype=np.float64)


def net_gpu_hours(saved: FloatArray, *, horizon_gpu_hours: float, cost_gpu_hours: float) -> FloatArray:
    """Return GPU-hours saved over the horizon, less the cost."""
    return horizon_gpu_hours * saved - cost_gpu_hours


def pay_back_gpu_hours(cost_gpu_hours: float, speedup: float) -> float | None:
    """Return the baseline GPU-hours that must be served until the cost is earned back; None when it never is."""
    if cost_gpu_hours == 0:
        return 0.0 if speedup >= 1 else None
    return cost_gpu_hours / (1 - 1 / speedup) if speedup > 1 else None


def minimal_speedup(cost_gpu_hours: float, horizon_gpu_hours: float) -> float | None:
    """Return the least speed-up that earns the cost over the horizon; None when the cost exceeds the horizon."""
    share = cost_gpu_hours / horizon_gpu_hours
    return None if share >= 1 else 1 / (1 - share)


def seconds_saved(*, tokens: float, base_tok_s: float, speedup: float) -> float:
    """Return seconds saved per answer of `tokens` tokens."""
    return tokens / base_tok_s * (1 - 1 / speedup)


def expected_regret(utilities: FloatArray) -> FloatArray:
    """Return, per option, the mean loss against the best option of each draw; `utilities` is (n_options, n_draws)."""
    return np.asarray((utilities.max(axis=0) - utilities).mean(axis=1), dtype=np.float64)


def evpi(utilities: FloatArray) -> float:
    """Return the expected value of perfect information; `utilities` is (n_options, n_draws)."""
    return float(utilities.max(axis=0).mean() - utilities.mean(axis=1).max())


def evsi(utilities: FloatArray, signals: FloatArray, noise: FloatArray, *, seed: int) -> float:
    """Return the expected value of an experiment before its price.

    Simulates outcomes, weighs the draws by each, and takes what the best option gains over the one chosen without the
    experiment. The prior best is subtracted inside the mean, which keeps the result between 0 and EVPI up to sampling
    error; the rest is cut off.

    Args:
        utilities: Net value, shape (n_options, n_draws).
        signals: What the experiment measures, shape (n_signals, n_draws).
        noise: Standard deviation of each measurement, shape (n_signals,), above 0.
        seed: Seed of the simulated outcomes.
    """
    rng = np.random.default_rng(seed)
    count = utilities.shape[1]
    chosen = (np.arange(_SIMULATIONS) + 0.5) * count / _SIMULATIONS
    order = np.argsort(signals[0])[chosen.astype(np.intp)]
    outcomes = signals[:, order] + noise[:, None] * rng.standard_normal((len(signals), _SIMULATIONS))
    distance = np.zeros((_SIMULATIONS, count))
    for outcome, signal, sd in zip(outcomes, signals, noise, strict=True):
        distance += ((outcome[:, None] - signal[None, :]) / sd) ** 2
    weights = np.exp(-0.5 * (distance - distance.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    means = weights @ utilities.T
    prior_best = int(utilities.mean(axis=1).argmax())
    gain = float((means.max(axis=1) - means[:, prior_best]).mean())
    return min(max(gain, 0.0), max(evpi(utilities), 0.0))


def days(gpu_hours: float, gpus: int) -> float:
    """Return calendar days that `gpus` GPUs need for `gpu_hours`."""
    return gpu_hours / (24 * gpus)
