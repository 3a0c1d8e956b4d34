// A tile of the matrix product over panels: some rows of a by some adjacent vectors of a panel, summed in registers
// over the whole depth. It reads the panel in the order in which it is stored, broadcasts elements of a, and writes c
// once at the end. Included, after one vector_*.h, by the kernel files only.
#pragma once

#include "kernels/kernels.h"
#include "kernels/tile_shapes.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// Rows of the depth in one element of a stored matrix.
template <typename Weight>
inline constexpr int kRowsOf = 1;
template <>
inline constexpr int kRowsOf<Bfloat16Pair> = 2;
template <>
inline constexpr int kRowsOf<Int8Quad> = 4;

// Column scales of int8 weights, PanelProduct::scales.
template <typename Weight>
inline constexpr bool kHasScales = false;
template <>
inline constexpr bool kHasScales<Int8Quad> = true;

// How the operands of a product are stored.
enum class Operands {
  kRows,      // a in rows
  kCopy,      // a in tiles, a RowsCopy
  kGradient,  // a in tiles, the panel in the order of rows, c as the weights are stored
};

// Whether a is in tiles, [depth][rows of the tile] each.
template <Operands kOperands>
inline constexpr bool kInTiles = kOperands != Operands::kRows;

// Whether the chunks of the panel are apart.
template <typename V, Operands kOperands = Operands::kRows>
inline constexpr bool kReadsChunks = V::kPanelOrder == PanelOrder::kChunks && kOperands != Operands::kGradient;

// Steps of the depth in one body of a tile's loop. Several steps share the counting of the loop: older cores take in
// four instructions a cycle, two of them multiply-adds. V8 would load the operands of two steps at once
// (vector_wasm.h).
#if defined(__wasm__)
inline constexpr int kLeastSteps = 1;
#else
inline constexpr int kLeastSteps = 2;
#endif

constexpr int Larger(int a, int b) { return a > b ? a : b; }
constexpr ptrdiff_t Smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

// Hides the origin of a pointer from clang, which else computes each row's address from the row before: 53 instructions
// for 24 multiply-adds of a tile of 6 x 2 vectors (AVX2) instead of 47.
template <typename T>
static inline T* OfItsOwn(T* pointer) {
#if defined(__clang__) && !defined(__wasm__)
  asm("" : "+r"(pointer));
#endif
  return pointer;
}

// How a tile of kRows rows by kVectors vectors reads a and the panel.
template <typename V, typename Weight, int kRows, int kVectors, Operands kOperands>
struct TileOperands {
  using T = typename V::Element;
  static constexpr bool kTiled = kInTiles<kOperands>;
  static constexpr bool kApart = kReadsChunks<V, kOperands>;
  // Row 3 i is read at a[i], the two after it one and two strides on: addresses that processors compute as they load,
  // from fewer pointers than a pointer for each row would take. Tiles in memory have only the first.
  static constexpr int kPointers = kTiled ? 1 : (kRows + 2) / 3;
  const T* a[kPointers];
  ptrdiff_t a_stride;  // between rows
  // If chunks are apart, a pointer for each: their loads then need no index.
  static constexpr int kWidth = kApart && kVectors > kVectorsOfChunk<V> ? kVectorsOfChunk<V> : kVectors;
  static constexpr int kParts = kVectors / kWidth;
  static_assert(kVectors % kWidth == 0, "A tile has whole chunks, or a part of one");
  const Weight* b[kParts];
  ptrdiff_t panel_stride;
  ptrdiff_t b_ahead;  // to the prefetched element

  // Between elements of the depth.
  ptrdiff_t Step() const { return kApart ? kChunk<T> : panel_stride; }
  // The tile's vector number j.
  const Weight* Vector(int j) const { return b[j / kWidth] + j % kWidth * V::kLanes; }
  // A row's element `step` steps from the present one.
  const T* Row(int row, int step) const {
    if constexpr (kTiled) return a[0] + step * kRows + row;
    return a[row / 3] + row % 3 * a_stride + step;
  }
  void StartRows(const T* first) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kPointers; i++) a[i] = OfItsOwn(first + 3 * i * a_stride);
  }
  void StartPanel(const Weight* first, ptrdiff_t chunk_stride) {
    CUDNN_RNN_UNROLL
    for (int part = 0; part < kParts; part++) b[part] = first + part * chunk_stride;
  }
  void AdvanceRows(int steps) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kPointers; i++) a[i] += kTiled ? steps * kRows : steps;
  }
  void AdvancePanel(int groups) {
    CUDNN_RNN_UNROLL
    for (int part = 0; part < kParts; part++) b[part] += groups * Step();
  }
};

