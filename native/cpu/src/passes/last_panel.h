// The cell on a last panel whose rows have no room for whole chunks, by way of rows that have it: packed
// pre-activations (Network::IsPacked), and an h that is the output.
#pragma once

#include <algorithm>
#include <cstddef>

#include "weights/network.h"

namespace cudnn_rnn {

// Rows at a time, and the width of each.
inline constexpr ptrdiff_t kLastPanelRows = 16;
template <typename T>
inline constexpr ptrdiff_t kLastPanelWidth = 4 * kChunk<T>;

// The packed rows of z, z_stride apart, to planes [rows][4][chunk]. Lanes past the units have any values.
template <typename T>
void UnpackPlanes(const Network<T>& network, const T* z, ptrdiff_t z_stride, ptrdiff_t rows, T* planes) {
  for (int plane = 0; plane < 4; plane++) {
    const T* from = z + network.PackedPlane(plane);
    for (ptrdiff_t row = 0; row < rows; row++)
      std::copy_n(from + row * z_stride, kChunk<T>, planes + (row * 4 + plane) * kChunk<T>);
  }
}

// Back. Each plane overwrites the lanes that the one before wrote past its units; zeros follow it.
template <typename T>
void PackPlanes(const Network<T>& network, const T* planes, ptrdiff_t rows, T* z, ptrdiff_t z_stride) {
  const ptrdiff_t units = network.options().units % kChunk<T>;
  for (int plane = 0; plane < 4; plane++) {
    T* to = z + network.PackedPlane(plane);
    for (ptrdiff_t row = 0; row < rows; row++) {
      std::copy_n(planes + (row * 4 + plane) * kChunk<T>, kChunk<T>, to + row * z_stride);
      std::fill_n(to + row * z_stride + units, kChunk<T>, T{0});
    }
  }
}

template <typename T>
void CopyColumnsOfRows(const T* from, ptrdiff_t from_stride, ptrdiff_t rows, ptrdiff_t count, T* to,
                       ptrdiff_t to_stride) {
  for (ptrdiff_t row = 0; row < rows; row++) {
    // A loop, as a call of memmove takes longer than a few elements.
    for (ptrdiff_t k = 0; k < count; k++) to[row * to_stride + k] = from[row * from_stride + k];
  }
}

// body(cell) of the panel that begins with unit `unit`. `is_packed`: of its pre-activations. `h_overflows`: rows of h
// have its units alone, else room for whole chunks.
template <typename T, typename Body>
void RunLastPanel(const Network<T>& network, const CellForward<T>& all, ptrdiff_t unit, bool is_packed,
                  bool h_overflows, const Body& body) {
  constexpr ptrdiff_t kWidth = kLastPanelWidth<T>;
  alignas(64) T planes[kLastPanelRows * kWidth];
  alignas(64) T h_previous[kLastPanelRows * kWidth];
  alignas(64) T h[kLastPanelRows * kWidth];
  const ptrdiff_t units = network.options().units - unit;
  CellForward<T> cell = all;
  for (ptrdiff_t row = 0; row < all.rows; row += kLastPanelRows) {
    cell.rows = std::min(kLastPanelRows, all.rows - row);
    T* z = cell.z = all.z + row * all.z_stride;
    if (is_packed) {
      UnpackPlanes(network, z, all.z_stride, cell.rows, planes);
      cell.z = planes;
      cell.z_stride = kWidth;
    }
    const T* from = cell.h_previous = all.h_previous + row * all.h_stride;
    T* to = cell.h = all.h + row * all.h_stride;
    if (h_overflows) {
      // Only a GRU's cell reads it.
      if (network.options().cell == Cell::kGru)
        CopyColumnsOfRows(from, all.h_stride, cell.rows, units, h_previous, kWidth);
      cell.h_previous = h_previous;
      cell.h = h;
      cell.h_stride = kWidth;
    }
    if (all.cell_rows != nullptr) {
      cell.cell_rows = all.cell_rows + row;
    } else if (all.c != nullptr) {
      cell.c_previous = all.c_previous + row * all.state_stride;
      cell.c = all.c + row * all.state_stride;
    }
    body(cell);
    if (h_overflows) CopyColumnsOfRows(h, kWidth, cell.rows, units, to, all.h_stride);
    // The activations, for the backward.
    if (is_packed && all.keep) PackPlanes(network, planes, cell.rows, z, all.z_stride);
  }
}

}  // namespace cudnn_rnn
