#pragma once

#include <cstddef>

namespace emulator {

/// A row-major matrix of doubles; `transposed` reads it the other way round.
struct MatrixView {
  const double* data;
  std::size_t stride;
  bool transposed = false;

  double operator()(std::size_t row, std::size_t column) const {
    return transposed ? data[column * stride + row] : data[row * stride + column];
  }
};

/// c[m,n] += a[m,k] · b[k,n], c row-major with rows `stride` apart.
void AddProduct(std::size_t m, std::size_t n, std::size_t k, MatrixView a, MatrixView b, double* c, std::size_t stride);

}  // namespace emulator
