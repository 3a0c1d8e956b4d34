// The kernels that exist once per instruction set, and the tables through which the drivers call them.
//
// Letters: T time steps, B batch, H units, G gates. A *chunk* is 64 bytes of units, for every instruction set of an
// addon, so that the sizes of one layout serve all. In WebAssembly it is 32 bytes: the sums of one row of a panel then
// fit the 15 vector registers of V8 on x64. A *panel* is up to four chunks side by side: the gates of one chunk of
// units, or four chunks of a matrix without gates. Matrices are stored panel by panel, each in the PanelOrder of the
// kernels.
//
// This header is included by files that are compiled for one instruction set: it must not include anything that emits
// inline functions, as the linker might keep the copy compiled for the newest processor.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <limits>

namespace cudnn_rnn {

#if defined(__wasm__)
inline constexpr ptrdiff_t kChunkBytes = 32;
#else
inline constexpr ptrdiff_t kChunkBytes = 64;
#endif

// Elements of a chunk.
template <typename T>
inline constexpr ptrdiff_t kChunk = kChunkBytes / sizeof(T);

// How a panel [depth, chunks] is stored: in the order in which the widest tile of many rows reads it. Both take the
// same memory. Panels of pre-activations are in the order of rows with any kernels.
enum class PanelOrder {
  kRows,    // [depth][chunks]: where such a tile is as wide as the panel (AVX-512)
  kChunks,  // [chunks][depth]: where it is as wide as a chunk (AVX2, WebAssembly). One row reads a stream of each.
};

// How the weights of an inference are stored.
// kBfloat16Products: as kBfloat16, and products round their rows likewise. kInt8Products: as kInt8, and products bring
// their rows to 8 bits, not to 15 or 16.
enum class WeightFormat : int { kNative, kBfloat16, kInt8, kBfloat16Products, kInt8Products };

constexpr bool IsInt8(WeightFormat format) {
  return format == WeightFormat::kInt8 || format == WeightFormat::kInt8Products;
}

// Reduced-precision weights of one column in consecutive rows of the depth, the first in the lowest bits. Rows past the
// last are zeros.
struct Bfloat16Pair {
  uint32_t bits;
};
struct Int8Quad {
  uint32_t bits;
};

// Rows of the depth that one int32 sum of int8 weights covers. With q in 0…65535 split in bytes and |w| <= 127, a sum
// of 1024 products is at most 1024 · 255 · 127 < 2^25: far from overflow, also after 256 · high + low in float32.
inline constexpr ptrdiff_t kInt8BlockRows = 1024;

// A product's `a` as the kernel multiplies it, kept by a thread from panel to panel: in integers for int8 weights, else
// in tiles of consecutive rows, [depth][rows of the tile]; or rounded to bfloat16.
struct RowsCopy {
  uint64_t version;  // of the `a` that it was made of; 0 for none
  float* factors;    // int8 only: [rows][blocks]
  int32_t* sums;     // int8 only: sums of the integers of each block, [rows][blocks], if a kernel computes them
  uint32_t* words;   // int8: in the kernel's order, at most [rows][blocks][kInt8BlockRows / 2]; else the elements of a
  bool in_bytes;     // int8 only: the integers are in -kInt8Limit...kInt8Limit; words may be the elements of a, too
};

// The largest integer of int8 weights, and of rows in bytes. -128 is left out, so that |q| is symmetric.
inline constexpr float kInt8Limit = 127;

// c [rows, chunks] = init + a [rows, depth] · panel [depth, chunks]
template <typename T>
struct PanelProduct {
  const T* a;
  ptrdiff_t a_stride;  // between rows; ignored if a is packed in tiles, [depth][rows of the tile] each
  // If a itself is in panels: elements of a row in each, whole chunks, and elements between them. 0 for one panel.
  ptrdiff_t a_panel_width;
  ptrdiff_t a_panel_stride;
  ptrdiff_t rows;
  ptrdiff_t depth;
  const void* panel;
  ptrdiff_t panel_stride;      // elements, pairs or quads between steps of the depth
  ptrdiff_t chunk_stride;      // likewise between chunks of a step; PanelOrder::kChunks only
  const void* next;            // a panel that the thread reads afterwards, to be prefetched; null for none
  int chunks;                  // 1..4
  const T* scales;             // int8 only: one per column
  const int32_t* column_sums;  // int8 only: of every kInt8BlockRows rows, [blocks][chunks]
  RowsCopy* rows_copy;         // of a: for int8, and kernels that copy rows; null for a kernel that reads a in place
  uint64_t version;            // another number for other contents of a
  const T* init;               // null for zeros
  ptrdiff_t init_stride;       // 0 repeats one row
  T* c;
  ptrdiff_t c_stride;
  ptrdiff_t c_chunk_stride;  // product_packed in PanelOrder::kChunks only: between the chunks of a row of c and init
};

// c [rows, columns] += a [rows, depth] · b [depth, columns], for b and c in rows of adjacent elements.
template <typename T>
struct StreamedProduct {
  const T* a;
  ptrdiff_t a_stride;         // between rows
  ptrdiff_t a_column_stride;  // between elements of the depth
  ptrdiff_t rows;
  ptrdiff_t depth;
  const T* b;
  ptrdiff_t b_stride;
  ptrdiff_t columns;
  T* c;
  ptrdiff_t c_stride;
};

// c [rows, columns] (+)= sum over panels p of a_p [rows, chunks of p] · panel_p [columns, chunks of p]ᵀ: the product by
// the transpose of a matrix, read in the order in which it is stored.
template <typename T>
struct TransposedProduct {
  const T* a;
  ptrdiff_t a_stride;        // between rows
  ptrdiff_t a_panel_stride;  // between panels
  ptrdiff_t rows;
  const T* panels;
  PanelOrder order;  // kRows, or the kernels' order
  ptrdiff_t panel_count;
  int chunks;         // of every panel but the last
  int last_chunks;    // of the last panel
  ptrdiff_t depth;    // of the stored matrix: its columns in this product
  ptrdiff_t column;   // first one computed
  ptrdiff_t columns;  // how many
  T* c;
  ptrdiff_t c_stride;
  bool accumulate;
};

// One time step of one panel of units for `rows` batch rows. Row b of the state planes is b · state_stride further.
// z holds the pre-activations [rows][planes · chunk]: LSTM i f g o; GRU x_n, r, u, q_n; plain cells one plane per
// chunk.
template <typename T>
struct CellForward {
  T* z;
  ptrdiff_t z_stride;
  ptrdiff_t rows;
  int chunks;  // plain cells: chunks of units in this panel
  const T* c_previous;
  T* c;
  const int32_t* cell_rows;  // rows of c and c_previous; null for 0…rows-1
  const T* h_previous;
  T* h;
  ptrdiff_t state_stride;  // of c
  ptrdiff_t h_stride;      // of h and h_previous
  T clip;
  bool keep;  // overwrite z with the activations, which the backward reads
};

// One time step of one row of a gated layer, panels [first, last): both products and the cell. W, R and the
// biases begin at panel 0.
template <typename T>
struct RowStep {
  const T* x;
  ptrdiff_t x_depth;
  const T* input_panels;
  const T* h_previous;
  ptrdiff_t h_depth;
  const T* recurrent_panels;
  const T* input_biases;      // null for none
  const T* recurrent_biases;  // null for none
  T* c;                       // null but for LSTM
  T* h;
  T clip;
  ptrdiff_t first;
  ptrdiff_t last;
  bool backwards;  // from the last panel to the first
};

// The step backwards. On entry dh and dc are the gradients of h and c (from the steps after); on return z holds the
// gradients of the pre-activations, dc the previous cell state's, and dh (GRU) the part that bypasses the matrix.
template <typename T>
struct CellBackward {
  T* z;
  ptrdiff_t z_stride;
  ptrdiff_t rows;
  int chunks;
  const T* c_previous;
  const T* c;
  const T* h_previous;
  const T* h;
  ptrdiff_t state_stride;
  T* dh;
  T* dc;
  ptrdiff_t gradient_stride;
  T clip;
};

// The activation of an LSTM's input, forget and output gates.
enum class GateActivation {
  kSigmoid,
  kHardSigmoid,  // Keras 2: 0.2·x + 0.5 within [0, 1]
};

// One time step of one row of an LSTM in TensorFlow's order of gates, i g f o, whose units are side by side without
// padding. Norms are in the order i g f o c'. Pointers of norms are null without layer normalization.
template <typename T>
struct LstmRowStep {
  // [4][H] pre-activations; after the forward the activations, with norms the normalized pre-activations; after the
  // backward the gradients of the pre-activations
  T* z;
  ptrdiff_t units;                 // H
  GateActivation gate_activation;  // kSigmoid if there are norms
  T forget_bias;                   // added to the forget gate, after its norm
  const T* dropout;                // [H] factors of g; null for none
  const T* gamma;                  // [5][H]
  const T* beta;                   // [5][H]
  double epsilon;
  const T* c_previous;  // [H]
  T* c;                 // [H], normalized if there are norms
  T* normalized_c;      // [H] c before gamma and beta
  T* inverses;          // [5] 1/√(σ² + ε)
  T* h;                 // [H], of the forward; only the backward uses the members below
  const T* dh;          // [H]
  T* dc;                // [H] of c' from the steps after; on return of c
  T* d_gamma;           // [5][H] added to
  T* d_beta;            // [5][H] added to
  T* scratch;           // [4][H], with norms
};

// Whether products of training and of dense layers can round their factors: the size of the modules of WebAssembly is
// that of their code.
#if defined(__wasm__)
inline constexpr bool kRoundsProducts = false;
#else
inline constexpr bool kRoundsProducts = true;
#endif

// Products whose factors are both rounded to bfloat16, and the operands that serve many of them. Null in WebAssembly
// and for float64.
template <typename T>
struct Bfloat16Products {
  // The panel is of Bfloat16Pairs; the rows are rounded in a rows_copy, unless it has the version of the product.
  void (*product)(const PanelProduct<T>&);
  // x [rows, columns] by its columns, as the rows_copy of a product of that depth; at most rows · columns words.
  void (*copy_columns)(const T* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns, uint32_t* words);
  // x [rows, width], at most a panel wide, as pairs of its rows.
  void (*pairs)(const T* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t width, uint32_t* words, ptrdiff_t words_stride);
  // x [columns, width], at most a panel wide, by pairs of its columns: words [width / 2, columns].
  void (*transposed_pairs)(const T* x, ptrdiff_t stride, ptrdiff_t columns, ptrdiff_t width, uint32_t* words,
                           ptrdiff_t words_stride);
  // `product` by a panel that is kept in float32, rounded: nothing is widened. Null if instructions multiply bfloat16.
  void (*rounded_product)(const PanelProduct<T>&);
};

// The cells, as the tables of their kernels have them.
enum class Cell { kLstm, kGru, kRelu, kTanh };

template <typename T>
struct CellKernels {
  void (*forward)(const CellForward<T>&);
  // Likewise for one row, with the product before it: its z += h_previous [depth] · panel, of as many chunks as the
  // cell's. Null if the registers are too few for it.
  void (*row_recurrence)(const T* h_previous, ptrdiff_t depth, const T* panel, const CellForward<T>&);
  // Null if the registers are too few for it, or the cell has no gates.
  void (*row_step)(const RowStep<T>&);
  void (*backward)(const CellBackward<T>&);
};

template <typename T>
struct KernelTable {
  // Multiplications and additions that one core does in a nanosecond for a single row, weights in its second-level
  // cache.
  double operations_per_ns;
  PanelOrder panel_order;  // of the panels of product, c of product_packed, and the products of one row
  ptrdiff_t tile_rows;     // rows of a packed tile
  bool copies_rows;        // product and product_bfloat16 read several rows faster if there is a rows_copy
  void (*product)(const PanelProduct<T>&);
  void (*product_bfloat16)(const PanelProduct<T>&);
  void (*product_int8)(const PanelProduct<T>&);
  Bfloat16Products<T> bfloat16;
  void (*product_packed)(const PanelProduct<T>&);
  void (*streamed_product)(const StreamedProduct<T>&);
  void (*transposed_product)(const TransposedProduct<T>&);
  CellKernels<T> cells[4];  // by Cell
  void (*lstm_row_forward)(const LstmRowStep<T>&);
  void (*lstm_row_backward)(const LstmRowStep<T>&);
  // sums [chunks] = sum over the rows of z [rows, chunks]
  void (*column_sums)(const T* z, ptrdiff_t stride, ptrdiff_t rows, int chunks, T* sums);
  // y[i] = f(x[i]), for the measurement of the activations' error; count is a multiple of a chunk
  void (*sigmoid)(const T* x, T* y, ptrdiff_t count);
  void (*tanh)(const T* x, T* y, ptrdiff_t count);
  // y[i] = exp(x[i] - offset); returns the sum
  T (*exp_sum)(const T* x, T offset, T* y, ptrdiff_t count);

