// One time step of one layer and direction, shared by whole passes and streams.
#pragma once

#include <algorithm>
#include <cstddef>

#include "threads/spin_wait.h"
#include "weights/network.h"
#include "weights/params.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

// Columns of h, or units.
struct Columns {
  ptrdiff_t first;
  ptrdiff_t last;
};

// The memory that one step uses. The panels of units (RecurrentPanels) are independent of each other; the
// projection's come after all of them.
template <typename T>
struct RecurrentStep {
  const Network<T>& network;
  const KernelTable<T>& kernels;
  const LayerLayout& layout;
  Params<T> params;
  ptrdiff_t batch;
  T* z;  // of this step: [panels][B][z_width], z_panel_stride apart
  ptrdiff_t z_panel_stride;
  const T* h_previous;  // [B][padded columns]
  bool h_is_zero;       // all of h_previous, as before the first step of most passes: R adds nothing
  T* h;
  ptrdiff_t h_stride;   // of both
  bool h_is_output;     // rows of h have no padding
  const T* c_previous;  // [B][padded units]
  T* c;
  const int32_t* cell_rows;  // of c and c_previous, one for each row of the batch; null for 0…B-1
  T* unprojected;            // [B][padded units], with a projection
  bool keep;
  // Elements: 8 KiB of float32, a part of the first-level cache.
  static constexpr ptrdiff_t kPrefetched = 2048;
  // The calling thread's, null if no kernel copies rows, and its own even number for every step.
  RowsCopy* rows_copy;
  uint64_t version;

  // The units that a panel writes; without a projection they are its columns of h.
  Columns UnitsOf(ptrdiff_t panel) const {
    const ptrdiff_t first = panel * network.panel_units();
    return {first, std::min(network.options().units, first + network.panel_units())};
  }
  // The columns of h that a panel of the projection writes.
  Columns ProjectedColumnsOf(ptrdiff_t panel) const {
    const ptrdiff_t width = layout.projection.chunks * kChunk<T>;
    return {panel * width, std::min(network.columns(), (panel + 1) * width)};
  }

  // Prefetches all of h, as other threads have written most of it: line by line each would be waited for.
  void PrefetchState() const {
    const ptrdiff_t count = std::min(batch * h_stride, kPrefetched);
    for (ptrdiff_t k = 0; k < count; k += kChunk<T>) Prefetch(h_previous + k);
  }

  // h = (o·tanh(c))·W_projᵀ for one panel of columns (Sak, Senior and Beaufays 2014). After all panels of units.
  void RunProjectionPanel(ptrdiff_t panel) const {
    PanelProduct<T> product{};
    product.a = unprojected;
    product.a_stride = network.padded_units();
    product.rows = batch;
    product.depth = network.options().units;
    product.c = h + panel * layout.projection.chunks * kChunk<T>;
    product.c_stride = h_stride;
    product.rows_copy = rows_copy;
    product.version = version + 1;
    params.Multiply(kernels, layout.projection, panel, 0, &product);
  }
};

}  // namespace cudnn_rnn
