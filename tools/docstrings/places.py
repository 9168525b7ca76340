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
    members,
    share_of_words,
)
from docstrings.label_tree import LABEL_TREES
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
        "ExtraTreesClassifier": TREES
        | CLASSIFIERS
        | FORESTS
        | FOREST_CLASSIFIERS
        | members("ExtraTreeClassifier")
        | share_of_words("four of five", "1.5 to 3.3"),
        "ExtraTreesRegressor": TREES | REGRESSORS | FORESTS | FOREST_REGRESSORS | members("ExtraTreeRegressor"),
        "RandomForestClassifier": TREES
        | CLASSIFIERS
        | FORESTS
        | FOREST_CLASSIFIERS
        | members("DecisionTreeClassifier")
        | share_of_words("all five", "up to 3.2"),
        "RandomForestRegressor": TREES | REGRESSORS | FORESTS | FOREST_REGRESSORS | members("DecisionTreeRegressor"),
    },
    "label_tree.py": {
        "LabelTreeClassifier": SHARED | LABEL_TREES,
    },
    "linear.py": {
        "LinearClassifier": SHARED | LINEAR,
    },
    "tree.py": {
        "DecisionTreeClassifier": TREES | CLASSIFIERS | TREE_CLASSIFIERS,
        "DecisionTreeRegressor": TREES | REGRESSORS | TREE_REGRESSORS,
        "ExtraTreeClassifier": TREES | CLASSIFIERS | TREE_CLASSIFIERS,
        "ExtraTreeRegressor": TREES | REGRESSORS | TREE_REGRESSORS,
    },
}

