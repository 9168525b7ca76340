/* Rows are float32. Do not compile with -ffast-math. */

#ifdef MODEL_HAS_VALUES
#include <float.h>
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Writes MODEL_N_SCORES scores of a sample with MODEL_N_FEATURES features. */
void model_scores(const float *x, double *scores);

/* Writes MODEL_N_COLUMNS predictions. */
void model_predict(const float *x, double *out);

#ifdef MODEL_HAS_SEARCH
/* Writes the k labels or classes with the largest probabilities, with the largest first and of equal ones the lower, and these
   probabilities. Returns how many it has written, fewer than k if the search finds fewer: the others have the probability 0. */
uint32_t model_topk(const float *x, uint32_t k, uint32_t *labels, double *probabilities);

#endif
#ifdef MODEL_HAS_TREES
/* A split: values up to `threshold` go left, to the next node, and others to node `right` of the tree. Where `set` is not 0
   those go left that are among the categories of that set in place of these. Of a leaf `feature` is -1, and its values are
   those from `right` to `set`. */
struct model_node {
    float threshold;
    int32_t feature;
    uint32_t right;
    uint32_t set;
    uint8_t missing_left;
};

#endif