  const CellKernels<T>& Of(Cell cell) const { return cells[static_cast<int>(cell)]; }
};

// The logarithm of 0 in the sums of CTC: finite, as the difference of two infinities is NaN, and so low that no sum of
// logarithms reaches it: float32 logits' are above -1e44.
inline constexpr double kCtcLogZero = -1e300;

// One step along time for all states of a row:
// after[s] = ln(e^(before[s] + stays[s]) + e^before[s + direction] + e^(before[s + 2 direction] + skips[s])) +
// emissions[s]
struct CtcStep {
  const double* before;     // readable from two elements before the first state to two after the last
  ptrdiff_t direction;      // -1 forward in time, 1 backward
  const double* stays;      // 0, or kCtcLogZero if a path must leave
  const double* skips;      // 0, or kCtcLogZero if a path must not skip a state
  const double* emissions;  // ln y of each state's class
  double* after;
  ptrdiff_t states;  // a multiple of 8
};

// posteriors[s] = e^(alpha[s] + beta[s] - emissions[s] - log_p)
struct CtcPosteriors {
  const double* alpha;
  const double* beta;
  const double* emissions;
  double log_p;
  double* posteriors;
  ptrdiff_t states;  // a multiple of 8
};

struct CtcKernels {
  void (*step)(const CtcStep&);
  void (*posteriors)(const CtcPosteriors&);
};

// The kernels of one instruction set.
struct Kernels {
  const char* name;  // as in packages/cpu/src/instruction_set.ts
  KernelTable<float> f32;
  KernelTable<double> f64;
  CtcKernels ctc;
};

// The constant of MSVC too, which has no __builtin_nanf.
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// 1/√x. Not inline: <cmath> must not be included here.
double InverseRoot(double x);

extern const Kernels kPortableKernels;
#if defined(CUDNN_RNN_X86)
extern const Kernels kAvx2Kernels;
// The same with products of int8 weights by AVX-VNNI.
extern const Kernels kAvx2VnniKernels;
// KernelTable::product_int8 by AVX-VNNI.
void ProductByAvxVnni(const PanelProduct<float>& product);
#if defined(CUDNN_RNN_AVX512)
extern const Kernels kAvx512Kernels;
// The same with products of int8 weights in integers.
extern const Kernels kAvx512VnniKernels;
// And with products of bfloat16.
extern const Kernels kAvx512Bfloat16Kernels;
// KernelTable::product_int8 by AVX-512 VNNI, and Bfloat16Products::product by AVX512_BF16: a rows_copy is of pairs.
void ProductByInt8Dots(const PanelProduct<float>& product);
void ProductByBfloat16Dots(const PanelProduct<float>& product);
#if defined(CUDNN_RNN_AMX)
// The same, but by AMX, for a process that has the permission for its tiles.
extern const Kernels kAmxBfloat16Kernels;
void ProductByBfloat16Tiles(const PanelProduct<float>& product);
#endif
#endif
#elif defined(CUDNN_RNN_NEON)
extern const Kernels kNeonKernels;
#if defined(CUDNN_RNN_NEON_DOTS)
// The same with products of int8 weights by SDOT, and with those by SMMLA and products of bfloat16 by BFMMLA.
extern const Kernels kNeonDotKernels;
extern const Kernels kNeonMatrixKernels;
void ProductByInt8Dots(const PanelProduct<float>& product);
void ProductByInt8Matrices(const PanelProduct<float>& product);
// Its rows_copy is in the order of PairedRow.
void ProductByBfloat16Matrices(const PanelProduct<float>& product);
#endif
#elif defined(__wasm__)
// Three tables, so that a module of one element type is linked without the kernels of the other.
extern const KernelTable<float> kWasmFloat32Kernels;
extern const KernelTable<double> kWasmFloat64Kernels;
extern const CtcKernels kWasmCtcKernels;
#endif

}  // namespace cudnn_rnn
