#include "weights/network.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "network_regions.h"

namespace cudnn_rnn {
namespace {

std::vector<NetworkOptions> AllOptions() {
  std::vector<NetworkOptions> all;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const ptrdiff_t units : {1, 16, 37, 44, 80}) {
      all.push_back({cell, 2, 1, units, 5, 0, false, true, true, INFINITY, 0, 0});
      all.push_back({cell, 2, 2, units, 19, 0, false, false, true, INFINITY, 0, 0});
      all.push_back({cell, 1, 1, units, units, 0, true, true, false, INFINITY, 0, 0});
    }
  }
  all.push_back({Cell::kLstm, 2, 2, 37, 19, 21, false, true, true, INFINITY, 0, 0});
  return all;
}

template <typename T>
void EveryElementHasItsOwnPlace(PanelOrder order) {
  for (const NetworkOptions& options : AllOptions()) {
    const Network<T> network(options, order);
    std::vector<T> params(static_cast<size_t>(network.params_size()));
    T next = 1;
    size_t elements = 0;
    for (const Region& region : RegionsOf(network)) {
      std::vector<T> canonical(SizeOf(network, region));
      for (T& value : canonical) value = next++;
      elements += canonical.size();
      Move(network, region, params.data(), canonical.data(), true);
    }
    // Every number occurs once. The other elements are padding, which stays zero.
    std::set<T> seen;
    size_t zeros = 0;
    for (const T value : params) {
      if (value == 0) zeros++;
      seen.insert(value);
    }
    CHECK(params.size() - zeros == elements);
    CHECK(seen.size() == elements + (zeros > 0 ? 1 : 0));

    T expected = 1;
    for (const Region& region : RegionsOf(network)) {
      std::vector<T> canonical(SizeOf(network, region));
      Move(network, region, params.data(), canonical.data(), false);
      // One check a region: one of each element takes longer than all else here under a sanitizer.
      std::vector<T> placed(canonical.size());
      for (T& value : placed) value = expected++;
      REQUIRE(canonical == placed);
    }
  }
}

TEST_CASE_TEMPLATE("Network gives every canonical element its own place and returns it", T, float, double) {
  EveryElementHasItsOwnPlace<T>(PanelOrder::kRows);
  EveryElementHasItsOwnPlace<T>(PanelOrder::kChunks);
}

TEST_CASE_TEMPLATE("Network aligns every matrix and bias to a chunk", T, float, double) {
  for (const NetworkOptions& options : AllOptions()) {
    const Network<T> network(options, PanelOrder::kChunks);
    CHECK(network.params_size() == Network<T>(options, PanelOrder::kRows).params_size());
    CHECK(network.params_size() % kChunk<T> == 0);
    for (int p = 0; p < network.pseudo_layers(); p++) {
      const LayerLayout& layout = network.layer(p);
      for (const PanelMatrix& matrix : {layout.input, layout.recurrent, layout.projection}) {
        for (ptrdiff_t panel = 0; matrix.present() && panel < matrix.panels; panel++) {
          CHECK(matrix.template PanelBegin<T>(panel) % kChunk<T> == 0);
        }
      }
    }
  }
}

// With 4 units in the last panel, an LSTM's gates share one chunk, and a GRU has one for n and one for r and u; with 13
// units of an LSTM, and 9 of a GRU, each gate has one.
TEST_CASE("Network packs the gates of a last panel of few units") {
  const auto last_chunks = [](Cell cell, ptrdiff_t units, bool skip_input = false) {
    const ptrdiff_t inputs = skip_input ? units : 3;
    const Network<float> network({cell, 1, 1, units, inputs, 0, skip_input, true, true, INFINITY, 0, 0},
                                 PanelOrder::kRows);
    const ptrdiff_t panel = network.panels() - 1;
    CHECK(network.IsPacked(panel) == (network.layer(0).recurrent.ChunksOf(panel) < network.gates()));
    CHECK_FALSE(network.IsPacked(panel - 1));
    return network.layer(0).recurrent.ChunksOf(panel);
  };
  CHECK(last_chunks(Cell::kLstm, 20) == 1);
  CHECK(last_chunks(Cell::kLstm, 21) == 2);
  CHECK(last_chunks(Cell::kLstm, 28) == 3);
  CHECK(last_chunks(Cell::kLstm, 29) == 4);
  CHECK(last_chunks(Cell::kLstm, 32) == 4);
  CHECK(last_chunks(Cell::kLstm, 20, true) == 4);
  CHECK(last_chunks(Cell::kGru, 20) == 2);
  CHECK(last_chunks(Cell::kGru, 24) == 2);
  CHECK(last_chunks(Cell::kGru, 25) == 3);

  // Planes of z: x_n, r and u from the second chunk on, q_n.
  const Network<float> gru({Cell::kGru, 1, 1, 20, 3, 0, false, true, true, INFINITY, 0, 0}, PanelOrder::kRows);
  const ptrdiff_t planes[] = {0, 16, 20, 32};
  for (int plane = 0; plane < 4; plane++) CHECK(gru.PackedPlane(plane) == planes[plane]);
}

// Unit 17 of gate f, column 2: panel 1, step 2 of the depth, chunk 1, lane 1. 32 units, as a last panel of four would
// be packed.
TEST_CASE("Network stores an LSTM panel as [depth][gates i f g o][16 units], or as [gates][depth][16 units]") {
  std::vector<float> f(32 * 3, 0.0f);
  f[17 * 3 + 2] = 1;
  for (const PanelOrder order : {PanelOrder::kRows, PanelOrder::kChunks}) {
    const Network<float> network({Cell::kLstm, 1, 1, 32, 3, 0, false, true, true, INFINITY, 0, 0}, order);
    std::vector<float> params(static_cast<size_t>(network.params_size()));
    network.MoveWeight(params.data(), f.data(), 0, Side::kInput, 1, true);
    const int place = order == PanelOrder::kRows ? 2 * 64 + 1 * 16 : 1 * (3 * 16) + 2 * 16;
    CHECK(params[static_cast<size_t>(1 * (3 * 64) + place + 1)] == 1);
  }
}

// The planes of GRU's pre-activations are x_n r u q_n: the input side stores n first, the recurrent side last.
TEST_CASE("Network stores GRU's new memory first on the input side and last on the recurrent side") {
  const Network<float> network({Cell::kGru, 1, 1, 16, 1, 0, false, true, true, INFINITY, 0, 0}, PanelOrder::kRows);
  constexpr int kNewMemory = 2;  // canonical order r u n
  std::vector<float> params(static_cast<size_t>(network.params_size()));
  std::vector<float> ones(16 * 16, 1.0f);
  network.MoveWeight(params.data(), ones.data(), 0, Side::kInput, kNewMemory, true);
  CHECK(params[network.layer(0).input.offset] == 1);
  network.MoveWeight(params.data(), ones.data(), 0, Side::kRecurrent, kNewMemory, true);
  CHECK(params[network.layer(0).recurrent.offset] == 0);
  CHECK(params[network.layer(0).recurrent.offset + 2 * 16] == 1);
}

}  // namespace
}  // namespace cudnn_rnn
