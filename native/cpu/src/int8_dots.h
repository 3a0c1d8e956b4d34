#ifndef CUDNN_RNN_CPU_INT8_DOTS_H_
#define CUDNN_RNN_CPU_INT8_DOTS_H_

#include "kernels.h"

namespace cudnn_rnn {

// KernelTable::product_int8 by AVX-512 VNNI.
void ProductByInt8Dots(const PanelProduct<float>& product);

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_INT8_DOTS_H_
