// The collective calls on the arrays of all ranks. They block, and belong to the thread of MPI. Each throws MpiError.
//
// Note [Passes over a sum]. A large array is reduced where it is: apart from MPI's own copies nothing passes over it.
// Small ones are copied into one array, as each call has a latency. For bfloat16 all arrays are copied: their elements
// are converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi_library.h"
#include "operation.h"

namespace cudnn_rnn {

class Collectives {
 public:
  /// @param communicator used for these calls alone, of which this process is `rank` of `size`
  Collectives(const MpiLibrary& library, MpiHandle communicator, int rank, int size)
      : library_(library), communicator_(communicator), rank_(rank), size_(size) {}

  /// Reduces arrays over all ranks in place. Every rank must pass the same element type, reduction and counts.
  void AllReduce(const Operation& operation);
  /// Copies `count` bytes from `root` to all other ranks. Every rank must pass the same count.
  void Broadcast(std::uint8_t* data, std::size_t count, int root);
  /// Collects the bytes of every rank on every rank. Counts may differ between ranks.
  void AllGather(Operation& operation);
  void Barrier();

 private:
  /// Reduces one array in place.
  void Reduce(void* data, std::size_t count, ElementKind element, ReduceKind reduce);
  /// Reduces arrays by one call on a copy.
  void ReducePacked(const std::vector<ElementArray>& arrays, ElementKind element, ReduceKind reduce);
  /// Sums arrays of floats that travel as bfloat16. Each rank sums one part of the elements in float32, so every sum is
  /// rounded once, for any number of ranks, and all ranks get the same bits.
  template <typename Element>
  void SumAsBfloat16(const std::vector<ElementArray>& arrays);
  /// Sums `count` halves over all ranks in place.
  void SumHalves(std::uint16_t* halves, std::size_t count);

  const MpiLibrary& library_;
  const MpiHandle communicator_;
  const int rank_;
  const int size_;
  // Copies of elements. Kept between calls: the first touch of new memory takes longer than the copy.
  std::vector<std::uint8_t> packed_;
  std::vector<std::uint16_t> halves_;
  std::vector<std::uint16_t> received_;
};

}  // namespace cudnn_rnn
