#include "common.c"

#ifdef MODEL_HAS_LINK
static double model_of_score(double score)
{
#ifdef MODEL_LINK_LOG
    return exp(score < MODEL_LARGEST_LOG ? score : MODEL_LARGEST_LOG);
#endif
#ifdef MODEL_LINK_SHARE
    return score < MODEL_BENT ? MODEL_BENT * MODEL_BENT / (MODEL_BENT + (MODEL_BENT - score))
         : score > 1.0 - MODEL_BENT ? 1.0 - MODEL_BENT * MODEL_BENT / (MODEL_BENT + (score - (1.0 - MODEL_BENT)))
         : score;
#endif
#ifdef MODEL_LINK_LOGISTIC
    return score >= 0.0 ? 1.0 / (1.0 + exp(-2.0 * score)) : exp(2.0 * score) / (1.0 + exp(2.0 * score));
#endif
}

#endif
void model_predict(const float *x, double *out)
{
#ifdef MODEL_IS_OF_TWO_CLASSES
    double score;
    model_scores(x, &score);
    out[1] = model_of_score(score);
#ifdef MODEL_LINK_SHARE
    out[0] = 1.0 - out[1];
#else
    out[0] = model_of_score(-score);
#endif
#else
    model_scores(x, out);
#ifdef MODEL_HAS_LINK
    for (uint32_t j = 0; j < MODEL_N_SCORES; j++)
        out[j] = model_of_score(out[j]);
#endif
#endif
#ifdef MODEL_LINK_MARGIN
    for (uint32_t j = 0; j < MODEL_N_SCORES; j++)
        out[j] -= MODEL_THRESHOLD;
#endif
#ifdef MODEL_LINK_SOFTMAX
    model_softmax(out);
#endif
#ifdef MODEL_IS_DIVIDED
    for (uint32_t o = 0; o < MODEL_N_OUTPUTS; o++) {
        uint32_t first = model_outputs[o], end = model_outputs[o + 1];
        double total = 0.0;
        for (uint32_t j = first; j < end; j++)
            total += out[j];
        for (uint32_t j = first; j < end; j++)
            out[j] = total > 0.0 ? out[j] / total : 1.0 / (end - first);
    }
#endif
}
