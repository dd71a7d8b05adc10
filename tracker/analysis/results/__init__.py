"""What the analysis says: the contract between `analysis`, `options` and `report`.

All intervals are 80 % unless a field says otherwise. Unknown is None, with a reason beside it.
"""

from tracker.analysis.results.campaign import CampaignAnalysis
from tracker.analysis.results.decision import (
    CostPart,
    DecisionSet,
    HorizonChoice,
    HorizonFlip,
    NextExperiment,
    OptionAssessment,
    PriorSensitivity,
)
from tracker.analysis.results.evidence import (
    BreakEven,
    ChainBar,
    CheckedClaim,
    Configuration,
    ConfigurationCost,
    LoadVerdict,
    Note,
    Point,
    PrefillCorrection,
    RootCause,
    SharedFinding,
    SpreadPart,
    Verdict,
    Window,
)
from tracker.analysis.results.fits import (
    AcceptanceProfile,
    CategoryAcceptance,
    ForecastPoint,
    HoldOut,
    PositionAcceptance,
    SamplesNeeded,
    ScalingFit,
    ScalingPoint,
    StepTimeFit,
    TargetSamples,
    VocabularyCeiling,
)
from tracker.analysis.results.history import Diagnosis, LoadNoise, StepChange

__all__ = [
    "AcceptanceProfile",
    "BreakEven",
    "CampaignAnalysis",
    "CategoryAcceptance",
    "ChainBar",
    "CheckedClaim",
    "Configuration",
    "ConfigurationCost",
    "CostPart",
    "DecisionSet",
    "Diagnosis",
    "ForecastPoint",
    "HoldOut",
    "HorizonChoice",
    "HorizonFlip",
    "LoadNoise",
    "LoadVerdict",
    "NextExperiment",
    "Note",
    "OptionAssessment",
    "Point",
    "PositionAcceptance",
    "PrefillCorrection",
    "PriorSensitivity",
    "RootCause",
    "SamplesNeeded",
    "ScalingFit",
    "ScalingPoint",
    "SharedFinding",
    "SpreadPart",
    "StepChange",
    "StepTimeFit",
    "TargetSamples",
    "Verdict",
    "VocabularyCeiling",
    "Window",
]
