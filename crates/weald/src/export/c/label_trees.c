#include "common.c"

/* A node that is followed, and the logarithm of its path. */
struct model_followed {
    double log;
    uint32_t node;
};

/* A label that was found, the largest logarithm of its paths, or later its score, and the sum of the paths divided by the
   largest of them. */
struct model_found {
    double log, sum;
    uint32_t label;
};

/* The margins of the columns of a node. */
static void model_margins(const float *x, double length, uint32_t node, double *margins)
{
    uint32_t first = model_column_ptr[node];
    for (uint32_t c = first; c < model_column_ptr[node + 1]; c++)
        margins[c - first] = model_intercepts[c];
    for (uint32_t f = model_feature_ptr[node]; f < model_feature_ptr[node + 1]; f++) {
        uint32_t j = model_features[f];
        float value;
        if (x[j] == 0.0f)
            continue;
        value = model_value(x, j, length);
        for (uint32_t w = model_weight_ptr[f]; w < model_weight_ptr[f + 1]; w++)
            margins[model_weight_columns[w]] += (double)value * model_weights[w];
    }
}

/* The logarithm of a column with this margin, of a node with this logarithm. */
static double model_below(double log, double margin)
{
    double rest = margin < 1.0 ? 1.0 - margin : 0.0;
    return log - model_product(model_product(rest, rest), rest);
}

/* Adds a node to those that are kept, the best MODEL_BEAM ones in their order; returns how many there are. */
static uint32_t model_keep(struct model_followed *kept, uint32_t n, double log, uint32_t node)
{
    uint32_t at = n < MODEL_BEAM ? n : n - 1;
    if (n == MODEL_BEAM && (kept[at].log > log || (kept[at].log == log && kept[at].node < node)))
        return n;
    for (; at > 0 && (kept[at - 1].log < log || (kept[at - 1].log == log && kept[at - 1].node > node)); at--)
        kept[at] = kept[at - 1];
    kept[at].log = log;
    kept[at].node = node;
    return n < MODEL_BEAM ? n + 1 : n;
}

/* Adds a path to a label; returns how many labels there are. The slots of labels hold their places, counted from 1. */
static uint32_t model_add(struct model_found *found, uint32_t *slots, uint32_t n, double log, uint32_t label)
{
    uint32_t slot = label * 2654435769u % MODEL_SLOTS;
    struct model_found *old;
    while (slots[slot] != 0 && found[slots[slot] - 1].label != label)
        slot = (slot + 1) % MODEL_SLOTS;
    if (slots[slot] == 0) {
        found[n].label = label;
        found[n].log = log;
        found[n].sum = 1.0;
        slots[slot] = n + 1;
        return n + 1;
    }
    old = &found[slots[slot] - 1];
    if (log > old->log) {
        old->sum = model_product(old->sum, exp(old->log - log)) + 1.0;
        old->log = log;
    } else {
        old->sum += exp(log - old->log);
    }
    return n;
}

/* Finds labels in all trees, with their scores as logarithms; returns how many. */
static uint32_t model_search(const float *x, struct model_found *found)
{
    uint32_t slots[MODEL_SLOTS], n_found = 0;
    struct model_followed kept[MODEL_BEAM], next[MODEL_BEAM];
    double margins[MODEL_MOST_COLUMNS], length = model_length(x);
    for (uint32_t s = 0; s < MODEL_SLOTS; s++)
        slots[s] = 0;
    for (uint32_t t = 0; t < MODEL_N_TREES; t++) {
        uint32_t root = model_roots[t], n = 1, n_inner, n_next;
        kept[0].log = 0.0;
        kept[0].node = 0;
        for (;;) {
            n_inner = n_next = 0;
            for (uint32_t at = 0; at < n; at++)
                n_inner += !model_is_leaf[root + kept[at].node];
            if (n_inner == 0)
                break;
            for (uint32_t at = 0; at < n; at++) {
                uint32_t node = root + kept[at].node, first = model_column_ptr[node];
                if (model_is_leaf[node]) {
                    n_next = model_keep(next, n_next, kept[at].log, kept[at].node);
                    continue;
                }
                model_margins(x, length, node, margins);
                for (uint32_t c = first; c < model_column_ptr[node + 1]; c++)
                    n_next = model_keep(next, n_next, model_below(kept[at].log, margins[c - first]), model_targets[c]);
            }
            for (uint32_t at = 0; at < n_next; at++)
                kept[at] = next[at];
            n = n_next;
        }
        for (uint32_t at = 0; at < n; at++) {
            uint32_t node = root + kept[at].node, first = model_column_ptr[node];
            double path = model_product(MODEL_SHARE_OF_PATH, kept[at].log);
            model_margins(x, length, node, margins);
            for (uint32_t c = first; c < model_column_ptr[node + 1]; c++)
                n_found = model_add(found, slots, n_found, model_below(path, margins[c - first]), model_targets[c]);
        }
    }
    for (uint32_t c = 0; c < n_found; c++)
        found[c].log += log(found[c].sum / MODEL_DIVISOR);
    return n_found;
}

/* What probabilities are divided by: exp(*largest) times the result. Sorts the classes that were found. */
static double model_total(struct model_found *found, uint32_t n, double *largest)
{
#ifdef MODEL_HAS_CLASSES
    double total = 0.0;
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t c = gap; c < n; c++) {
            struct model_found moved = found[c];
            uint32_t at = c;
            for (; at >= gap && found[at - gap].label > moved.label; at -= gap)
                found[at] = found[at - gap];
            found[at] = moved;
        }
    *largest = found[0].log;
    for (uint32_t c = 1; c < n; c++)
        if (found[c].log > *largest)
            *largest = found[c].log;
    for (uint32_t c = 0; c < n; c++)
        total += exp(found[c].log - *largest);
    return total;
#else
    (void)found;
    (void)n;
    *largest = 0.0;
    return 1.0;
#endif
}

void model_scores(const float *x, double *scores)
{
    struct model_found found[MODEL_MOST_FOUND];
    uint32_t n = model_search(x, found);
    double largest, total = model_total(found, n, &largest);
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        scores[c] = 0.0;
    for (uint32_t c = 0; c < n; c++)
        scores[found[c].label] = exp(found[c].log - largest) / total;
}

uint32_t model_topk(const float *x, uint32_t k, uint32_t *labels, double *probabilities)
{
    struct model_found found[MODEL_MOST_FOUND];
    uint32_t n_best = 0, n = model_search(x, found);
    double largest, total = model_total(found, n, &largest);
    for (uint32_t c = 0; c < n && k > 0; c++) {
        double score = found[c].log;
        uint32_t label = found[c].label, at = n_best < k ? n_best : k - 1;
        if (n_best == k && (probabilities[at] > score || (probabilities[at] == score && labels[at] < label)))
            continue;
        for (; at > 0 && (probabilities[at - 1] < score || (probabilities[at - 1] == score && labels[at - 1] > label)); at--) {
            probabilities[at] = probabilities[at - 1];
            labels[at] = labels[at - 1];
        }
        probabilities[at] = score;
        labels[at] = label;
        n_best += n_best < k;
    }
    for (uint32_t c = 0; c < n_best; c++)
        probabilities[c] = exp(probabilities[c] - largest) / total;
    return n_best;
}

