#pragma once

#include <cstddef>
#include <cstdint>

#include "cudnn/dropout_states.h"
#include "cudnn/rnn_shape.h"
#include "cudnn/sequences.h"

namespace emulator {

/// State of a reserve space, at its start on the device. The checksums show whether a backward pass reads the values
/// that the forward pass read and wrote.
struct ReserveHeader {
  static constexpr std::uint64_t kMagic = 0x65767265'7365'7221u;
  enum Stage : std::uint64_t { kForwardDone = 1, kDataDone = 2 };

  std::uint64_t magic;
  std::uint64_t stage;
  std::uint64_t network;  ///< sum over sizes, modes and lengths
  std::uint64_t weights, x, hx, y;
};

/// The reserve space, sized as cuDNN 9.24 sizes it (S = Σ lengths, es = bytes per element):
///
///     256 bytes of header
///     for each pseudo-layer its slots of [S, H]: h (RNN), i f g o c (LSTM), r z n q and two unused (GRU), where
///       q = R_n·h + b_Rn; an LSTM with projection has a sixth for the unprojected h and one of [S, P]
///     for each pseudo-layer but the last layer's, one slot of [S, H] with its output
///     with dropout, D²·H·T·B·(L-1) bits: the elements that survive on the way into each direction of each layer
///
/// BackwardData overwrites activations with the gradients of the gates, for BackwardWeights.
struct ReserveLayout {
  ReserveLayout(const RnnShape& shape, const Sequences& sequences, bool dropout);

  std::size_t bytes;

  /// Byte offset of slot `index` of a pseudo-layer.
  std::size_t Slot(std::size_t pseudo, std::size_t index) const { return header + (pseudo * slots + index) * slot; }
  std::size_t Projection(std::size_t pseudo) const { return projections + pseudo * projection; }
  /// The output of a pseudo-layer below the last layer.
  std::size_t Output(std::size_t pseudo) const { return outputs + pseudo * slot; }

  static constexpr std::size_t header = 256;
  std::size_t slots;  ///< per pseudo-layer
  std::size_t slot, projection;
  std::size_t projections, outputs, mask;
};

/// Bytes of work space: the emulator computes elsewhere, but fills all of it with rubbish.
/// Padded I/O takes copies of x and y more, in rows without padding.
std::size_t WorkSpaceBytes(const RnnShape& shape, const Sequences& sequences, bool training, bool padded_io);

/// A checksum that identifies the network and the batch.
std::uint64_t NetworkSum(const RnnDescriptor& descriptor, const Sequences& sequences);

}  // namespace emulator
