#pragma once

#include "kernels/kernels.h"

namespace cudnn_rnn {

// Bfloat16Products::product by AVX512_BF16: a rows_copy is of pairs.
void ProductByBfloat16Dots(const PanelProduct<float>& product);

}  // namespace cudnn_rnn
