#include "kernels/int8_dots_neon.h"

namespace cudnn_rnn {

void ProductByInt8Dots(const PanelProduct<float>& p) { ProductOfInt8<Int8DotsNeon>(p); }

}  // namespace cudnn_rnn
