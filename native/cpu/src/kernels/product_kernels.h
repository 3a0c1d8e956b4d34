// The matrix product over panels, c = init + a · panel. Included, after one vector_*.h, by the kernel files only.
//
// The loops, from the outside: blocks of rows and panels (the passes) > tiles of rows > tiles across the panel > steps
// of the depth > registers. Where the chunks of a panel are apart (PanelOrder::kChunks), the tiles across are outside
// of the tiles of rows. The innermost two are ProductTile. It reads the panel in the order in which it is stored,
// broadcasts elements of a, and writes c once at the end. The stages from a naive loop to this one, each with its time:
// docs/cpu_kernels.md.
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

// Whether the chunks of the panel are apart.
template <typename V, bool kPacked>
inline constexpr bool kReadsChunks = V::kPanelOrder == PanelOrder::kChunks && !kPacked;

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

// How a tile of kRows rows reads a and the panel.
template <typename V, typename Weight, int kRows, bool kPacked>
struct TileOperands {
  using T = typename V::Element;
  static constexpr bool kApart = kReadsChunks<V, kPacked>;
  // Row 3 i is read at a[i], the two after it one and two strides on: addresses that processors compute as they load,
  // from fewer pointers than a pointer for each row would take. Packed tiles have only the first.
  static constexpr int kPointers = (kRows + 2) / 3;
  const T* a[kPointers];
  ptrdiff_t a_stride;  // between rows
  const Weight* b;
  ptrdiff_t panel_stride;
  ptrdiff_t chunk_stride;
  ptrdiff_t b_ahead;  // to the prefetched element

  // Between elements of the depth.
  ptrdiff_t Step() const { return kApart ? kChunk<T> : panel_stride; }
  // From the tile's first vector to its number j.
  ptrdiff_t Vector(int j) const {
    constexpr int kInChunk = kVectorsOfChunk<V>;
    return kApart ? j / kInChunk * chunk_stride + j % kInChunk * V::kLanes : j * V::kLanes;
  }
  const T* Row(int row) const { return a[row / 3] + row % 3 * a_stride; }
  void Start(const T* first) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kPointers; i++) a[i] = kPacked ? first : first + 3 * i * a_stride;
  }
  void Advance(ptrdiff_t elements) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kPointers; i++) a[i] += elements;
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

// The panel that the thread reads after this product, prefetched evenly over the steps of its tiles where these are
// narrower than the panel. Hardware prefetchers follow a part of a panel up to its end, so without it the first tiles
// of the next part wait for the third-level cache. A tile as wide as the panel (AVX-512) reads consecutive lines, which
// they follow: there readahead made LSTM and GRU 16 x 70 x 512 up to 20 % slower on Zen 4.
struct Readahead {
  static constexpr ptrdiff_t kLine = 64;
  const char* position;
  ptrdiff_t step_bytes;  // of each step of each tile; 0 where nothing follows
};

// Of a panel of the same size, or of a part of it that begins at element `begin` and has `width` elements of each step.
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

