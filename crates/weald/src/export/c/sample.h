/* A model of each kind for compilers, editors and formatters: an export has the flags, constants and tables of its model in place
   of this file. */

#define MODEL_HAS_VALUES
#define MODEL_HAS_TREES
#define MODEL_HAS_SEARCH
#include "head.h"

#define MODEL_N_FEATURES 2
#define MODEL_N_SCORES 2
#define MODEL_N_COLUMNS 2
#define MODEL_N_OUTPUTS 1
#define MODEL_N_TREES 1
#define MODEL_DIVISOR 1.0
#define MODEL_THRESHOLD 0.5
#define MODEL_LARGEST_LOG 709.78
#define MODEL_BENT 0.001
#define MODEL_UNIT 0.5
#define MODEL_LEAST_PROBABILITY 1e-6
#define MODEL_SHARPNESS 2.0
#define MODEL_LEAST_SHARE 0.1
#define MODEL_MOST_NODES 8
#define MODEL_BEAM 4
#define MODEL_MOST_COLUMNS 4
#define MODEL_MOST_FOUND 4
#define MODEL_SLOTS 8
#define MODEL_SHARE_OF_PATH 0.05

static const uint32_t model_outputs[] = {0, 2};
static const float model_idf[] = {1.0f, 1.0f};

static const struct model_node model_nodes[] = {{0.5f, 0, 2, 0, 0}, {0.0f, -1, 0, 2, 0}, {0.0f, -1, 2, 4, 0}};
static const uint32_t model_roots[] = {0};
static const uint32_t model_leaf_columns[] = {0, 1, 0, 1};
static const double model_leaf_values[] = {0.25, 0.75, 0.5, 0.5};
static const double model_start[] = {0.0, 0.0};
static const double model_factors[] = {1.0, 1.0};
static const uint32_t model_set_ptr[] = {0, 1};
static const uint16_t model_sets[] = {3};

static const uint32_t model_linear_ptr[] = {0, 1, 2};
static const uint32_t model_linear_columns[] = {0, 1};
static const float model_linear_values[] = {1.0f, 1.0f};
static const float model_linear_intercepts[] = {0.0f, 0.0f};
static const float model_linear_slopes[] = {1.0f, 1.0f};
static const float model_linear_offsets[] = {0.0f, 0.0f};

static const uint32_t model_first_leaves[] = {0};
static const uint32_t model_first_parents[] = {0};
static const uint32_t model_leaf_of[] = {0, 0, 1};
static const uint32_t model_children[] = {1, 3, 3, 3};
static const uint32_t model_centroid_ptr[] = {0, 0, 1, 2};
static const uint32_t model_centroid_features[] = {0, 1};
static const float model_centroid_weights[] = {1.0f, 1.0f};
static const uint32_t model_leaf_ptr[] = {0, 2, 4};
static const double model_own[] = {0.5, 0.5};
static const uint32_t model_parent_of[] = {0, 0};
static const uint32_t model_parent_ptr[] = {0, 2};
static const uint32_t model_parent_columns[] = {0, 1};
static const double model_parent_values[] = {0.5, 0.5};

static const uint8_t model_is_leaf[] = {1};
static const uint32_t model_column_ptr[] = {0, 2};
static const uint32_t model_targets[] = {0, 1};
static const float model_intercepts[] = {0.0f, 0.0f};
static const uint32_t model_feature_ptr[] = {0, 1};
static const uint32_t model_features[] = {0};
static const uint32_t model_weight_ptr[] = {0, 1};
static const uint16_t model_weight_columns[] = {0};
static const float model_weights[] = {1.0f};
