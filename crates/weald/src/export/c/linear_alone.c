#include "linear.c"

void model_scores(const float *x, double *scores)
{
    model_linear(x, scores);
}

