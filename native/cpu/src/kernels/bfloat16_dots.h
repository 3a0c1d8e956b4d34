#pragma once

#include "kernels/kernels.h"

namespace cudnn_rnn {

// KernelTable::product_bfloat16_rows by AVX512_BF16.
void ProductByBfloat16Dots(const PanelProduct<float>& product);

}  // namespace cudnn_rnn
