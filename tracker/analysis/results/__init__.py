"""What the analysis says: the contract between `analysis`, `options` and `report`.

All intervals are 80 % unless a field says otherwise. Unknown is None, with a reason beside it.
"""

from tracker.analysis.results.campaign import CampaignAnalysis
from tracker.analysis.results.decision import (
    DecisionSet,
    HorizonChoice,
    NextExperiment,
    OptionAssessment,
    PriorSensitivity,
)
from tracker.analysis.results.evidence import (
    BreakEven,
    CheckedClaim,
    Configuration,
    ConfigurationCost,
    LoadVerdict,
    Note,
    Point,
    RootCause,
    SharedFinding,
    Verdict,
    Window,
)
from tracker.analysis.results.fits import (
    AcceptanceProfile,
    CategoryAcceptance,
    ForecastPoint,
    PositionAcceptance,
    SamplesNeeded,
    ScalingFit,
    ScalingPoint,
    StepTimeFit,
    VocabularyCeiling,
)

__all__ = [
    "AcceptanceProfile",
    "BreakEven",
    "CampaignAnalysis",
    "CategoryAcceptance",
    "CheckedClaim",
    "Configuration",
    "ConfigurationCost",
    "DecisionSet",
    "ForecastPoint",
    "HorizonChoice",
    "LoadVerdict",
    "NextExperiment",
    "Note",
    "OptionAssessment",
    "Point",
    "PositionAcceptance",
    "PriorSensitivity",
    "RootCause",
    "SamplesNeeded",
    "ScalingFit",
    "ScalingPoint",
    "SharedFinding",
    "StepTimeFit",
    "Verdict",
    "VocabularyCeiling",
    "Window",
]
