#include "sample.h"

#ifdef MODEL_HAS_PRODUCTS
/* Not fused with an addition, which would round another time. */
static double model_product(double a, double b)
{
    volatile double product = a * b;
    return product;
}

#endif
#ifdef MODEL_HAS_SOFTMAX
/* Turns the scores of the classes of each output into probabilities. */
static void model_softmax(double *out)
{
    for (uint32_t o = 0; o < MODEL_N_OUTPUTS; o++) {
        uint32_t first = model_outputs[o], end = model_outputs[o + 1];
        double most = out[first], total = 0.0;
        for (uint32_t j = first; j < end; j++)
            if (out[j] > most)
                most = out[j];
        for (uint32_t j = first; j < end; j++)
            total += out[j] = exp(out[j] - most);
        for (uint32_t j = first; j < end; j++)
            out[j] /= total;
    }
}

#endif
#ifdef MODEL_HAS_VALUES
/* A feature before samples are divided by their lengths. */
static double model_prepared(const float *x, uint32_t j)
{
    double value = x[j];
#ifdef MODEL_HAS_LOGARITHMS
    value = copysign(log1p(fabs(value)), value);
#endif
#ifdef MODEL_HAS_IDF
    value *= model_idf[j];
#endif
    return value;
}

/* The length of a sample, if features are divided by it. */
static double model_length(const float *x)
{
    double length = 0.0;
#ifdef MODEL_IS_NORMALIZED
    for (uint32_t j = 0; j < MODEL_N_FEATURES; j++) {
        double value = model_prepared(x, j);
        length += model_product(value, value);
    }
#else
    (void)x;
#endif
    return sqrt(length);
}

/* A feature as weights take it: of the length one, it is a multiple of 2^-24. */
static float model_value(const float *x, uint32_t j, double length)
{
    double value = model_prepared(x, j);
    float single = (float)(value > FLT_MAX ? FLT_MAX : value < -FLT_MAX ? -FLT_MAX : value);
#ifdef MODEL_IS_NORMALIZED
    return (float)rint((double)single / length * 16777216.0) / 16777216.0f;
#else
    (void)length;
    return single;
#endif
}

#endif
