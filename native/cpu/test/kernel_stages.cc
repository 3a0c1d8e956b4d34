// From the naive loop to the kernel, one change at a time, each timed: the table of docs/cpu_kernels.md.
//   kernel_stages [rows] [units]      default 16 512: the recurrent product of one LSTM step, z [B,4H] += h [B,H] · Rᵀ
// Compiled for AVX2, as the file of one instruction set is.
#include "kernels/vector_avx2.h"
// The vectors come first: the kernels are written over them.
#include "kernels/product_kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "threads/shared_loops.h"
#include "threads/thread_pool.h"

namespace {

struct Sizes {
  ptrdiff_t rows;
  ptrdiff_t depth;
  ptrdiff_t outputs;

  ptrdiff_t panels() const { return outputs / 64; }
  double flops() const { return 2.0 * static_cast<double>(rows * depth * outputs); }
};

// 1. The definition: an element of z is a dot product of a row of h and a row of R. The compiler may not reorder a
// floating-point sum, so each multiply-add waits for the one before.
void Naive(const Sizes& s, const float* h, const float* r, float* z) {
  for (ptrdiff_t i = 0; i < s.rows; i++) {
    for (ptrdiff_t j = 0; j < s.outputs; j++) {
      float sum = 0;
      for (ptrdiff_t k = 0; k < s.depth; k++) sum += h[i * s.depth + k] * r[j * s.depth + k];
      z[i * s.outputs + j] = sum;
    }
  }
}

// 2. R transposed, outputs innermost: eight sums side by side in a vector. Every step loads and stores all of z's row.
void Vectorized(const Sizes& s, const float* h, const float* transposed, float* z) {
  std::fill_n(z, s.rows * s.outputs, 0.0f);
  for (ptrdiff_t i = 0; i < s.rows; i++) {
    for (ptrdiff_t k = 0; k < s.depth; k++) {
      const VectorF32 x = VectorF32::Set(h[i * s.depth + k]);
      for (ptrdiff_t j = 0; j < s.outputs; j += 8) {
        float* c = z + i * s.outputs + j;
        MultiplyAdd(x, VectorF32::Load(transposed + k * s.outputs + j), VectorF32::Load(c)).Store(c);
      }
    }
  }
}

PanelProduct<float> PanelOf(const Sizes& s, ptrdiff_t panel, const float* h, const float* panels, float* z) {
  PanelProduct<float> p{};
  p.a = h;
  p.a_stride = s.depth;
  p.rows = s.rows;
  p.depth = s.depth;
  p.panel = panels + panel * s.depth * 64;
  p.panel_stride = 16;
  p.chunk_stride = s.depth * 16;
  p.chunks = 4;
  p.c = z + panel * 64;
  p.c_stride = s.outputs;
  // The panel that a thread reads next; stages 3 and 4 do not prefetch it.
  p.next = panels + (panel + 1) % s.panels() * s.depth * 64;
  return p;
}

// 3. Panels of 64 outputs in four chunks, [4][depth][16] each: the sums of one row and one panel are eight registers,
// and each chunk is read in the order in which it lies. Every row reads all weights.
void Panels(const Sizes& s, const float* h, const float* panels, float* z) {
  for (ptrdiff_t panel = 0; panel < s.panels(); panel++) {
    const PanelProduct<float> p = PanelOf(s, panel, h, panels, z);
    const Readahead none{nullptr, 0};
    for (ptrdiff_t row = 0; row < s.rows; row++)
      ProductTile<VectorF32, float, 1, 8, Operands::kRows, false>(p, row, 0, none);
  }
}

// 4. Tiles of 6 rows and 2 vectors: 12 sums, and 6 multiply-adds for every vector of weights loaded.
void Tiles(const Sizes& s, const float* h, const float* panels, float* z) {
  for (ptrdiff_t panel = 0; panel < s.panels(); panel++) {
    const PanelProduct<float> p = PanelOf(s, panel, h, panels, z);
    const Readahead none{nullptr, 0};
    ptrdiff_t row = 0;
    for (; row + 6 <= s.rows; row += 6) {
      for (ptrdiff_t c = 0; c < 64; c += 16)
        ProductTile<VectorF32, float, 6, 2, Operands::kRows, false>(p, row, c, none);
    }
    for (; row < s.rows; row++) ProductTile<VectorF32, float, 1, 8, Operands::kRows, false>(p, row, 0, none);
  }
}

// 5. The kernel: tiles of equal height (16 rows are 5 + 5 + 6, not 6 + 6 and four single ones), which pass by one chunk
// after another, and prefetched lines of the next panel.
void Kernel(const Sizes& s, const float* h, const float* panels, float* z) {
  for (ptrdiff_t panel = 0; panel < s.panels(); panel++) {
    Product<VectorF32, float, Operands::kRows>(PanelOf(s, panel, h, panels, z));
  }
}

// 6. Two threads, each with its half of the panels in every step.
void Threads(ThreadPool* pool, const Sizes& s, const float* h, const float* panels, float* z) {
  SharedLoops loops(pool->size());
  pool->Run(pool->size(), [&](int index) {
    SharedLoops::Member member(&loops, index);
    member.Run(s.panels(),
               [&](ptrdiff_t panel) { Product<VectorF32, float, Operands::kRows>(PanelOf(s, panel, h, panels, z)); });
  });
}

template <typename Body>
void Report(const char* name, const Sizes& s, const std::vector<float>& expected, const float* z, const Body& body) {
  std::vector<double> times;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double end = now() + 0.5;
  do {
    const double began = now();
    body();
    times.push_back(now() - began);
  } while (now() < end);
  std::sort(times.begin(), times.end());
  double difference = 0;
  for (size_t k = 0; k < expected.size(); k++) {
    difference = std::max(difference, static_cast<double>(std::abs(expected[k] - z[k])));
  }
  const double median = times[times.size() / 2];
  std::printf("| %s | %.1f | %.1f | %.0e |\n", name, median * 1e6, s.flops() / median * 1e-9, difference);
}

}  // namespace