// MSVC has no builtin for both architectures, WebAssembly no such instruction: there the hardware prefetcher is all.
#if defined(_MSC_VER) || defined(__wasm__)
inline constexpr bool kHasPrefetch = false;
static inline void PrefetchLine(const void*) {}
static inline void PrefetchToSecondLevel(const void*) {}
#else
inline constexpr bool kHasPrefetch = true;
static inline void PrefetchLine(const void* line) { __builtin_prefetch(line); }
// The line is used after the whole present panel.
static inline void PrefetchToSecondLevel(const void* line) { __builtin_prefetch(line, 0, 2); }
#endif

// The panel that the thread reads after this product, prefetched evenly over the steps of its tiles if these are
// narrower than the panel. Hardware prefetchers follow a part of a panel up to its end, so without it the first tiles
// of the next part wait for the third-level cache. A tile as wide as the panel (AVX-512) reads consecutive lines, which
// they follow: there readahead made LSTM and GRU 16 x 70 x 512 up to 20 % slower on Zen 4.
struct Readahead {
  static constexpr ptrdiff_t kLine = 64;
  const char* position;
  ptrdiff_t step_bytes;  // of each step of each tile; 0 if nothing follows
};

// Reads a panel of the same size, or its part that begins at element `begin` and has `width` elements of each step.
template <typename Weight, typename T>
static inline Readahead ReadaheadOf(const PanelProduct<T>& p, ptrdiff_t tiles, ptrdiff_t begin, ptrdiff_t width) {
  if (p.next == nullptr) return {static_cast<const char*>(p.panel), 0};
  const ptrdiff_t step = width * static_cast<ptrdiff_t>(sizeof(Weight)) / kRowsOf<Weight>;
  return {reinterpret_cast<const char*>(static_cast<const Weight*>(p.next) + begin), (step + tiles - 1) / tiles};
}

// A tile narrower than a panel in the order of rows reads lines a panel's row apart, 16 of them in a page of 4 KiB.
// Hardware prefetchers follow consecutive lines within a page (AMD, "Software Optimization Guide for the Zen4
// Microarchitecture", 2.8), so such a tile prefetches its lines itself. A step takes 6 cycles: 16 steps are longer than
// the third-level cache needs. The first tile of a deep panel finds its lines in memory, which needs four times as
// long.
constexpr ptrdiff_t PrefetchedSteps(ptrdiff_t depth) { return depth > 512 ? 64 : 16; }

// Whether a tile keeps each weight in a register. g++ makes the weights of a tile of 2 or 3 rows by 4 vectors memory
// operands of every multiply-add, and loads them once for each row: 10 and 15 loads of 64 bytes for 8 and 12
// multiply-adds, where Zen 4 does one of each a cycle.
#if defined(__AVX2__) && defined(__GNUC__)
template <int kRows, int kVectors>
inline constexpr bool kHoldsWeights = kRows > 1 && kRows < kVectors;
template <typename V>
static inline void HoldInRegister(V* vector) {
  asm("" : "+v"(vector->v));
}
#else
template <int kRows, int kVectors>
inline constexpr bool kHoldsWeights = false;
template <typename V>
static inline void HoldInRegister(V*) {}
#endif

// Adds kSteps steps of the depth to the sums; step s is added to sums[s % kSplit]. Three forms of the same:
//  - lanes (NEON): one load brings the next four steps of a row, and FMLA multiplies by one lane of it, without a
//  broadcast;
//  - few rows: the rows are held and the weights pass by;
//  - many rows: the weights are held and the rows pass by, each broadcast by the load itself (vbroadcastss, or
//  {1to16}).
template <typename V, typename Weight, int kRows, int kVectors, int kSplit, int kSteps, Operands kOperands,
          bool kPrefetches>
