"""
Textures in an image
====================

An image is a table too: its rows are sites, its columns are bins of the answers of Gabor filters,
and what is counted is how often each answer occurs around a site. Sites of one texture have the
same distribution, so that asymmetric clustering divides the image. After figures 13 and 14 of
Hofmann and Puzicha, *Statistical models for co-occurrence data* (1998), with brick, grass and
gravel of scikit-image.
"""

# %%
# A mosaic whose segments are known: one texture at the left, two at the right.
import numpy as np
from skimage import data

from skcooc.image import TextureSegmenter

textures = [image[::2, ::2] for image in (data.brick(), data.grass(), data.gravel())]
brick, grass, gravel = textures
image = np.hstack([brick[:160, :70], np.vstack([grass[:80, :90], gravel[:80, :90]])])
truth = np.ones((160, 160), dtype=int)
truth[:, :70], truth[80:, 70:] = 0, 2
print(image.shape, truth.max() + 1, "textures")

# %%
# The number of textures is told. Neighbours are tied: the prior of a site depends on the segments
# around it. The search begins with a few segments too many: three here.
from skcooc.metrics import clustering_accuracy

segmenter = TextureSegmenter(3, n_spare=3, random_state=0)
found = segmenter.fit_predict(image)
names = [np.bincount(truth[found == k]).argmax() for k in range(3)]
found = np.array(names)[found]  # segments in the colours of the textures that they are
print(f"correct pixels: {clustering_accuracy(truth.ravel(), found.ravel()):.3f}")

# %%
import matplotlib.pyplot as plt

from skcooc.plotting import SegmentationDisplay

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(image, cmap="gray")
axes[0].set(title="the image", xticks=[], yticks=[])
SegmentationDisplay.from_labels(image, truth, ax=axes[1]).ax_.set_title("known")
SegmentationDisplay.from_labels(image, found, ax=axes[2]).ax_.set_title("found")
plt.show()

# %%
# What was learnt is absolute: the segments of this image are found in another one, with other parts
# of the same textures in other places. No starts, no search; a few passes are enough.
another = np.hstack([texture[-128:, -64:] for texture in textures])
known = np.repeat([[0, 1, 2]], 64, axis=1).repeat(128, axis=0)
again = np.array(names)[segmenter.predict(another)]
print(f"correct pixels of the other image: {(again == known).mean():.3f}")

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
axes[0].imshow(another, cmap="gray")
axes[0].set(title="another image", xticks=[], yticks=[])
SegmentationDisplay.from_labels(another, known, ax=axes[1]).ax_.set_title("known")
SegmentationDisplay.from_labels(another, again, ax=axes[2]).ax_.set_title("found")
plt.show()
