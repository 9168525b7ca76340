#include "common.c"

/* The scores of the linear model, or what trees add their values to. */
static void model_linear(const float *x, double *out)
{
    double length = model_length(x);
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        out[c] = model_linear_intercepts[c];
    for (uint32_t j = 0; j < MODEL_N_FEATURES; j++) {
        float value;
        if (x[j] == 0.0f)
            continue;
        value = model_value(x, j, length);
        for (uint32_t c = model_linear_ptr[j]; c < model_linear_ptr[j + 1]; c++)
            out[model_linear_columns[c]] += (double)value * model_linear_values[c];
    }
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++) {
#ifdef MODEL_IS_CALIBRATED
        out[c] = model_product(model_linear_slopes[c], out[c]) + model_linear_offsets[c];
#endif
        out[c] *= MODEL_UNIT;
    }
#ifdef MODEL_ADDS_PROBABILITIES
#ifdef MODEL_HAS_SOFTMAX
    model_softmax(out);
#else
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++)
        out[c] = 1.0 / (1.0 + exp(-2.0 * out[c]));
#endif
    for (uint32_t c = 0; c < MODEL_N_SCORES; c++) {
        double p = out[c], most = 1.0 - MODEL_LEAST_PROBABILITY;
        p = p < MODEL_LEAST_PROBABILITY ? MODEL_LEAST_PROBABILITY : p > most ? most : p;
#ifdef MODEL_ADDS_LOG_ODDS
        out[c] = 0.5 * (log(p) - log1p(-p));
#else
        out[c] = log(p);
#endif
    }
#endif
}

