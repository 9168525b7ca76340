#include "linear.c"

#ifdef MODEL_HAS_TREES
#ifdef MODEL_HAS_SETS
/* Whether a value is among the categories of a set, which rise. */
static int model_is_in(uint32_t set, float value)
{
    uint32_t low = model_set_ptr[set - 1], high = model_set_ptr[set], code;
    if (!(value >= 0.0f && value < 65536.0f) || value != (float)(uint32_t)value)
        return 0;
    code = (uint32_t)value;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model_sets[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model_set_ptr[set] && model_sets[low] == code;
}

#endif
static int model_goes_left(const struct model_node *node, float value)
{
    if (value != value)
        return node->missing_left;
#ifdef MODEL_HAS_SETS
    if (node->set)
        return model_is_in(node->set, value);
#endif
    return value <= node->threshold;
}

#endif
void model_scores(const float *x, double *scores)
{
#ifdef MODEL_HAS_LINEAR
    double linear[MODEL_N_SCORES];
#else
    (void)x;
#endif
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
#ifdef MODEL_HAS_START
        scores[c] = model_start[c];
#else
        scores[c] = 0.0;
#endif
#ifdef MODEL_HAS_TREES
    for (uint32_t t = 0; t < MODEL_N_TREES; t++) {
        const struct model_node *tree = model_nodes + model_roots[t], *node = tree;
        while (node->feature >= 0)
            node = model_goes_left(node, x[node->feature]) ? node + 1 : tree + node->right;
        for (uint32_t v = node->right; v < node->set; v++)
#ifdef MODEL_HAS_FACTORS
            for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
                scores[c] += model_product(model_leaf_values[v], model_factors[(size_t)t * MODEL_N_SCORES + c]);
#else
#ifdef MODEL_IS_BY_SCORE
            scores[t % MODEL_N_SCORES] += model_leaf_values[v];
#else
            scores[model_leaf_columns[v]] += model_leaf_values[v];
#endif
#endif
    }
#endif
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        scores[c] /= MODEL_DIVISOR;
#ifdef MODEL_HAS_LINEAR
    model_linear(x, linear);
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        scores[c] += linear[c];
#endif
}