// Adds kSteps steps of the depth to the sums; step s is added to sums[s % kSplit]. Three forms of the same:
//  - lanes (NEON): one load brings the next four steps of a row, and FMLA multiplies by one lane of it, without a
//  broadcast;
//  - few rows: the rows are held and the weights pass by;
//  - many rows: the weights are held and the rows pass by, each broadcast by the load itself (vbroadcastss, or
//  {1to16}).
template <typename V, typename Weight, int kRows, int kVectors, int kSplit, int kSteps, bool kPacked, bool kPrefetches>
static inline void TileSteps(const TileOperands<V, Weight, kRows, kPacked>& p, V (&sums)[kSplit][kRows][kVectors]) {
  constexpr int kGroup = kRowsOf<Weight>;
  constexpr ptrdiff_t kLine = 64 / sizeof(Weight);
  // Where lanes of a register are multiplied by, a register holds a row's next steps or, packed, the rows of one step.
  constexpr int kHeld = kPacked ? (kRows + V::kLanes - 1) / V::kLanes : kRows;
  const Weight* b = p.b;
  V held[V::kMultipliesLanes ? kHeld : 1];
  if constexpr (V::kMultipliesLanes && !kPacked) {
    static_assert(kSteps == V::kLanes);
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) held[i] = V::Load(p.Row(i));
  }
  CUDNN_RNN_UNROLL
  for (int s = 0; s < kSteps; s++, b += s % kGroup == 0 ? p.Step() : 0) {
    if constexpr (kPrefetches) {
      for (ptrdiff_t k = 0; k < kVectors * V::kLanes; k += kLine) PrefetchLine(b + p.b_ahead + k);
    }
    V(&sum)[kRows][kVectors] = sums[s % kSplit];
    if constexpr (V::kMultipliesLanes) {
      if constexpr (kPacked) {
        CUDNN_RNN_UNROLL
        for (int h = 0; h < kHeld; h++) held[h] = V::Load(p.a[0] + s * kRows + h * V::kLanes);
      }
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const V weights = V::LoadRow(b + p.Vector(j), s % kGroup);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          const int lane = kPacked ? i % V::kLanes : s;
          sum[i][j] = MultiplyAddLane(held[kPacked ? i / V::kLanes : i], lane, weights, sum[i][j]);
        }
      }
    } else if constexpr (kRows < kVectors) {
      V x[kRows];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) x[i] = V::Set(kPacked ? p.a[0][s * kRows + i] : p.Row(i)[s]);
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const V weights = V::LoadRow(b + p.Vector(j), s % kGroup);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) sum[i][j] = MultiplyAdd(x[i], weights, sum[i][j]);
      }
    } else {
      V weights[kVectors];
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) weights[j] = V::LoadRow(b + p.Vector(j), s % kGroup);
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        const V x = V::Set(kPacked ? p.a[0][s * kRows + i] : p.Row(i)[s]);
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) sum[i][j] = MultiplyAdd(x, weights[j], sum[i][j]);
      }
    }
  }
}

