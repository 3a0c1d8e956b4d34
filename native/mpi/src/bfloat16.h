// bfloat16, the upper half of a float32.
#pragma once

#include <cstdint>
#include <cstring>

namespace cudnn_rnn {

/// To the nearest, ties to even; NaN stays NaN.
inline std::uint16_t ToBfloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float FromBfloat16(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace cudnn_rnn
