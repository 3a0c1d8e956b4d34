#pragma once

#include "kernels/kernels.h"

namespace cudnn_rnn {

// KernelTable::product_int8 by AVX-512 VNNI.
void ProductByInt8Dots(const PanelProduct<float>& product);

}  // namespace cudnn_rnn
