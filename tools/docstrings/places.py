"""Which docstrings of the package contain which shared texts."""

from __future__ import annotations

from docstrings.boosting import BOOSTING, BOOSTING_CLASSIFIERS, BOOSTING_REGRESSORS
from docstrings.centroid import CENTROID_CLASSIFIERS, CENTROID_REGRESSORS, CENTROIDS
from docstrings.compression import (
    COMPRESSION,
    COMPRESSION_CLASSIFIERS,
    COMPRESSION_REGRESSORS,
    INDUCED,
    INDUCED_CLASSIFIERS,
    INDUCED_REGRESSORS,
)
from docstrings.estimators import (
    CLASSIFIERS,
    FOREST_CLASSIFIERS,
    FOREST_REGRESSORS,
    FORESTS,
    REGRESSORS,
    SHARED,
    TREE_CLASSIFIERS,
    TREE_REGRESSORS,
    TREES,
)
from docstrings.linear import LINEAR

# The tables of each estimator, of which later ones replace texts of earlier ones.
ESTIMATORS = {
    "boosting.py": {
        "GradientBoostingClassifier": SHARED | BOOSTING | BOOSTING_CLASSIFIERS,
        "GradientBoostingRegressor": SHARED | BOOSTING | BOOSTING_REGRESSORS,
    },
    "centroid.py": {
        "CentroidForestClassifier": SHARED | FORESTS | FOREST_CLASSIFIERS | CENTROIDS | CENTROID_CLASSIFIERS,
        "CentroidForestRegressor": SHARED | FORESTS | FOREST_REGRESSORS | CENTROIDS | CENTROID_REGRESSORS,
    },
    "compression.py": {
        "CompressedForestClassifier": SHARED | COMPRESSION | COMPRESSION_CLASSIFIERS,
        "CompressedForestRegressor": SHARED | COMPRESSION | COMPRESSION_REGRESSORS,
        "InducedForestClassifier": SHARED | COMPRESSION | COMPRESSION_CLASSIFIERS | INDUCED | INDUCED_CLASSIFIERS,
        "InducedForestRegressor": SHARED | COMPRESSION | COMPRESSION_REGRESSORS | INDUCED | INDUCED_REGRESSORS,
    },
    "forest.py": {
        "RandomForestClassifier": TREES | CLASSIFIERS | FORESTS | FOREST_CLASSIFIERS,
        "RandomForestRegressor": TREES | REGRESSORS | FORESTS | FOREST_REGRESSORS,
    },
    "linear.py": {
        "LinearClassifier": SHARED | LINEAR,
    },
    "tree.py": {
        "DecisionTreeClassifier": TREES | CLASSIFIERS | TREE_CLASSIFIERS,
        "DecisionTreeRegressor": TREES | REGRESSORS | TREE_REGRESSORS,
    },
}

