#include "common.c"

static float model_single_product(float a, float b)
{
    volatile float product = a * b;
    return product;
}

/* The product of a sample and the centroid of a node. */
static float model_similarity(const float *x, double length, uint32_t node)
{
    float total = 0.0f;
    for (uint32_t w = model_centroid_ptr[node]; w < model_centroid_ptr[node + 1]; w++) {
        uint32_t j = model_centroid_features[w];
        if (x[j] != 0.0f)
            total += model_single_product(model_value(x, j, length), model_centroid_weights[w]);
    }
    return total;
}

#ifdef MODEL_IS_SHARED
/* exp(x) for x up to 0, with the bits of weald. */
static double model_exp(double x)
{
    /* 1/k! */
    static const double c[14] = {
        0x1p+0, 0x1p+0, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10,
        0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5dp-22, 0x1.ae64567f544e4p-26,
        0x1.1eed8eff8d898p-29, 0x1.6124613a86d0ap-33,
    };
    double shifted, n, r, r2, r4, first, last;
    x = x > -700.0 ? x : -700.0;
    shifted = model_product(x, 0x1.71547652b82fep+0) + 0x1.8p+52;
    n = shifted - 0x1.8p+52;
    r = x - model_product(n, 0x1.62e42feep-1);
    r = r - model_product(n, 0x1.a39ef35793c76p-33);
    r2 = model_product(r, r);
    r4 = model_product(r2, r2);
    first = c[4] + model_product(c[5], r);
    first = (c[2] + model_product(c[3], r)) + model_product(first, r2);
    last = (c[10] + model_product(c[11], r)) + model_product(c[12] + model_product(c[13], r), r2);
    last = ((c[6] + model_product(c[7], r)) + model_product(c[8] + model_product(c[9], r), r2)) + model_product(last, r4);
    return ldexp(1.0 + (r + model_product(r2, first + model_product(last, r4))), (int)n);
}

#endif
/* Adds the values of a leaf of tree t, and those of its parent if there are some. */
static void model_add(double *scores, uint32_t t, uint32_t leaf, double share)
{
    double own = share;
    leaf += model_first_leaves[t];
#ifdef MODEL_HAS_PARENTS
    own = share * model_own[leaf];
#endif
    for (uint32_t v = model_leaf_ptr[leaf]; v < model_leaf_ptr[leaf + 1]; v++)
        scores[model_leaf_columns[v]] += model_product(own, model_leaf_values[v]);
#ifdef MODEL_HAS_PARENTS
    own = share * (1.0 - model_own[leaf]);
    leaf = model_first_parents[t] + model_parent_of[leaf];
    for (uint32_t v = model_parent_ptr[leaf]; v < model_parent_ptr[leaf + 1]; v++)
        scores[model_parent_columns[v]] += model_product(own, model_parent_values[v]);
#endif
}

void model_scores(const float *x, double *scores)
{
    /* The nodes of a level that a sample reaches, and its share of each. */
    uint32_t nodes[MODEL_MOST_NODES], next[MODEL_MOST_NODES], n, n_next;
    float shares[MODEL_MOST_NODES], next_shares[MODEL_MOST_NODES];
    double length = model_length(x);
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        scores[c] = 0.0;
    for (uint32_t t = 0; t < MODEL_N_TREES; t++) {
        uint32_t root = model_roots[t];
        /* Each tree has one item more than it has nodes. */
        const uint32_t *children = model_children + root + t;
        nodes[0] = 0;
        shares[0] = 1.0f;
        for (n = 1; n > 0; n = n_next) {
            n_next = 0;
            for (uint32_t at = 0; at < n; at++) {
                uint32_t child = children[nodes[at]], end = children[nodes[at] + 1], first = child, second = child;
                float best = -INFINITY, next_best = -INFINITY, part = 0.0f;
                if (child == end) {
                    model_add(scores, t, model_leaf_of[root + nodes[at]], shares[at]);
                    continue;
                }
                for (; child < end; child++) {
                    float similarity = model_similarity(x, length, root + child);
                    if (similarity > best) {
                        next_best = best;
                        second = first;
                        best = similarity;
                        first = child;
                    } else if (similarity > next_best) {
                        next_best = similarity;
                        second = child;
                    }
                }
#ifdef MODEL_IS_SHARED
                if (best - next_best > 0.0f) {
                    double odds = model_exp(-model_product(MODEL_SHARPNESS, (double)(best - next_best)));
                    part = model_single_product(shares[at], (float)(odds / (1.0 + odds)));
                    part = part < (float)MODEL_LEAST_SHARE ? 0.0f : part;
                }
#endif
                if (part > 0.0f && second < first) {
                    next[n_next] = second;
                    next_shares[n_next++] = part;
                }
                next[n_next] = first;
                next_shares[n_next++] = shares[at] - part;
                if (part > 0.0f && second > first) {
                    next[n_next] = second;
                    next_shares[n_next++] = part;
                }
            }
            for (uint32_t at = 0; at < n_next; at++) {
                nodes[at] = next[at];
                shares[at] = next_shares[at];
            }
        }
    }
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++) {
        scores[c] /= MODEL_DIVISOR;
#ifdef MODEL_HAS_SHARES
        scores[c] = scores[c] < 1.0 ? scores[c] : 1.0;
#endif
    }
}

