// Compiled with optimization, unlike the tests: as they are, these loops took most of their time.
#include "product_by_definition.h"

namespace cudnn_rnn {

template <typename T>
std::vector<T> ProductByDefinition(const std::vector<T>& a, const std::vector<T>& panel, const std::vector<T>& init,
                                   ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t width) {
  std::vector<T> c(static_cast<size_t>(rows * width));
  for (ptrdiff_t i = 0; i < rows; i++) {
    std::vector<double> sums(init.begin() + i * width, init.begin() + (i + 1) * width);
    for (ptrdiff_t k = 0; k < depth; k++) {
      const double factor = a[i * depth + k];
      for (ptrdiff_t j = 0; j < width; j++) sums[j] += factor * panel[k * width + j];
    }
    for (ptrdiff_t j = 0; j < width; j++) c[i * width + j] = static_cast<T>(sums[j]);
  }
  return c;
}

template std::vector<float> ProductByDefinition(const std::vector<float>&, const std::vector<float>&,
                                                const std::vector<float>&, ptrdiff_t, ptrdiff_t, ptrdiff_t);
template std::vector<double> ProductByDefinition(const std::vector<double>&, const std::vector<double>&,
                                                 const std::vector<double>&, ptrdiff_t, ptrdiff_t, ptrdiff_t);

}  // namespace cudnn_rnn
