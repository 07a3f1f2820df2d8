"""Textures drawn at random: noise, smoothed along one axis or both."""

import numpy as np
from scipy.ndimage import gaussian_filter


def noise(shape, widths, seed=0):
    """Normal noise, smoothed with these standard deviations along y and x, of unit variance."""
    texture = gaussian_filter(np.random.default_rng(seed).normal(size=shape), widths, mode="wrap")
    return texture / texture.std()


def three(side=64):
    return [
        noise((side, side), widths, seed) for seed, widths in enumerate([(0, 2), (2, 0), (1, 1)])
    ]
