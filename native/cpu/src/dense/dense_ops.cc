#include "dense/dense_ops.h"

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "weights/divide_up.h"
#include "weights/panel_matrix.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace cudnn_rnn {
namespace {

// 96 rows of 512 float32 are 192 KiB and a panel of 64 columns 128 KiB: together in a second-level cache of 512 KiB.
constexpr ptrdiff_t kRowBlock = 96;

// Up to this many rows of the result, packing b costs more than reading it in place: measured with AVX2 and
// AVX-512 at [512,512] and [1024,2048].
constexpr ptrdiff_t kStreamedRows = 4;
// Bytes of a row of b that are read at once: a page, which the hardware prefetchers do not cross. A page of c stays in
// the first-level cache.
constexpr ptrdiff_t kStreamedBytes = 4096;

// Few rows by a matrix of contiguous rows, which is read once, from where it lies. Each thread has its own columns,
// so no sums of threads are added, and the sum of a column has one order for any number of threads.
template <typename T>
void MultiplyStreamed(const Engine<T>& engine, Operand<T> a, Operand<T> b, const T* bias, bool accumulate, T* c,
                      ptrdiff_t c_stride, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns) {
  const int members = MembersFor(*engine.pool, *engine.kernels, 2.0 * rows * depth * columns);
  const ptrdiff_t chunks = DivideUp(columns, kChunk<T>);
  constexpr ptrdiff_t kMostChunks = kStreamedBytes / static_cast<ptrdiff_t>(sizeof(T)) / kChunk<T>;
  const ptrdiff_t part_chunks = std::min(DivideUp(chunks, members), kMostChunks);
  const ptrdiff_t parts = DivideUp(chunks, part_chunks);
  RunLoop(engine, members, parts, [&](ptrdiff_t part, int) {
    const ptrdiff_t first = part * part_chunks * kChunk<T>;
    StreamedProduct<T> product{};
    product.a = a.data;
    product.a_stride = a.row_stride;
    product.a_column_stride = a.column_stride;
    product.rows = rows;
    product.depth = depth;
    product.b = b.data + first;
    product.b_stride = b.row_stride;
    product.columns = std::min(part_chunks * kChunk<T>, columns - first);
    product.c = c + first;
    product.c_stride = c_stride;
    for (ptrdiff_t row = 0; !accumulate && row < rows; row++) {
      if (bias == nullptr) {
        std::fill_n(product.c + row * c_stride, product.columns, T{0});
      } else {
        std::copy_n(bias + first, product.columns, product.c + row * c_stride);
      }
    }
    engine.kernels->streamed_product(product);
  });
}

// Blocked as GotoBLAS and BLIS: a panel of b in the first-level and second-level cache, a block of rows of a in the
// second-level cache, the tile of c in registers (https://doi.org/10.1145/1356052.1356053).
// Packs b to panels, multiplies block by block, all in one call of the pool. Packing b costs depth · columns moves
// against rows · depth · columns multiply-adds; a of unit column stride is read in place.
// kRounds: both factors are rounded to bfloat16, b as pairs of its rows, and the rows of a block by each thread.
template <bool kRounds, typename T>
void MultiplyPacked(const Engine<T>& engine, Operand<T> a, Operand<T> b, const T* bias, bool accumulate, T* c,
                    ptrdiff_t c_stride, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns) {
  constexpr ptrdiff_t kWidth = kPanelChunks * kChunk<T>;
  using Weight = std::conditional_t<kRounds, uint32_t, T>;
  // Rows of b in one element of its copy.
  constexpr ptrdiff_t kRowsOf = kRounds ? 2 : 1;
  // 1,024 pairs of 64 columns are 256 KiB.
  constexpr ptrdiff_t kDepthBlock = kRounds ? 2048 : 512;
  const auto product_of = kRounds ? engine.kernels->bfloat16.product : engine.kernels->product;
  // One item of the last loop is a block of rows times a panel: at least as many items as panels, so small products
  // still divide among the threads.
  const ptrdiff_t panels = DivideUp(columns, kWidth);
  const ptrdiff_t blocks = DivideUp(rows, kRowBlock);
  const ptrdiff_t block_rows = std::min(rows, kRowBlock);
  const ptrdiff_t packed_depth = DivideUp(depth, kRowsOf);
  // The kernel broadcasts consecutive elements of a row. A transposed a would touch a new cache line for each.
  const bool pack_a = a.column_stride != 1;
  const int members = MembersFor(*engine.pool, *engine.kernels, 2.0 * rows * depth * columns);

  // From the executor's cache of blocks: the same product repeats in every training step, and fresh pages would cost
  // more than a small product.
  Weight* packed_b;
  T *packed_a, *tiles, *padded_bias;
  uint32_t* words;
  MemoryBlock memory = engine.blocks->TakeFor([&](Arena* arena) {
    packed_b = arena->Take<Weight>(panels * kWidth * packed_depth);
    packed_a = pack_a ? arena->Take<T>(rows * depth) : nullptr;
    tiles = arena->Take<T>(members * block_rows * kWidth);
    padded_bias = arena->Take<T>(panels * kWidth);
    words = arena->Take<uint32_t>(kRounds ? members * block_rows * depth : 0);
  });

  const PanelStrides<T> strides(engine.kernels->panel_order, packed_depth, kPanelChunks);
  std::fill_n(padded_bias, panels * kWidth, T{0});
  if (bias != nullptr) std::copy_n(bias, columns, padded_bias);
  RunLoops(engine, members, [&](SharedLoops::Member& member, int index) {
    member.Run(panels, [&](ptrdiff_t panel) {
      // Columns of this panel; the last one may be narrower, and is padded with zeros, as an odd last row is.
      const ptrdiff_t valid = std::min(kWidth, columns - panel * kWidth);
      Weight* to = packed_b + panel * packed_depth * kWidth;
      for (ptrdiff_t k = 0; k < depth; k += kRowsOf, to += strides.row) {
        T lines[kRowsOf][kWidth] = {};
        for (ptrdiff_t row = k; row < std::min(depth, k + kRowsOf); row++) {
          const T* from = b.data + row * b.row_stride + panel * kWidth * b.column_stride;
          for (ptrdiff_t j = 0; j < valid; j++) lines[row - k][j] = from[j * b.column_stride];
        }
        for (ptrdiff_t j = 0; j < kWidth; j += strides.row) {
          if constexpr (kRounds) {
            engine.kernels->bfloat16.pairs(lines[0] + j, kWidth, 2, strides.row, to + strides.ColumnAt(j), strides.row);
          } else {
            std::copy_n(lines[0] + j, strides.row, to + strides.ColumnAt(j));
          }
        }
      }
    });
    // a by blocks of rows, in the order in which the kernel reads it. A loop of 0 items costs nothing.
    member.Run(pack_a ? blocks : 0, [&](ptrdiff_t block) {
      const ptrdiff_t last = std::min(rows, (block + 1) * kRowBlock);
      for (ptrdiff_t k = 0; k < depth; k++) {
        for (ptrdiff_t row = block * kRowBlock; row < last; row++) {
          packed_a[row * depth + k] = a.data[row * a.row_stride + k * a.column_stride];
        }
      }
    });
    T* const tile = tiles + index * block_rows * kWidth;
    // A thread has the same copy for all panels of a block.
    RowsCopy copy{0, nullptr, nullptr, words + index * block_rows * depth, false};
    uint64_t version = 0;
    ptrdiff_t copied = -1;
    member.Run(blocks * panels, [&](ptrdiff_t item) {
      // Panels vary fastest: a thread keeps a block of rows of a in its second-level cache for several panels.
      const ptrdiff_t row = item / panels * kRowBlock;
      const ptrdiff_t panel = item % panels;
      const ptrdiff_t count = std::min(kRowBlock, rows - row);
      const ptrdiff_t valid = std::min(kWidth, columns - panel * kWidth);
      T* target = c + row * c_stride + panel * kWidth;
      // Full panels are written in place, the last one by way of a tile.
      T* result = valid == kWidth ? target : tile;
      const ptrdiff_t stride = valid == kWidth ? c_stride : kWidth;
      for (ptrdiff_t r = 0; accumulate && result == tile && r < count; r++) {
        std::copy_n(target + r * c_stride, valid, tile + r * kWidth);
      }
      if (copied != row || depth > kDepthBlock) version++;
      copied = row;
      // At depth 0 the loop runs once, so that c is set to the bias.
      for (ptrdiff_t k = 0; k < depth || k == 0; k += kDepthBlock) {
        PanelProduct<T> product{};
        product.a = pack_a ? packed_a + row * depth + k : a.data + row * a.row_stride + k;
        product.a_stride = pack_a ? depth : a.row_stride;
        product.rows = count;
        product.depth = std::min(kDepthBlock, depth - k);
        strides.Point(&product, packed_b + panel * packed_depth * kWidth, k / kRowsOf);
        product.chunks = kPanelChunks;
        product.rows_copy = kRounds ? &copy : nullptr;
        product.version = k == 0 ? version : ++version;
        // The first block of the depth starts from the bias, the later ones from the sums so far.
        const bool from_bias = k == 0 && !accumulate;
        product.init = from_bias ? padded_bias + panel * kWidth : result;
        product.init_stride = from_bias ? 0 : stride;
        product.c = result;
        product.c_stride = stride;
        product_of(product);
      }
      if (result == target) return;
      for (ptrdiff_t r = 0; r < count; r++) std::copy_n(tile + r * kWidth, valid, target + r * c_stride);
    });
  });
  engine.blocks->GiveBack(std::move(memory));
}

// A rank-1 or few-row product is bound by the reads of b, which packing would triple (read, write, read again).
template <typename T>
bool Streams(Operand<T> b, ptrdiff_t rows) {
  return rows <= kStreamedRows && b.column_stride == 1;
}

template <typename T>
void MultiplyInto(const Engine<T>& engine, Operand<T> a, Operand<T> b, const T* bias, bool accumulate, T* c,
                  ptrdiff_t c_stride, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns) {
  if (rows == 0 || columns == 0) return;
  (Streams(b, rows) ? MultiplyStreamed<T> : MultiplyPacked<false, T>)(engine, a, b, bias, accumulate, c, c_stride, rows,
                                                                      depth, columns);
}

// c += a · bᵀ for b stored as [columns, depth] in whole chunks of depth: dot products along contiguous memory.
template <typename T>
void AddTransposedProduct(const Engine<T>& engine, const T* a, ptrdiff_t a_stride, const T* b, T* c, ptrdiff_t c_stride,
                          ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns) {
  // Columns of one item: two cache lines of float32 in each row of c, so threads share at most the line at a boundary.
  constexpr ptrdiff_t kPart = 32;
  const ptrdiff_t parts = DivideUp(columns, kPart);
  const int members = MembersFor(*engine.pool, *engine.kernels, 2.0 * rows * depth * columns);
  RunLoop(engine, members, parts, [&](ptrdiff_t part, int) {
    TransposedProduct<T> product{};
    product.a = a;
    product.a_stride = a_stride;
    product.rows = rows;
    product.panels = b;
    product.panel_count = 1;
    product.chunks = product.last_chunks = static_cast<int>(depth / kChunk<T>);
    product.depth = columns;
    product.column = part * kPart;
    product.columns = std::min(kPart, columns - part * kPart);
    product.c = c + part * kPart;
    product.c_stride = c_stride;
    product.accumulate = true;
    engine.kernels->transposed_product(product);
  });
}

}  // namespace

