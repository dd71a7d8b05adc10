"""What choosing the fastest of several candidates adds to the claim that it is faster than the baseline.

The fastest of several is in part the luckiest. Of candidates exactly as fast as the baseline the fastest lay above the
80 % interval of a single one, which should happen in 10 % of campaigns, in 26 % (four candidates) and 38 % (eight).
Each candidate is drawn towards the mean of those that may be as fast by what noise takes of their spread (empirical
Bayes, James and Stein): 19 and 26 % are left. A candidate that stands out loses nothing. Counting slower ones as rivals
too would leave less, 15 and 17 % at half as far again, and take more leads that are real.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.pairing import Comparison
from tracker.analysis.uncertainty import Spread, around
from tracker.domain.estimate import Estimate


def rivals_of(chosen: Comparison, compared: Sequence[Comparison]) -> list[Comparison]:
    """Return the candidates, the fastest among them, whose speed its own 80 % interval does not rule out."""
    lowest = math.log(chosen.speedup) - chosen.spread.half_width
    return [item for item in compared if math.log(item.speedup) >= lowest]


def without_luck(chosen: Comparison, rivals: Sequence[Comparison]) -> Estimate:
    """Return the speed-up of the fastest of `rivals`, `chosen` among them, less what it owes to having been chosen.

    Half of the variance of a ratio is taken as the candidate's own and half as the baseline's, which all share.
    """
    count = len(rivals)
    if count < 2:
        return around(chosen.speedup, chosen.spread)
    logs = [math.log(item.speedup) for item in rivals]
    mean = math.fsum(logs) / count
    own = chosen.spread.sd**2 / 2
    apart = max(0.0, math.fsum((value - mean) ** 2 for value in logs) / (count - 1) - own)
    kept = 1.0 if own == 0 else apart / (apart + own)
    variance = own + kept * own + (1 - kept) ** 2 * own / count
    centre = mean + kept * (math.log(chosen.speedup) - mean)
    return around(math.exp(centre), Spread(sd=math.sqrt(variance), df=chosen.spread.df))