static inline void TileSteps(TileOperands<V, Weight, kRows, kVectors, kOperands> p,
                             V (&sums)[kSplit][kRows][kVectors]) {
  constexpr bool kTiled = kInTiles<kOperands>;
  constexpr int kGroup = kRowsOf<Weight>;
  constexpr ptrdiff_t kLine = 64 / sizeof(Weight);
  // If the instruction set multiplies by a lane, one register holds the next elements of a row, or one element of each
  // row of the tile.
  constexpr int kHeld = kTiled ? (kRows + V::kLanes - 1) / V::kLanes : kRows;
  V held[V::kMultipliesLanes ? kHeld : 1];
  if constexpr (V::kMultipliesLanes && !kTiled) {
    static_assert(kSteps == V::kLanes);
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) held[i] = V::Load(p.Row(i, 0));
  }
  CUDNN_RNN_UNROLL
  for (int s = 0; s < kSteps; s++, p.AdvancePanel(s % kGroup == 0 ? 1 : 0)) {
    if constexpr (kPrefetches) {
      for (ptrdiff_t k = 0; k < kVectors * V::kLanes; k += kLine) PrefetchLine(p.Vector(0) + p.b_ahead + k);
    }
    V(&sum)[kRows][kVectors] = sums[s % kSplit];
    if constexpr (V::kMultipliesLanes) {
      if constexpr (kTiled) {
        CUDNN_RNN_UNROLL
        for (int h = 0; h < kHeld; h++) held[h] = V::Load(p.Row(h * V::kLanes, s));
      }
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const V weights = V::LoadRow(p.Vector(j), s % kGroup);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          const int lane = kTiled ? i % V::kLanes : s;
          sum[i][j] = MultiplyAddLane(held[kTiled ? i / V::kLanes : i], lane, weights, sum[i][j]);
        }
      }
    } else if constexpr (kRows < kVectors) {
      V x[kRows];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) x[i] = V::Set(*p.Row(i, s));
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        V weights = V::LoadRow(p.Vector(j), s % kGroup);
        if constexpr (kHoldsWeights<kRows, kVectors>) HoldInRegister(&weights);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) sum[i][j] = MultiplyAdd(x[i], weights, sum[i][j]);
      }
    } else {
      V weights[kVectors];
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) weights[j] = V::LoadRow(p.Vector(j), s % kGroup);
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        const V x = V::Set(*p.Row(i, s));
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) sum[i][j] = MultiplyAdd(x, weights[j], sum[i][j]);
      }
    }
  }
}