// kRows x kVectors vectors of the product, from `row` and column `column` on. A separate function, as panels of
// any width share and scripts/check_hot_loops.mjs finds by its name. kNarrow: a tile of several across the panel.
template <typename V, typename Weight, int kRows, int kVectors, bool kPacked, bool kNarrow>
[[gnu::noinline]] static void ProductTile(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t column,
                                          const Readahead& readahead) {
  using T = typename V::Element;
  constexpr int kSplit = TileSplit<V>(kRows * kVectors);
  constexpr ptrdiff_t kLineElements = Readahead::kLine / static_cast<ptrdiff_t>(sizeof(T));
  using Operands = TileOperands<V, Weight, kRows, kPacked>;
  // The gradient of the weights is stored as they are.
  constexpr bool kWritesChunks = kPacked && V::kPanelOrder == PanelOrder::kChunks;
  const auto place = [&](ptrdiff_t element) {
    return kWritesChunks ? element / kChunk<T> * p.c_chunk_stride + element % kChunk<T> : element;
  };
  // Tiles of many rows prefetch init here and add it at the end: their sums would all wait for it. Tiles of few rows
  // start from it, because they have no time for one more line.
  constexpr bool kAddsInit = kRows >= 4;
  if (kHasPrefetch && kAddsInit && p.init != nullptr) {
    for (int i = 0; i < kRows; i++) {
      const T* init = p.init + (row + i) * p.init_stride;
      for (ptrdiff_t k = 0; k < kVectors * V::kLanes; k += kLineElements) PrefetchLine(init + place(column + k));
    }
  }
  V sums[kSplit][kRows][kVectors];
  CUDNN_RNN_UNROLL
  for (int s = 0; s < kSplit; s++) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const bool starts = !kAddsInit && s == 0 && p.init != nullptr && !kHasScales<Weight>;
        const ptrdiff_t element = place(column + j * V::kLanes);
        sums[s][i][j] = starts ? V::Load(p.init + (row + i) * p.init_stride + element) : V::Set(0);
      }
    }
  }
  constexpr int kGroup = kRowsOf<Weight>;
  constexpr int kSteps =
      V::kMultipliesLanes ? static_cast<int>(V::kLanes) : Larger(kLeastSteps, Larger(kSplit, kGroup));
  static_assert(kSteps % kSplit == 0 && kSteps % kGroup == 0);
  // Half as many lines as the tile itself reads, so that two tiles of rows prefetch the whole panel. Readahead stands
  // between bursts of steps, as the inner loop has neither registers nor instructions to spare; where chunks are apart,
  // it prefetches no lines of the present panel, and has room for one of the next.
  constexpr bool kReadsAhead = kNarrow && kAddsInit;
  constexpr ptrdiff_t kBurst = !kReadsAhead ? PTRDIFF_MAX : Operands::kApart ? 1 : 8;
  constexpr ptrdiff_t kStepBytes = kVectors * V::kLanes * static_cast<ptrdiff_t>(sizeof(Weight)) / kGroup;
  constexpr ptrdiff_t kAheadLines = kReadsAhead ? kBurst * kSteps * kStepBytes / 2 / Readahead::kLine : 0;
  const char* ahead = readahead.position;
  const ptrdiff_t ahead_bytes =
      kReadsAhead ? Smaller(kBurst * kSteps * readahead.step_bytes, kAheadLines * Readahead::kLine) : 0;
  const ptrdiff_t b_column = Operands::kApart ? column / kChunk<T> * p.chunk_stride : column;
  Operands operands{{},
                    p.a_stride,
                    static_cast<const Weight*>(p.panel) + b_column,
                    p.panel_stride,
                    p.chunk_stride,
                    PrefetchedSteps(p.depth) * p.panel_stride};
  const T* a_panel = p.a + (kPacked ? row * p.depth : row * p.a_stride);
  const ptrdiff_t panel_width = p.a_panel_width > 0 ? p.a_panel_width : p.depth;
  // a may itself be in panels (the pre-activations of a backward pass do): the sums stay in registers across them.
  for (ptrdiff_t left = p.depth; left > 0; left -= panel_width, a_panel += p.a_panel_stride) {
    operands.Start(a_panel);
    const ptrdiff_t depth = left < panel_width ? left : panel_width;
    for (ptrdiff_t groups = depth / kSteps; groups > 0; groups -= kBurst) {
      for (ptrdiff_t line = 0; line < kAheadLines; line++) PrefetchToSecondLevel(ahead + line * Readahead::kLine);
      ahead += ahead_bytes;
      // Counted down to 0, which takes no instruction for a comparison.
      for (ptrdiff_t group = Smaller(groups, kBurst); group > 0; group--) {
        TileSteps<V, Weight, kRows, kVectors, kSplit, kSteps, kPacked, kNarrow && !Operands::kApart>(operands, sums);
        operands.Advance(kPacked ? kSteps * kRows : kSteps);
        operands.b += kSteps / kGroup * operands.Step();
      }
    }
    // The remainder of the depth, a step at a time, into the first group of sums.
    for (int s = 0; s < depth % kSteps; s++) {
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        const V x = V::Set(kPacked ? operands.a[0][i] : *operands.Row(i));
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          const V weights = V::LoadRow(operands.b + s / kGroup * operands.Step() + operands.Vector(j), s % kGroup);
          sums[0][i][j] = MultiplyAdd(x, weights, sums[0][i][j]);
        }
      }
      operands.Advance(kPacked ? kRows : 1);
    }
  }
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kRows; i++) {
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kVectors; j++) {
      const ptrdiff_t element = place(column + j * V::kLanes);
      // Sums of few rows are split (TileSplit), so the last bits of a result depend on the number of rows in its tile.
      // The passes therefore cut rows independently of the number of threads.
      V sum = sums[0][i][j];
      CUDNN_RNN_UNROLL
      for (int s = 1; s < kSplit; s++) sum = sum + sums[s][i][j];
      if constexpr (kHasScales<Weight>) {
        // Column scales of int8 weights: c = init + scale · Σ a·q, one multiply-add per output instead of one per
        // weight.
        const V start = p.init == nullptr ? V::Set(0) : V::Load(p.init + (row + i) * p.init_stride + element);
        sum = MultiplyAdd(sum, V::Load(p.scales + element), start);
      } else if (kAddsInit && p.init != nullptr) {
        sum = V::Load(p.init + (row + i) * p.init_stride + element) + sum;
      }
      sum.Store(p.c + (row + i) * p.c_stride + element);
    }
  }
}

