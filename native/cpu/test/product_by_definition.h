// The product over a panel by its definition, to which the kernels' products are compared.
#pragma once

#include <cstddef>
#include <vector>

namespace cudnn_rnn {

// Rounding of a sum of `terms` products of numbers below 0.1, at worst.
template <typename T>
constexpr double SumTolerance(ptrdiff_t terms) {
  return (sizeof(T) == 4 ? 6e-8 : 1.2e-16) * (8 + static_cast<double>(terms) / 8);
}

// init + a · panel in double precision, of float and double. a [rows, depth], panel [depth, width], init and the result
// [rows, width].
template <typename T>
std::vector<T> ProductByDefinition(const std::vector<T>& a, const std::vector<T>& panel, const std::vector<T>& init,
                                   ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t width);

}  // namespace cudnn_rnn
