"""
Calibrated probabilities of labels
==================================

Of the labels for which a model predicts a probability of 0.3, three in ten should be true. A reliability curve shows
whether this is so, and ``CalibratedLabels`` corrects probabilities that are too low or too high.
"""

# %%
# Data with twenty labels
# -----------------------

import matplotlib.pyplot as plt
import weald
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from weald.multilabel import CalibratedLabels, LabelReliabilityDisplay

plt.style.use("tableau-colorblind10")

X, Y = make_multilabel_classification(
    4000, n_features=60, n_classes=20, n_labels=3, random_state=0
)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

# %%
# A forest, as it is and calibrated
# ---------------------------------

forest = weald.ExtraTreesClassifier(random_state=0, n_jobs=-1)
models = {
    "forest": forest.fit(X_train, Y_train),
    "calibrated": CalibratedLabels(
        weald.ExtraTreesClassifier(random_state=0, n_jobs=-1)
    ).fit(X_train, Y_train),
}

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, model in models.items():
    LabelReliabilityDisplay.from_estimator(model, X_test, Y_test, name=name, ax=ax)
ax.set_aspect("equal")
plt.show()
