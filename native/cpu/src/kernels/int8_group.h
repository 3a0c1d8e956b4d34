#pragma once

namespace cudnn_rnn {

// Consecutive rows of the depth that int8 weights of one column are stored for side by side, as the instruction takes
// them that multiplies and adds: four bytes of VPDPBUSD and USDOT, two of i32x4.dot_i16x8_s.
#if defined(__wasm__)
inline constexpr int kInt8GroupRows = 2;
#else
inline constexpr int kInt8GroupRows = 4;
#endif

}  // namespace cudnn_rnn