# The shared texts of methods and functions, in the order of their docstrings.
SHARED_TEXTS = {
    "_fit/base.py": {
        "BaseEnsemble.apply": "X_as_in_predict",
        "BaseEnsemble.transform": "X_as_in_predict",
        "WithPaths.decision_path": "X_as_in_predict node_indicator",
        "BestLabels.predict_topk": "X_as_in_predict how_to_rank ranked_labels",
    },
    "_fit/boosting.py": {
        "BoostedModel.apply": "X_as_in_predict",
        "BaseBoosting.fit": "errors_of_fit X_of_fit y sample_weight y_weight_of_boosting label_names fitted_self",
    },
    "_fit/compression.py": {
        "BaseCompressed.fit": "errors_of_fit X_of_fit y_weight_of_compression label_names fitted_self",
    },
    "_fit/forest.py": {
        "BaseForest.fit": "errors_of_fit X_of_fit y sample_weight y_weight label_names trees fitted_self",
        "BaseForestRegressor.predict_quantiles": "X_as_in_predict",
    },
    "_tools/predictor.py": {
        "Predictor.predict_topk": "how_to_rank",
    },
    "_tools/topk.py": {
        "topk": "how_to_rank ranked_labels",
    },
    "_fit/predictions.py": {
        "BaseRegressor.score": "scored",
        "BaseRegressor.predict": "X",
        "BaseClassifier.score": "scored",
        "BaseClassifier.predict": "X of_the_type_of_y",
        "BaseClassifier.predict_proba": "X_as_in_predict probabilities",
        "BaseClassifier.predict_log_proba": "X_as_in_predict",
        "BaseClassifier.decision_function": "X_as_in_predict decisions",
        "BaseClassifier.predict_sparse": "X_as_in_predict least_stored sparse_probabilities",
    },
    "_fit/tree.py": {
        "BaseTree.fit": "errors_of_fit X_of_fit y sample_weight y_weight label_names check_input fitted_self",
        "BaseTree.predict": "X check_input",
        "BaseTree.apply": "X_as_in_predict check_input",
        "BaseTree.decision_path": "X_as_in_predict check_input",
    },
    "boosting.py": {
        "GradientBoostingRegressor.predict": "X n_stages_and_margin",
        "GradientBoostingRegressor.predict_quantiles": "X_as_in_predict n_stages_and_margin",
        "GradientBoostingRegressor.staged_predict": "X_as_in_predict",
        "GradientBoostingClassifier.predict": "X n_stages_and_margin of_the_type_of_y",
        "GradientBoostingClassifier.predict_proba": "X_as_in_predict n_stages_and_margin probabilities",
        "GradientBoostingClassifier.predict_log_proba": "X_as_in_predict",
        "GradientBoostingClassifier.decision_function": "X_as_in_predict n_stages_and_margin decisions",
        "GradientBoostingClassifier.staged_predict": "X_as_in_predict",
        "GradientBoostingClassifier.staged_predict_proba": "X_as_in_predict",
        "GradientBoostingClassifier.staged_decision_function": "X_as_in_predict",
        "GradientBoostingClassifier.predict_sparse": "X_as_in_predict least_stored sparse_probabilities",
    },
    "centroid.py": {
        "BaseCentroidForest.fit": "errors_of_fit X_of_numbers y label_names trees fitted_self",
    },
    "linear.py": {
        "LinearClassifier.fit": "label_names parts_of_linear fitted_self errors_of_fit X_of_numbers y",
    },
    "metrics.py": {
        "one_error": "y_true_and_score y_weight_of_metrics",
        "precision_at_k": "ranking y_weight_of_metrics",
        "recall_at_k": "unless_known",
        "ndcg_at_k": "unless_known",
        "psp_at_k": "ranking propensities y_weight_of_metrics unless_known",
        "psndcg_at_k": "unless_known",
        "label_coverage_at_k": "unless_known",
        "micro_f1": "y_true_and_pred y_weight_of_metrics",
        "coverage_error": "y_weight_of_metrics",
        "hierarchical_precision": "closed_labels y_weight_of_metrics",
        "fmax": "y_weight_of_metrics",
        "auprc": "y_weight_of_metrics",
    },
    "conformal.py": {
        "ConformalRegressor.fit": "sample_weight_of_calibration label_names groups",
        "ConformalRegressor.predict": "X_of_estimator",
        "ConformalRegressor.predict_interval": "X_of_estimator alpha_of_method",
        "ConformalRegressor.predict_region": "X_of_estimator alpha_of_method",
        "ConformalRegressor.contains": "X_of_estimator alpha_of_method",
        "ConformalRegressor.log_volume": "X_of_estimator alpha_of_method",
        "ConformalRegressor.score": "scored_where_known",
        "ConformalClassifier.predict": "X_of_estimator",
        "ConformalClassifier.predict_proba": "X_of_estimator",
        "ConformalClassifier.predict_sets": "X_of_estimator alpha_of_method",
        "ConformalClassifier.score": "scored_where_known",
        "ConformalLabels.predict": "X_of_estimator",
        "ConformalLabels.score": "scored_where_known",
        "ConformalRegressor.ellipsoid_radius": "alpha_of_method",
        "coverage": "y_weight_left_out",
    },
    "multilabel.py": {
        "TunedThresholds.fit": "sample_weight_of_calibration y_weight_of_calibration label_names",
        "TunedThresholds.predict": "X_of_estimator",
        "TunedThresholds.score": "scored_where_known",
        "CalibratedLabels.predict_sparse": "X_of_estimator",
        "CalibratedLabels.predict_proba": "X_of_estimator",
        "CalibratedLabels.predict": "X_of_estimator",
        "CalibratedLabels.score": "scored",
        "CalibratedLabels.decision_function": "X_of_estimator",
        "HierarchicalLabels.predict_proba": "X_of_estimator",
        "HierarchicalLabels.decision_function": "X_of_estimator",
        "HierarchicalLabels.predict_sparse": "X_of_estimator",
        "HierarchicalLabels.predict": "X_of_estimator",
        "HierarchicalLabels.score": "scored",
    },
    "tree.py": {
        "DecisionTreeClassifier.predict_proba": "X_as_in_predict check_input probabilities",
    },
    "_around/labels.py": {
        "WithScores.predict_proba": "X_of_estimator",
        "WithScores.decision_function": "X_of_estimator",
        "WithScores.predict_sparse": "X_of_estimator",
        "LabelsAround.predict_log_proba": "X_of_estimator",
    },
    "voting.py": {
        "BaseVoting.fit": "label_names",
        "VotingClassifier.predict": "X_of_estimators",
        "VotingClassifier.predict_proba": "X_of_estimators probabilities",
        "VotingClassifier.predict_log_proba": "X_of_estimators",
        "VotingClassifier.decision_function": "X_of_estimators",
        "VotingClassifier.predict_sparse": "X_of_estimators",
        "VotingClassifier.score": "X_of_estimators y_weight_of_score",
        "VotingRegressor.predict": "X_of_estimators",
        "VotingRegressor.score": "X_of_estimators y_weight_of_score",
    },
}
