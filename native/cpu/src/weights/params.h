#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/kernels.h"
#include "weights/network.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

// The parameters of a pass: the opaque buffer, and its quantized copy if the inference reads that instead.
template <typename T>
struct Params {
  const T* data;
  const QuantizedWeights* quantized = nullptr;

  // c = init + a · rows [first_row, first_row + depth) of panel `panel` of the matrix. Completes the product in place:
  // a copy is some 20 fields, written one by one and read back in pairs, for which the loads wait until the stores have
  // left the store queue.
  void Multiply(const KernelTable<T>& kernels, const PanelMatrix& matrix, ptrdiff_t panel, ptrdiff_t first_row,
                PanelProduct<T>* product) const {
    product->chunks = matrix.ChunksOf(panel);
    if (quantized == nullptr) {
      matrix.StridesOf<T>(panel).Point(product, data + matrix.PanelBegin<T>(panel), first_row);
      kernels.product(*product);
    } else if constexpr (sizeof(T) == 4) {
      quantized->Point(product, matrix, panel, first_row);
      switch (quantized->format()) {
        case WeightFormat::kInt8:
        case WeightFormat::kInt8Products:
          return kernels.product_int8(*product);
        case WeightFormat::kBfloat16Products:
          if (const float* rounded = quantized->RoundedOf(matrix);
              product->rows > kBytesBoundRows && rounded != nullptr) {
            const ptrdiff_t begin = matrix.PanelBegin<float>(panel) - matrix.offset;
            matrix.StridesOf<float>(panel).Point(product, rounded + begin, first_row);
            return kernels.bfloat16.rounded_product(*product);
          }
          return kernels.bfloat16.product(*product);
        default:
          return kernels.product_bfloat16(*product);
      }
    }
  }

  // c = init + a · panel over product->depth rows of the matrix, in blocks of the depth: the part of a panel that a
  // block reads stays in the second-level cache while all rows pass. The blocks after the first one start from c. A
  // copy of a is of the whole depth.
  void MultiplyBlocks(const KernelTable<T>& kernels, const PanelMatrix& matrix, ptrdiff_t panel,
                      PanelProduct<T>* product) const {
    const ptrdiff_t depth = product->depth;
    const ptrdiff_t depth_block = product->rows_copy != nullptr ? depth : DepthBlock(depth);
    const void* next = product->next;
    for (ptrdiff_t k = 0; k < depth; k += depth_block) {
      product->depth = std::min(depth_block, depth - k);
      product->next = k + depth_block < depth ? RowsOf(matrix, panel, k + depth_block) : next;
      Multiply(kernels, matrix, panel, k, product);
      product->a += depth_block;
      product->init = product->c;
      product->init_stride = product->c_stride;
    }
  }

  // The start of those rows, for PanelProduct::next; null for quantized weights, whose panels lie elsewhere.
  const T* RowsOf(const PanelMatrix& matrix, ptrdiff_t panel, ptrdiff_t first_row) const {
    if (quantized != nullptr) return nullptr;
    return data + matrix.PanelBegin<T>(panel) + first_row * matrix.StridesOf<T>(panel).row;
  }

  WeightFormat format() const { return quantized == nullptr ? WeightFormat::kNative : quantized->format(); }

  // Rows that wait for the bytes of the weights, not for the instructions that widen these.
  static constexpr ptrdiff_t kBytesBoundRows = 4;

  // The most rows of a matrix that one product may be about.
  ptrdiff_t DepthBlock(ptrdiff_t depth) const { return IsInt8(format()) ? depth : std::min(depth, kDepthBlock); }

  // 512 rows of a panel of float32 take 128 KiB, a quarter of the smallest second-level cache of a server's core.
  static constexpr ptrdiff_t kDepthBlock = 512;
};

}  // namespace cudnn_rnn