// The tiles from number kTile on that are side by side over the panel, for kRows rows.
template <typename V, typename Weight, int kRows, int kPanelVectors, bool kPacked, int kTile = 0>
static inline void TilesOfRows(const PanelProduct<typename V::Element>& p, ptrdiff_t row, Readahead* readahead) {
  constexpr int kTiles = TilesAcross<V>(kRows, kPanelVectors);
  constexpr int kFirst = TileBegin<V>(kTile, kTiles, kPanelVectors);
  constexpr int kVectors = TileBegin<V>(kTile + 1, kTiles, kPanelVectors) - kFirst;
  constexpr bool kNarrow = kHasPrefetch && kTiles > 1;
  ProductTile<V, Weight, kRows, kVectors, kPacked, kNarrow>(p, row, kFirst * V::kLanes, *readahead);
  readahead->position += p.depth * readahead->step_bytes;
  if constexpr (kTile + 1 < kTiles) TilesOfRows<V, Weight, kRows, kPanelVectors, kPacked, kTile + 1>(p, row, readahead);
}

// `rows` <= kRows rows from `row` on: the number becomes a constant, as only then the sums of a tile are registers.
template <typename V, typename Weight, int kRows, int kPanelVectors, bool kPacked>
static inline void ProductRows(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t rows,
                               Readahead* readahead) {
  if constexpr (kRows > 1) {
    // A chain of comparisons at compile-time constants, at most kRows of them: small beside one tile's depth loop.
    if (rows < kRows) return ProductRows<V, Weight, kRows - 1, kPanelVectors, kPacked>(p, row, rows, readahead);
  }
  TilesOfRows<V, Weight, kRows, kPanelVectors, kPacked>(p, row, readahead);
}

// The gradient of the weights, xᵀ·dz, multiplies by columns of x. They are packed as the tile reads them, one row of
// the tile after another, so that a step reads consecutive elements instead of one from each of many cache lines. Rows
// of a packed tile: the same for every panel, so that one packing serves a last panel of fewer chunks too.
template <typename V>
inline constexpr int kPackedRows = TileRows<V>(PanelVectors<V>(4));

// A tile of `rows` rows, of kLeastRows to kRows.
template <typename V, typename Weight, int kLeastRows, int kRows, int kVectors, bool kNarrow>
static inline void TileOfHeight(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t rows,
                                ptrdiff_t column, const Readahead& readahead) {
  if constexpr (kRows > kLeastRows) {
    if (rows < kRows) {
      return TileOfHeight<V, Weight, kLeastRows, kRows - 1, kVectors, kNarrow>(p, row, rows, column, readahead);
    }
  }
  ProductTile<V, Weight, kRows, kVectors, false, kNarrow>(p, row, column, readahead);
}

// Tiles of rows that pass by a chunk before the next one: 72 rows of 512 float32 are 144 KiB, which stay in a
// second-level cache while all chunks of the panel pass.
inline constexpr ptrdiff_t kTilesAtOnce = 12;

