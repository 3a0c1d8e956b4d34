// SMMLA: 32 products of bytes, two rows of eight by two columns of eight, added to four sums of 32 bits (Arm
// Architecture Reference Manual). The rows and columns of bytes are the words of dot_tiles_neon.h.
#include "kernels/int8_dots_neon.h"

namespace cudnn_rnn {
namespace {

struct Int8MatricesNeon : Int8DotsNeon {
  static constexpr bool kMultipliesMatrices = true;
  static constexpr auto& kTileVectors = kMatrixTileVectors;

  static int32x4_t Multiply(int32x4_t sums, uint32x4_t x, uint32x4_t w) {
    return vmmlaq_s32(sums, vreinterpretq_s8_u32(x), vreinterpretq_s8_u32(w));
  }
};

}  // namespace

void ProductByInt8Matrices(const PanelProduct<float>& p) { ProductOfInt8<Int8MatricesNeon>(p); }

}  // namespace cudnn_rnn