int main(int count, char** arguments) {
  const ptrdiff_t rows = count > 1 ? std::atoi(arguments[1]) : 16;
  const ptrdiff_t units = count > 2 ? std::atoi(arguments[2]) : 512;
  const Sizes s{rows, units, 4 * units};
  std::vector<float> h(s.rows * s.depth), r(s.outputs * s.depth), transposed(r.size()), panels(r.size());
  for (size_t k = 0; k < h.size(); k++) h[k] = static_cast<float>(k % 97) / 97 - 0.5f;
  for (size_t k = 0; k < r.size(); k++) r[k] = (static_cast<float>(k % 89) / 89 - 0.5f) / 16;
  for (ptrdiff_t j = 0; j < s.outputs; j++) {
    for (ptrdiff_t k = 0; k < s.depth; k++) {
      transposed[k * s.outputs + j] = r[j * s.depth + k];
      panels[(j / 16 * s.depth + k) * 16 + j % 16] = r[j * s.depth + k];
    }
  }
  std::vector<float> expected(s.rows * s.outputs), z(expected.size());
  Naive(s, h.data(), r.data(), expected.data());
  ThreadPool pool(2);
  std::printf("| stage | us | GFLOP/s | largest difference |\n| --- | --- | --- | --- |\n");
  const auto report = [&](const char* name, const auto& body) { Report(name, s, expected, z.data(), body); };
  report("naive loop", [&] { Naive(s, h.data(), r.data(), z.data()); });
  report("transposed, vectors over outputs", [&] { Vectorized(s, h.data(), transposed.data(), z.data()); });
  report("panels, one row at a time", [&] { Panels(s, h.data(), panels.data(), z.data()); });
  report("tiles of 6 x 2", [&] { Tiles(s, h.data(), panels.data(), z.data()); });
  report("tiles of equal height, prefetch", [&] { Kernel(s, h.data(), panels.data(), z.data()); });
  report("two threads", [&] { Threads(&pool, s, h.data(), panels.data(), z.data()); });
}
