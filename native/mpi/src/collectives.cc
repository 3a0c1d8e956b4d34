#include "collectives.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "bfloat16.h"

namespace cudnn_rnn {
namespace {

/// Counts of MPI are ints: longer arrays go in pieces of this many elements.
constexpr std::size_t kLongestPiece = std::size_t{1} << 30;
/// Arrays of fewer bytes are copied. One of them takes longer to copy than a call of MPI takes.
constexpr std::size_t kPackedBytes = std::size_t{1} << 18;

/// Calls `call(first, count)` for pieces of `count` elements; once for none, as all ranks wait for each other then too.
template <typename Call>
void InPieces(std::size_t count, std::size_t longest, const Call& call) {
  std::size_t done = 0;
  do {
    const std::size_t piece = std::min(count - done, longest);
    call(done, piece);
    done += piece;
  } while (done < count);
}

/// Calls `visit(element, offset)` for every element of `arrays` as if they were one array.
template <typename Element, typename Visit>
void ForEachElement(const std::vector<ElementArray>& arrays, Visit visit) {
  std::size_t offset = 0;
  for (const ElementArray& array : arrays) {
    auto* elements = static_cast<Element*>(array.data);
    for (std::size_t k = 0; k < array.count; k++) visit(elements[k], offset + k);
    offset += array.count;
  }
}

}  // namespace

void Collectives::AllReduce(const Operation& operation) {
  const auto& arrays = operation.arrays;
  const ElementKind element = operation.element;
  if (operation.as_bfloat16) {
    return element == ElementKind::kFloat64 ? SumAsBfloat16<double>(arrays) : SumAsBfloat16<float>(arrays);
  }
  std::vector<ElementArray> small;
  for (const ElementArray& array : arrays) {
    if (arrays.size() > 1 && array.count * BytesPerElement(element) < kPackedBytes) {
      small.push_back(array);
    } else {
      Reduce(array.data, array.count, element, operation.reduce);
    }
  }
  if (!small.empty()) ReducePacked(small, element, operation.reduce);
}

void Collectives::Reduce(void* data, std::size_t count, ElementKind element, ReduceKind reduce) {
  const MpiConstants& c = library_.constants;
  // In the order of ElementKind and ReduceKind.
  const MpiHandle types[] = {c.float32, c.float64, c.int32};
  const MpiHandle reductions[] = {c.sum, c.min, c.max};
  auto* bytes = static_cast<std::uint8_t*>(data);
  // MPI 4 has functions with large counts (MPI_Allreduce_c), but Open MPI 4 and MPICH 3 do not.
  InPieces(count, kLongestPiece, [&](std::size_t done, std::size_t piece) {
    CALL_MPI(library_, Allreduce, c.in_place, bytes + done * BytesPerElement(element), static_cast<int>(piece),
             types[static_cast<int>(element)], reductions[static_cast<int>(reduce)], communicator_);
  });
}

void Collectives::ReducePacked(const std::vector<ElementArray>& arrays, ElementKind element, ReduceKind reduce) {
  const std::size_t bytes_per_element = BytesPerElement(element);
  std::size_t count = 0;
  for (const ElementArray& array : arrays) count += array.count;
  packed_.resize(count * bytes_per_element);
  std::uint8_t* at = packed_.data();
  for (const ElementArray& array : arrays) {
    at = std::copy_n(static_cast<std::uint8_t*>(array.data), array.count * bytes_per_element, at);
  }
  Reduce(packed_.data(), count, element, reduce);
  const std::uint8_t* from = packed_.data();
  for (const ElementArray& array : arrays) {
    const std::size_t bytes = array.count * bytes_per_element;
    std::copy_n(from, bytes, static_cast<std::uint8_t*>(array.data));
    from += bytes;
  }
}

template <typename Element>
void Collectives::SumAsBfloat16(const std::vector<ElementArray>& arrays) {
  std::size_t count = 0;
  for (const ElementArray& array : arrays) count += array.count;
  halves_.resize(count);
  std::uint16_t* halves = halves_.data();
  ForEachElement<Element>(
      arrays, [=](Element& element, std::size_t k) { halves[k] = ToBfloat16(static_cast<float>(element)); });
  InPieces(count, kLongestPiece / sizeof(std::uint16_t),
           [&](std::size_t done, std::size_t piece) { SumHalves(halves + done, piece); });
  ForEachElement<Element>(arrays, [=](Element& element, std::size_t k) { element = FromBfloat16(halves[k]); });
}

void Collectives::SumHalves(std::uint16_t* halves, std::size_t count) {
  const MpiHandle byte = library_.constants.byte;
  const auto size = static_cast<std::size_t>(size_);
  const auto own = static_cast<std::size_t>(rank_);
  std::vector<int> counts(size);
  std::vector<int> offsets(size);
  std::vector<int> own_counts(size);
  std::vector<int> own_offsets(size);
  const auto begin_of = [&](std::size_t rank) { return count * rank / size; };
  const std::size_t part = begin_of(own + 1) - begin_of(own);
  for (std::size_t rank = 0; rank < size; rank++) {
    // In bytes: the three interfaces have no 16-bit type in common.
    offsets[rank] = static_cast<int>(begin_of(rank) * sizeof(std::uint16_t));
    counts[rank] = static_cast<int>((begin_of(rank + 1) - begin_of(rank)) * sizeof(std::uint16_t));
    own_counts[rank] = static_cast<int>(part * sizeof(std::uint16_t));
    own_offsets[rank] = static_cast<int>(rank * part * sizeof(std::uint16_t));
  }
  received_.resize(part * size);
  std::uint16_t* received = received_.data();
  CALL_MPI(library_, Alltoallv, halves, counts.data(), offsets.data(), byte, received, own_counts.data(),
           own_offsets.data(), byte, communicator_);
  for (std::size_t k = 0; k < part; k++) {
    float sum = 0;
    for (std::size_t rank = 0; rank < size; rank++) sum += FromBfloat16(received[rank * part + k]);
    received[k] = ToBfloat16(sum);
  }
  CALL_MPI(library_, Allgatherv, received, own_counts[own], byte, halves, counts.data(), offsets.data(), byte,
           communicator_);
}

void Collectives::Broadcast(std::uint8_t* data, std::size_t count, int root) {
  InPieces(count, kLongestPiece, [&](std::size_t done, std::size_t piece) {
    CALL_MPI(library_, Bcast, data + done, static_cast<int>(piece), library_.constants.byte, root, communicator_);
  });
}

void Collectives::AllGather(Operation& operation) {
  const MpiConstants& c = library_.constants;
  const auto size = static_cast<std::size_t>(size_);
  const auto own = static_cast<std::int64_t>(operation.byte_count);
  operation.lengths.resize(size);
  // First the lengths: MPI_Allgatherv needs the counts of all ranks on every rank.
  CALL_MPI(library_, Allgather, &own, 1, c.int64, operation.lengths.data(), 1, c.int64, communicator_);
  std::int64_t total = 0;
  for (const std::int64_t length : operation.lengths) total += length;
  operation.gathered.resize(static_cast<std::size_t>(total));
  // Offsets of MPI_Allgatherv are ints too, so its limit is the sum, not the largest part.
  if (total <= INT_MAX) {
    std::vector<int> counts(size);
    std::vector<int> offsets(size);
    int offset = 0;
    for (std::size_t rank = 0; rank < size; rank++) {
      counts[rank] = static_cast<int>(operation.lengths[rank]);
      offsets[rank] = offset;
      offset += counts[rank];
    }
    CALL_MPI(library_, Allgatherv, operation.bytes, static_cast<int>(own), c.byte, operation.gathered.data(),
             counts.data(), offsets.data(), c.byte, communicator_);
    return;
  }
  // Over 2 GiB: one broadcast for each rank, in pieces. All ranks take this branch together, as `total` is the same
  // everywhere.
  std::size_t offset = 0;
  for (std::size_t rank = 0; rank < size; rank++) {
    const auto length = static_cast<std::size_t>(operation.lengths[rank]);
    std::uint8_t* part = operation.gathered.data() + offset;
    if (static_cast<int>(rank) == rank_) std::memcpy(part, operation.bytes, length);
    Broadcast(part, length, static_cast<int>(rank));
    offset += length;
  }
}

void Collectives::Barrier() { CALL_MPI(library_, Barrier, communicator_); }

}  // namespace cudnn_rnn
