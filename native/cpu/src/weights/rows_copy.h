// The memory of the copies that kernels make of a product's rows (RowsCopy in kernels.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "memory/arena.h"
#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

// Whether products of a pass need a RowsCopy for each thread.
template <typename T>
bool NeedsRowsCopy(const KernelTable<T>& kernels, WeightFormat format) {
  return IsInt8(format) || format == WeightFormat::kBfloat16Products || kernels.copies_rows;
}

// Takes the memory of one thread's copy for products of up to `rows` rows with any matrix of the network.
template <typename T>
RowsCopy TakeRowsCopy(const Network<T>& network, WeightFormat format, ptrdiff_t rows, Arena* arena) {
  const ptrdiff_t depth = std::max({network.options().input_size, network.output_size(), network.options().units});
  if (!IsInt8(format)) return {0, nullptr, nullptr, reinterpret_cast<uint32_t*>(arena->Take<T>(rows * depth)), false};
  const bool in_bytes = format == WeightFormat::kInt8Products;
  const ptrdiff_t blocks = DivideUp(depth, kInt8BlockRows);
  const ptrdiff_t words = blocks * kInt8BlockRows / 2;
  float* factors = arena->Take<float>(rows * blocks);
  int32_t* sums = arena->Take<int32_t>(rows * blocks);
  return {0, factors, sums, arena->Take<uint32_t>(rows * (in_bytes ? std::max(words, depth) : words)), in_bytes};
}

}  // namespace cudnn_rnn
