"""
A photograph in segments, and colours
=====================================

The segments of a natural image are not known, and their number is a choice: here one looks. After
figure 14 of Hofmann and Puzicha, *Statistical models for co-occurrence data* (1998), and figure 2
of Hofmann, Puzicha and Jordan, *Learning from dyadic data* (1999), who have aerial images;
scikit-image comes with none, but with photographs.
"""

# %%
# In grey: textures, and the level of grey. Four segments, at half the size. One is the sky, one the
# lawn, and one the coat, which has the tower and the far end of the lawn with it. The fourth has
# the rest, fine things in front of others: the head, the camera, the buildings, and the outlines,
# along which filters see two things at once.
import matplotlib.pyplot as plt
from skimage import data

from skcooc.image import TextureSegmenter
from skcooc.plotting import SegmentationDisplay

camera = data.camera()[::2, ::2]
segmenter = TextureSegmenter(4, random_state=0).fit(camera)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
left.imshow(camera, cmap="gray")
left.set_axis_off()
SegmentationDisplay.from_estimator(segmenter, camera, ax=right)
plt.show()

# %%
# In colours, an image of shape (H, W, 3) brings two levels more, green less red and blue less
# yellow. In the middle is what is found in grey: a sleeve of the suit goes with the curtain, and
# the rest with the face. In colours the suit is a segment of its own, and so are the stripes of the
# flag.
astronaut = data.astronaut()[::2, ::2]
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
axes[0].imshow(astronaut)
axes[0].set_axis_off()
for ax, image, title in (
    (axes[1], astronaut.mean(axis=2), "from levels of grey"),
    (axes[2], astronaut, "from colours"),
):
    segmenter = TextureSegmenter(5, random_state=0).fit(image)
    SegmentationDisplay.from_labels(astronaut, segmenter.labels_, ax=ax)
    ax.set_title(title)
plt.show()

# %%
# What it was told by: how far the distributions of the segments are apart in each channel, as the
# mean divergence from that of the whole image, in nats.
import numpy as np

features = segmenter.features_
shares = np.bincount(segmenter.labels_.ravel()) / segmenter.labels_.size
q = segmenter.components_.reshape(5, -1, features.n_bins)  # segments x channels x bins
q = q / q.sum(axis=2, keepdims=True)
whole = np.tensordot(shares, q, axes=1)
told = np.tensordot(shares, (q * np.log(q / whole)).sum(axis=2), axes=1)
waves = told[:-3].reshape(features.n_scales, features.n_orientations).mean(axis=1)
names = [f"waves of {2**s / features.frequency:.1f} pixels" for s in range(features.n_scales)]
for name, nats in zip([*names, "level of grey", "green less red", "blue less yellow"],
                      [*waves, *told[-3:]], strict=True):  # fmt: skip
    print(f"{nats:.2f}  {name}")