// kRows x kVectors vectors of the product, from `row` and column `column` on. A separate function, as panels of
// any width share and scripts/checks/check_hot_loops.mjs finds by name. kNarrow: a tile of several across the panel.
template <typename V, typename Weight, int kRows, int kVectors, Operands kOperands, bool kNarrow>
[[gnu::noinline]] static void ProductTile(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t column,
                                          const Readahead& readahead) {
  using T = typename V::Element;
  constexpr int kSplit = TileSplit<V>(kRows * kVectors);
  constexpr bool kTiled = kInTiles<kOperands>;
  using OfTile = TileOperands<V, Weight, kRows, kVectors, kOperands>;
  constexpr bool kWritesChunks = kOperands == Operands::kGradient && V::kPanelOrder == PanelOrder::kChunks;
  // From the first vector to an element of the tile.
  const auto offset = [](ptrdiff_t element, ptrdiff_t chunk_stride) {
    return kWritesChunks ? element / kChunk<T> * chunk_stride + element % kChunk<T> : element;
  };
  // Without init, zeros are read: branches between the sums and their stores make V8 before version 13 spill the sums.
  alignas(64) static constexpr T kZeros[kVectors * V::kLanes] = {};
  const bool has_init = p.init != nullptr;
  const ptrdiff_t init_stride = has_init ? p.init_stride : 0;
  const ptrdiff_t init_chunk_stride = has_init ? p.c_chunk_stride : kChunk<T>;
  const T* const init = has_init ? p.init + row * init_stride + offset(column, p.c_chunk_stride) : kZeros;
  const auto init_of = [&](int i, int j) { return init + i * init_stride + offset(j * V::kLanes, init_chunk_stride); };
  // Tiles of many rows prefetch init here and add it at the end: their sums would all wait for it. Tiles of few rows
  // start from it, because they have no time for one more line.
  constexpr bool kAddsInit = kRows >= 4;
  if constexpr (kHasPrefetch && kAddsInit) {
    constexpr int kVectorsOfLine = Larger(1, static_cast<int>(Readahead::kLine / sizeof(T) / V::kLanes));
    for (int i = 0; i < kRows; i++) {
      for (int j = 0; j < kVectors; j += kVectorsOfLine) PrefetchLine(init_of(i, j));
    }
  }
  V sums[kSplit][kRows][kVectors];
  CUDNN_RNN_UNROLL
  for (int s = 0; s < kSplit; s++) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        constexpr bool kStarts = !kAddsInit && !kHasScales<Weight>;
        sums[s][i][j] = kStarts && s == 0 ? V::Load(init_of(i, j)) : V::Set(0);
      }
    }
  }
  constexpr int kGroup = kRowsOf<Weight>;
  // g++ spills a sum of two steps of held weights.
  constexpr int kLeast = kHoldsWeights<kRows, kVectors> ? 1 : kLeastSteps;
  constexpr int kSteps = V::kMultipliesLanes ? static_cast<int>(V::kLanes) : Larger(kLeast, Larger(kSplit, kGroup));
  static_assert(kSteps % kSplit == 0 && kSteps % kGroup == 0);
  // Half as many lines as the tile itself reads, so that two tiles of rows prefetch the whole panel. Readahead stands
  // between bursts of steps, as the inner loop has neither registers nor instructions to spare; if chunks are apart,
  // it prefetches no lines of the present panel, and has room for one of the next.
  constexpr bool kReadsAhead = kNarrow && kAddsInit;
  constexpr ptrdiff_t kBurst = OfTile::kApart ? 1 : 8;
  constexpr ptrdiff_t kStepBytes = kVectors * V::kLanes * static_cast<ptrdiff_t>(sizeof(Weight)) / kGroup;
  constexpr ptrdiff_t kAheadLines = kReadsAhead ? kBurst * kSteps * kStepBytes / 2 / Readahead::kLine : 0;
  const char* ahead = readahead.position;
  const ptrdiff_t ahead_bytes =
      kReadsAhead ? Smaller(kBurst * kSteps * readahead.step_bytes, kAheadLines * Readahead::kLine) : 0;
  const ptrdiff_t b_column = OfTile::kApart ? column / kChunk<T> * p.chunk_stride : column;
  OfTile operands{{}, p.a_stride, {}, p.panel_stride, PrefetchedSteps(p.depth) * p.panel_stride};
  operands.StartPanel(static_cast<const Weight*>(p.panel) + b_column, p.chunk_stride);
  const auto add_group = [&] {
    TileSteps<V, Weight, kRows, kVectors, kSplit, kSteps, kOperands, kNarrow && !OfTile::kApart>(operands, sums);
    operands.AdvanceRows(kSteps);
    operands.AdvancePanel(kSteps / kGroup);
  };
  const auto add_steps = [&](const T* a, ptrdiff_t depth) {
    operands.StartRows(a);
    // Counted down to 0, which takes no instruction for a comparison. The loop is in no other where it can be: V8
    // before version 13 repeats the body of a nested loop, and then spills.
    if constexpr (kReadsAhead) {
      for (ptrdiff_t groups = depth / kSteps; groups > 0; groups -= kBurst) {
        for (ptrdiff_t line = 0; line < kAheadLines; line++) PrefetchToSecondLevel(ahead + line * Readahead::kLine);
        ahead += ahead_bytes;
        for (ptrdiff_t group = Smaller(groups, kBurst); group > 0; group--) add_group();
      }
    } else {
      for (ptrdiff_t group = depth / kSteps; group > 0; group--) add_group();
    }
    // The remainder of the depth, a step at a time, into the first group of sums.
    OfTile rest = operands;
    for (int s = 0; s < depth % kSteps; s++) {
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        const V x = V::Set(*rest.Row(i, 0));
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          const V weights = V::LoadRow(rest.Vector(j), s % kGroup);
          sums[0][i][j] = MultiplyAdd(x, weights, sums[0][i][j]);
        }
      }
      rest.AdvanceRows(1);
      if (s % kGroup == kGroup - 1) rest.AdvancePanel(1);
    }
  };
  if constexpr (kTiled) {
    add_steps(p.a + row * p.depth, p.depth);
  } else {
    // a may itself be in panels (the pre-activations of a backward pass do): the sums stay in registers across them.
    const ptrdiff_t panel_width = p.a_panel_width > 0 ? p.a_panel_width : p.depth;
    const T* a = p.a + row * p.a_stride;
    for (ptrdiff_t left = p.depth; left > 0; left -= panel_width, a += p.a_panel_stride) {
      add_steps(a, Smaller(left, panel_width));
    }
  }
  // Read before the first store, which may change them for all that the compiler knows.
  const ptrdiff_t c_stride = p.c_stride, c_chunk_stride = p.c_chunk_stride;
  [[maybe_unused]] const T* const scales = kHasScales<Weight> ? p.scales + column : nullptr;
  T* const c = p.c + row * c_stride + offset(column, c_chunk_stride);
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kRows; i++) {
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kVectors; j++) {
      // Sums of few rows are split (TileSplit), so the last bits of a result depend on the number of rows in its tile.
      // The passes therefore cut rows independently of the number of threads.
      V sum = sums[0][i][j];
      CUDNN_RNN_UNROLL
      for (int s = 1; s < kSplit; s++) sum = sum + sums[s][i][j];
      if constexpr (kHasScales<Weight>) {
        // Column scales of int8 weights: c = init + scale · Σ a·q, one multiply-add per output instead of one per
        // weight.
        sum = MultiplyAdd(sum, V::Load(scales + j * V::kLanes), V::Load(init_of(i, j)));
      } else if constexpr (kAddsInit) {
        sum = V::Load(init_of(i, j)) + sum;
      }
      sum.Store(c + i * c_stride + offset(j * V::kLanes, c_chunk_stride));
    }
  }
}

// Tiles of rows that pass by a chunk before the next one: 72 rows of 512 float32 are 144 KiB, which stay in a
// second-level cache while all chunks of the panel pass.
inline constexpr ptrdiff_t kTilesAtOnce = 12;

}  // namespace