// The rows of the tiles [first, last) of `tiles`, kLeastRows to kRows each, by the chunks from tile number kTile across
// on.
template <typename V, typename Weight, int kLeastRows, int kRows, int kPanelVectors, int kTile = 0>
static inline void TilesOfChunks(const PanelProduct<typename V::Element>& p, ptrdiff_t tiles, ptrdiff_t first,
                                 ptrdiff_t last) {
  using T = typename V::Element;
  constexpr int kTiles = TilesAcross<V>(kRows, kPanelVectors);
  constexpr int kFirst = TileBegin<V>(kTile, kTiles, kPanelVectors);
  constexpr int kVectors = TileBegin<V>(kTile + 1, kTiles, kPanelVectors) - kFirst;
  constexpr bool kNarrow = kHasPrefetch && kTiles > 1;
  constexpr ptrdiff_t kColumn = kFirst * V::kLanes;
  Readahead readahead = ReadaheadOf<Weight>(p, tiles, kColumn / kChunk<T> * p.chunk_stride, kVectors * V::kLanes);
  readahead.position += first * p.depth * readahead.step_bytes;
  for (ptrdiff_t tile = first; tile < last; tile++) {
    const ptrdiff_t row = p.rows * tile / tiles;
    const ptrdiff_t rows = p.rows * (tile + 1) / tiles - row;
    TileOfHeight<V, Weight, kLeastRows, kRows, kVectors, kNarrow>(p, row, rows, kColumn, readahead);
    readahead.position += p.depth * readahead.step_bytes;
  }
  if constexpr (kTile + 1 < kTiles) {
    TilesOfChunks<V, Weight, kLeastRows, kRows, kPanelVectors, kTile + 1>(p, tiles, first, last);
  }
}

// The same for one tile of rows, whose tiles are the wider the fewer rows it has.
template <typename V, typename Weight, int kRows, int kPanelVectors>
static inline void OneTileOfChunks(const PanelProduct<typename V::Element>& p) {
  if constexpr (kRows > 1) {
    if (p.rows < kRows) return OneTileOfChunks<V, Weight, kRows - 1, kPanelVectors>(p);
  }
  TilesOfChunks<V, Weight, kRows, kRows, kPanelVectors>(p, 1, 0, 1);
}

template <typename V, typename Weight, int kChunks, bool kPacked>
static void ProductOfChunks(const PanelProduct<typename V::Element>& p) {
  constexpr int kVectors = PanelVectors<V>(kChunks);
  constexpr int kRows = kPacked ? kPackedRows<V> : TileRows<V>(kVectors);
  const ptrdiff_t tiles = (p.rows + kRows - 1) / kRows;
  Readahead readahead = ReadaheadOf<Weight>(p, tiles * TilesAcross<V>(kRows, kVectors), 0, p.panel_stride);
  if constexpr (kReadsChunks<V, kPacked>) {
    if (tiles <= 1) return OneTileOfChunks<V, Weight, kRows, kVectors>(p);
    // Of kRows + 1 rows the lower of two tiles has (kRows + 1) / 2.
    for (ptrdiff_t first = 0; first < tiles; first += kTilesAtOnce) {
      const ptrdiff_t last = Smaller(tiles, first + kTilesAtOnce);
      TilesOfChunks<V, Weight, (kRows + 1) / 2, kRows, kVectors>(p, tiles, first, last);
    }
  } else if constexpr (kPacked) {
    for (ptrdiff_t row = 0; row < p.rows; row += kRows) {
      ProductRows<V, Weight, kRows, kVectors, true>(p, row, p.rows - row, &readahead);
    }
  } else {
    // Tiles of equal height, as a tile of one row costs nearly as much as a full one.
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = p.rows * tile / tiles;
      ProductRows<V, Weight, kRows, kVectors, false>(p, row, p.rows * (tile + 1) / tiles - row, &readahead);
    }
  }
}

template <typename V, typename Weight, bool kPacked>
static void Product(const PanelProduct<typename V::Element>& p) {
  switch (p.chunks) {
    case 1:
      return ProductOfChunks<V, Weight, 1, kPacked>(p);
    case 2:
      return ProductOfChunks<V, Weight, 2, kPacked>(p);
    case 3:
      return ProductOfChunks<V, Weight, 3, kPacked>(p);
    default:
      return ProductOfChunks<V, Weight, 4, kPacked>(p);
  }
}

}  // namespace
