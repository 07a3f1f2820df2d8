"""
Segments of an image
====================

An image is a table of counts, too: rows are places in the image, columns are intervals of filter
responses, and the counts are how often each response occurs around a place. Places with the same
texture have the same distribution, so clustering the rows divides the image. After figures 13 and
14 of Hofmann and Puzicha (1998); the images are from scikit-image.
"""

# %%
# A mosaic of brick, grass and gravel, whose segments are known. The number of textures is given.
# Neighbouring places prefer the same segment.
import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from skcooc.image import TextureSegmenter
from skcooc.metrics import clustering_accuracy
from skcooc.plotting import SegmentationDisplay

brick, grass, gravel = (image[::2, ::2] for image in (data.brick(), data.grass(), data.gravel()))
mosaic = np.hstack([brick[:160, :70], np.vstack([grass[:80, :90], gravel[:80, :90]])])
truth = np.ones((160, 160), dtype=int)
truth[:, :70], truth[80:, 70:] = 0, 2

segmenter = TextureSegmenter(3, n_spare=3, random_state=0)
found = segmenter.fit_predict(mosaic)
print(f"correct pixels: {clustering_accuracy(truth.ravel(), found.ravel()):.1%}")

# %%
# A fitted segmenter also labels another image with the same textures: the second row of the
# picture, where nothing is fitted again.
texture = np.array([np.bincount(truth[found == k]).argmax() for k in range(3)])  # of each segment
another = np.hstack([image[-128:, -64:] for image in (brick, grass, gravel)])
stripes = np.repeat([[0, 1, 2]], 64, axis=1).repeat(128, axis=0)
predicted = texture[segmenter.predict(another)]
print(f"correct pixels of the other image: {(stripes == predicted).mean():.1%}")

rows = (mosaic, truth, texture[found]), (another, stripes, predicted)
figure, axes = plt.subplots(2, 3, figsize=(7.4, 4.6), layout="constrained", height_ratios=(5, 3.2))
for row, (image, *labels) in zip(axes, rows, strict=True):
    row[0].imshow(image, cmap="gray")
    row[0].set_axis_off()
    for ax, segments in zip(row[1:], labels, strict=True):
        SegmentationDisplay.from_labels(image, segments, ax=ax)
for ax, title in zip(axes[0], ("image", "true segments", "segments found"), strict=True):
    ax.set_title(title, fontsize=10)
plt.show()

# %%
# The segments of a photograph are not known, and their number is a choice. With colours, the
# orange suit becomes one segment, and so do the stripes of the flag.
astronaut = data.astronaut()[::2, ::2]
figure, axes = plt.subplots(1, 3, figsize=(7.4, 2.8), layout="constrained")
axes[0].imshow(astronaut)
axes[0].set_title("photograph", fontsize=10)
axes[0].set_axis_off()
grey = astronaut.mean(axis=2)
images = {"from grey levels": grey, "from colours": astronaut}
for ax, (title, image) in zip(axes[1:], images.items(), strict=True):
    segmenter = TextureSegmenter(5, random_state=0).fit(image)
    SegmentationDisplay.from_labels(astronaut, segmenter.labels_, ax=ax)
    ax.set_title(title, fontsize=10)
plt.show()
