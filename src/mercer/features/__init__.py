"""Feature maps: phi of rows, with phi(x)'phi(z) equal to a kernel or close to it."""

from mercer.features.explicit import ExplicitMap
from mercer.features.fourier import FourierMap, fourier_map
from mercer.features.landmarks import LandmarkMap, factored_landmark_map, landmark_map
from mercer.features.map import FeatureMap

__all__ = [
    "ExplicitMap",
    "FeatureMap",
    "FourierMap",
    "LandmarkMap",
    "factored_landmark_map",
    "fourier_map",
    "landmark_map",
]