// c = a·b + bias, the bias a row that is added to every row of c.
template <typename T>
void Multiply(const Engine<T>& engine, Operand<T> a, Operand<T> b, const T* bias, T* c, ptrdiff_t rows, ptrdiff_t depth,
              ptrdiff_t columns) {
  if constexpr (sizeof(T) == sizeof(float)) {
    // Rounding would save nothing where b is read once.
    if (engine.rounds() && rows > 0 && columns > 0 && !Streams(b, rows))
      return MultiplyPacked<true>(engine, a, b, bias, false, c, columns, rows, depth, columns);
  }
  MultiplyInto(engine, a, b, bias, false, c, columns, rows, depth, columns);
}

// c += a·b: gradients of weights are sums over steps and batches.
template <typename T>
void AddProduct(const Engine<T>& engine, Operand<T> a, Operand<T> b, T* c, ptrdiff_t c_stride, ptrdiff_t rows,
                ptrdiff_t depth, ptrdiff_t columns) {
  // b is the transpose of a contiguous matrix: its columns are dot products along memory, without packing.
  const bool is_transposed = b.row_stride == 1 && b.column_stride == depth && depth % kChunk<T> == 0;
  if (is_transposed && a.column_stride == 1 && rows > 0 && depth > 0) {
    // Both operands are read in place along contiguous memory.
    AddTransposedProduct(engine, a.data, a.row_stride, b.data, c, c_stride, rows, depth, columns);
  } else {
    MultiplyInto<T>(engine, a, b, nullptr, true, c, c_stride, rows, depth, columns);
  }
}