# The shared texts of methods and functions, in the order of their docstrings.
SHARED_TEXTS = {
    "_compress/classifier.py": {
        "BaseCompressedClassifier.predict": "X of_the_type_of_y",
        "BaseCompressedClassifier.predict_proba": "X_as_in_predict probabilities",
        "BaseCompressedClassifier.decision_function": "X_as_in_predict decisions",
    },
    "_around/hierarchical.py": {
        "HierarchicalLabels.fit": "label_names",
        "HierarchicalLabels.predict_proba": "X_of_estimator",
        "HierarchicalLabels.decision_function": "X_of_estimator",
        "HierarchicalLabels.predict_sparse": "X_of_estimator",
        "HierarchicalLabels.predict": "X_of_estimator",
        "HierarchicalLabels.score": "X_of_estimator y_mask_of_score",
    },
    "_fit/arrays.py": {
        "LeafIndicators.transform": "X_as_in_predict",
    },
    "_fit/base.py": {
        "BaseEnsemble.apply": "X_as_in_predict",
        "WithPaths.decision_path": "X_as_in_predict node_indicator",
    },
    "_fit/boosted.py": {
        "BoostedModel.apply": "X_as_in_predict",
    },
    "_fit/boosting.py": {
        "BaseBoosting.fit": "X_of_boosting y weight_zero rounded_weights "
        "y_mask_of_boosting label_names fitted_self errors_of_fit after_errors",
    },
    "_fit/compression.py": {
        "BaseCompressed.fit": "X_of_fit weight_zero y_mask_of_compression label_names fitted_self after_errors",
    },
    "_fit/forest.py": {
        "BaseForest.fit": "X_of_fit y sample_weight_of_trees y_mask label_names "
        "trees fitted_self errors_of_fit after_errors determinism_of_forests callbacks_of_forests",
        "BaseForestRegressor.predict_quantiles": "X_as_in_predict",
    },
    "_fit/named_outputs.py": {
        "NamedLabels.topk_names": "X_as_in_predict",
    },
    "_around/labels.py": {
        "WithScores.predict_proba": "X_of_estimator",
        "WithScores.decision_function": "X_of_estimator",
        "WithScores.predict_sparse": "X_of_estimator",
        "LabelsAround.predict_log_proba": "X_of_estimator",
        "LabelsAround.predict_topk": "X_of_estimator labels_to_return ranked_labels errors_of_topk",
    },
    "_tools/predictor.py": {
        "Predictor.predict_topk": "scores_of_labels",
    },
    "_tools/topk.py": {
        "topk": "scores_of_labels",
        "topk_chunks": "scores_of_labels",
    },
    "_fit/predictions.py": {
        "BaseRegressor.score": "X_as_in_predict y_mask_of_score",
        "BaseRegressor.predict": "X",
        "BaseClassifier.score": "X_as_in_predict y_mask_of_score",
        "BaseClassifier.predict": "X of_the_type_of_y",
        "BaseClassifier.predict_proba": "X_as_in_predict probabilities",
        "BaseClassifier.predict_log_proba": "X_as_in_predict",
        "BaseClassifier.decision_function": "X_as_in_predict",
        "BaseClassifier.predict_topk": "X_as_in_predict k_and_scores excluded_labels ranked_labels errors_of_topk",
        "BaseClassifier.predict_sparse": "X_as_in_predict least_stored sparse_probabilities",
    },
    "_fit/tree.py": {
        "BaseTree.fit": "X_of_fit y sample_weight_of_trees y_mask "
        "label_names check_input fitted_self errors_of_fit after_errors",
        "BaseTree.predict": "X check_input",
        "BaseTree.apply": "X_as_in_predict check_input",
        "BaseTree.decision_path": "X_as_in_predict check_input",
    },
    "boosting.py": {
        "GradientBoostingRegressor.predict": "X n_stages_and_margin",
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
        "BaseCentroidForest.fit": "label_names trees fitted_self errors_of_fit after_errors "
        "determinism_of_centroid_forests callbacks_of_forests",
    },
    "compression.py": {
        "CompressedForestRegressor.predict": "X",
        "InducedForestRegressor.predict": "X",
    },
    "distribute.py": {
        "predict_topk": "scores_of_labels",
    },
    "label_tree.py": {
        "LabelTreeClassifier.fit": "label_names trees_of_labels fitted_self errors_of_fit after_errors weight_zero",
        "LabelTreeClassifier.predict": "X of_the_type_of_y",
        "LabelTreeClassifier.predict_proba": "X_as_in_predict",
    },
    "linear.py": {
        "LinearClassifier.fit": "label_names labels_of_part fitted_self errors_of_fit after_errors weight_zero",
        "LinearClassifier.predict": "X of_the_type_of_y",
        "LinearClassifier.predict_proba": "X_as_in_predict probabilities",
        "LinearClassifier.decision_function": "X_as_in_predict decisions",
    },
    "_around/voting.py": {
        "BaseVoting.fit": "label_names",
    },
    "voting.py": {
        "VotingClassifier.predict": "X_of_estimators",
        "VotingClassifier.predict_proba": "X_of_estimators probabilities",
        "VotingClassifier.predict_log_proba": "X_of_estimators",
        "VotingClassifier.decision_function": "X_of_estimators",
        "VotingClassifier.predict_sparse": "X_of_estimators",
        "VotingClassifier.predict_topk": "X_of_estimators labels_to_return ranked_labels errors_of_topk",
        "VotingClassifier.score": "X_of_estimators y_mask_of_score",
        "VotingRegressor.predict": "X_of_estimators",
        "VotingRegressor.score": "X_of_estimators y_mask_of_score",
    },
    "metrics.py": {
        "one_error": "y_true_and_score y_mask_of_metrics",
        "precision_at_k": "ranking y_mask_of_metrics faults_of_rankings",
        "recall_at_k": "ranking y_mask_of_metrics unless_known faults_of_rankings",
        "ndcg_at_k": "ranking y_mask_of_metrics unless_known faults_of_rankings",
        "psp_at_k": "ranking propensities y_mask_of_metrics unless_known faults_of_gains",
        "psndcg_at_k": "ranking propensities y_mask_of_metrics unless_known faults_of_gains",
        "label_coverage_at_k": "ranking y_mask_of_metrics unless_known faults_of_rankings",
        "roc_auc": "labels_and_all_scores means_of_labels mean_and_counts faults_of_scores",
        "average_precision": "labels_and_all_scores means_of_labels mean_and_counts faults_of_scores",
        "log_loss": "labels_and_probabilities means_of_labels mean_and_counts faults_of_probabilities",
        "brier": "labels_and_probabilities means_of_labels mean_and_counts faults_of_probabilities",
        "micro_f1": "y_true_and_pred y_mask_of_metrics faults_of_predictions",
        "macro_f1": "y_true_and_pred y_mask_of_metrics faults_of_predictions",
    },
    "conformal.py": {
        "ConformalRegressor.fit": "label_names",
        "ConformalClassifier.fit": "label_names",
        "ConformalLabels.fit": "label_names",
        "ConformalRegressor.predict": "X_of_estimator",
        "ConformalRegressor.predict_interval": "X_of_estimator",
        "ConformalRegressor.predict_region": "X_of_estimator",
        "ConformalRegressor.contains": "X_of_estimator",
        "ConformalRegressor.log_volume": "X_of_estimator",
        "ConformalRegressor.score": "X_of_estimator",
        "ConformalClassifier.predict": "X_of_estimator",
        "ConformalClassifier.predict_proba": "X_of_estimator",
        "ConformalClassifier.predict_sets": "X_of_estimator",
        "ConformalClassifier.score": "X_of_estimator",
        "ConformalLabels.predict": "X_of_estimator",
        "ConformalLabels.score": "X_of_estimator",
    },
    "multilabel.py": {
        "TunedThresholds.fit": "label_names",
        "CalibratedLabels.fit": "label_names",
        "TunedThresholds.predict": "X_of_estimator",
        "TunedThresholds.score": "X_of_estimator",
        "CalibratedLabels.predict_sparse": "X_of_estimator",
        "CalibratedLabels.predict_proba": "X_of_estimator",
        "CalibratedLabels.predict": "X_of_estimator",
        "CalibratedLabels.score": "X_of_estimator y_mask_of_score",
        "CalibratedLabels.decision_function": "X_of_estimator",
    },
    "quantiles.py": {
        "QuantileBoostingRegressor.fit": "label_names",
        "QuantileBoostingRegressor.predict_quantiles": "X_of_estimator",
        "QuantileBoostingRegressor.predict": "X_of_estimator",
        "QuantileBoostingRegressor.score": "X_of_estimator y_mask_of_score",
    },
    "tree.py": {
        "DecisionTreeClassifier.predict_proba": "X_as_in_predict check_input probabilities",
    },
}
