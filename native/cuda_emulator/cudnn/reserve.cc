#include "cudnn/reserve.h"

#include "core/settings.h"
#include "core/stream.h"

namespace emulator {
namespace {

// Pieces start at whole 32 bytes.
std::size_t Aligned(std::size_t bytes) { return (bytes + 31) / 32 * 32; }

std::size_t SlotsPerPseudoLayer(const RnnShape& shape) {
  if (shape.projected) return 6;
  return shape.cell_mode == CUDNN_LSTM ? 5 : shape.cell_mode == CUDNN_GRU ? 6 : 1;
}

}  // namespace

ReserveLayout::ReserveLayout(const RnnShape& shape, const Sequences& sequences, bool dropout)
    : slots(SlotsPerPseudoLayer(shape)),
      slot(Aligned(SizeOf(shape.type) * sequences.rows * shape.hidden)),
      projection(shape.projected ? Aligned(SizeOf(shape.type) * sequences.rows * shape.output) : 0) {
  const std::size_t receiving = (shape.layers - 1) * shape.directions;
  projections = header + shape.PseudoLayers() * slots * slot;
  outputs = projections + shape.PseudoLayers() * projection;
  mask = outputs + receiving * slot;
  const std::size_t bits = shape.directions * receiving * shape.hidden * sequences.time * sequences.Batch();
  constexpr std::size_t kOtherRelease = 512;
  bytes = mask + (dropout ? (bits + 7) / 8 : 0) + (CurrentSettings()->other_release ? kOtherRelease : 0);
}

std::size_t WorkSpaceBytes(const RnnShape& shape, const Sequences& sequences, bool training, bool padded_io) {
  const std::size_t vectors = sequences.Vectors();
  const std::size_t layer = SizeOf(shape.type) * vectors * shape.hidden * shape.directions;
  const std::size_t x = SizeOf(shape.type) * vectors * shape.input;
  const std::size_t y = SizeOf(shape.type) * vectors * shape.output * shape.directions;
  return (64 << 10) + layer * (training ? 2 : 1) + x + (padded_io ? x + y : 0);
}

std::uint64_t NetworkSum(const RnnDescriptor& descriptor, const Sequences& sequences) {
  const RnnDescriptor& d = descriptor;
  // The algorithm is left out: forward and backward may differ in it.
  const std::int64_t facts[] = {d.cell_mode,  d.bias_mode,   d.direction, d.input_mode, d.dtype,
                                d.input_size, d.hidden_size, d.proj_size, d.layers};
  const auto& lengths = sequences.lengths;
  return Checksum(facts, sizeof facts) ^ Checksum(lengths.data(), lengths.size() * sizeof lengths[0]);
}

}  // namespace emulator
