// The order of int8 weights in their panel. A group is the weights of a chunk in kInt8GroupRows consecutive rows of the
// depth, as the instruction takes them that multiplies and adds.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cudnn_rnn {

#if defined(__wasm__)
// i32x4.dot_i16x8_s takes two rows of four columns. Each 16 bits hold two weights (Int8DotsWasm): in the low byte one
// of the first four columns, plus 128, and in the high byte one of the last four.
inline constexpr int kInt8GroupRows = 2;
// Groups are in PanelOrder::kRows for any order of the other panels. A row of them is one cache line, and tiles of many
// rows read the panel from the first-level cache.
inline constexpr bool kInt8InRows = true;
constexpr ptrdiff_t Int8ByteOfGroup(ptrdiff_t row, ptrdiff_t column) {
  return 2 * (kInt8GroupRows * (column % 4) + row) + column / 4;
}
constexpr uint8_t StoredInt8(int8_t weight, ptrdiff_t column) {
  return static_cast<uint8_t>(column < 4 ? weight + 128 : weight);
}
#else
// VPDPBUSD and USDOT take four rows of a column, and so does the kernel of AVX2.
inline constexpr int kInt8GroupRows = 4;
inline constexpr bool kInt8InRows = false;
constexpr ptrdiff_t Int8ByteOfGroup(ptrdiff_t row, ptrdiff_t column) { return kInt8GroupRows * column + row; }
constexpr uint8_t StoredInt8(int8_t weight, ptrdiff_t) { return static_cast<uint8_t>(weight); }
#endif

}  // namespace cudnn_rnn
