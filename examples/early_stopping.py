"""
Early stopping of boosting
==========================

The fit holds out some training samples, stops when their loss no longer decreases, and keeps the stages up to the
best one. The losses of other sets are recorded during the fit.
"""

import matplotlib.pyplot as plt
import weald
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from weald.inspection import BoostingCurveDisplay

plt.style.use("tableau-colorblind10")

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = weald.GradientBoostingClassifier(
    n_estimators=500,
    learning_rate=0.3,
    early_stopping=True,
    n_iter_no_change=20,
    random_state=0,
)
model.fit(X_train, y_train, eval_sets={"test": (X_test, y_test)})
accuracy = model.score(X_test, y_test)
print(f"{model.n_estimators_} stages kept, accuracy on the test samples {accuracy:.3f}")

# %%
# The log scale shows the changes below 0.1.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
display = BoostingCurveDisplay.from_estimator(model, ax=ax)
ax.set_yscale("log")
plt.show()