// sums [columns] = Σ over the rows of x [rows, columns].
// In double precision: a gradient of biases sums thousands of rows of either sign.
template <typename T>
void SumRows(const T* x, T* sums, ptrdiff_t rows, ptrdiff_t columns) {
  // Row by row, so memory is read in order; the sums of a few hundred columns stay in the first-level cache.
  std::vector<double> total(columns);
  for (ptrdiff_t row = 0; row < rows; row++) {
    for (ptrdiff_t k = 0; k < columns; k++) total[k] += x[row * columns + k];
  }
  std::copy(total.begin(), total.end(), sums);
}

// √(Σ x²) over all tensors, as tf.linalg.global_norm, in double for both element types: the squares of float32
// gradients beyond 1e19 would overflow in float32. On one thread, so the sum has one order.
template <typename T>
double Norm(const std::vector<std::pair<T*, ptrdiff_t>>& tensors) {
  // An addition of doubles takes 3 to 4 cycles, two can begin in each (https://www.agner.org/optimize/).
  // Eight sums side by side: one alone would wait for each addition.
  double sums[8] = {};
  for (const auto& [data, count] : tensors) {
    ptrdiff_t k = 0;
    for (; k + 8 <= count; k += 8) {
      for (int j = 0; j < 8; j++) sums[j] += static_cast<double>(data[k + j]) * data[k + j];
    }
    for (; k < count; k++) sums[0] += static_cast<double>(data[k]) * data[k];
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

// Parts have a fixed size for any number of threads, so an operation that depends on where a part begins gives the same
// bits on every machine.
template <typename T>
void ForEach(const Engine<T>& engine, ptrdiff_t count, ptrdiff_t part_size,
             const std::function<void(ptrdiff_t, ptrdiff_t)>& part) {
  const ptrdiff_t parts = DivideUp(count, part_size);
  // At least two parts for each thread, as a barrier of the threads costs about as much as one part.
  const int members = static_cast<int>(std::clamp<ptrdiff_t>(parts / 2, 1, engine.pool->size()));
  RunLoop(engine, members, parts, [&](ptrdiff_t k, int) { part(k * part_size, std::min(count, (k + 1) * part_size)); });
}

#define CUDNN_RNN_INSTANTIATE_DENSE_OPS(T)                                                                            \
  template void Multiply(const Engine<T>&, Operand<T>, Operand<T>, const T*, T*, ptrdiff_t, ptrdiff_t, ptrdiff_t);    \
  template void AddProduct(const Engine<T>&, Operand<T>, Operand<T>, T*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t); \
  template void SumRows(const T*, T*, ptrdiff_t, ptrdiff_t);                                                          \
  template double Norm(const std::vector<std::pair<T*, ptrdiff_t>>&);                                                 \
  template void ForEach(const Engine<T>&, ptrdiff_t, ptrdiff_t, const std::function<void(ptrdiff_t, ptrdiff_t)>&);

CUDNN_RNN_INSTANTIATE_DENSE_OPS(float)
CUDNN_RNN_INSTANTIATE_DENSE_OPS(double)

}  // namespace cudnn_rnn
