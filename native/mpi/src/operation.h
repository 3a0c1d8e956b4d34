// A call of a communicator, from its queueing to its settlement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace cudnn_rnn {

/// Kinds of operations. The numbers are sent between ranks in reports of a roll call, so all ranks must run the same
/// build.
enum class OperationKind : std::int64_t { kNone, kOpen, kAllReduce, kBroadcast, kAllGather, kBarrier, kClose };
/// Element types of an all-reduce, in the order of the table of MPI datatypes in Collectives::AllReduce.
enum class ElementKind { kFloat32, kFloat64, kInt32 };
/// Reductions of an all-reduce, with the numbers that JavaScript passes. The order in which a library sums is its own,
/// so float sums may differ between libraries and between numbers of ranks.
enum class ReduceKind { kSum, kMin, kMax };

/// The reason why an operation failed; none if `code` is empty.
struct Failure {
  std::string code;
  /// The function of MPI that failed, and its text.
  std::string call;
  std::string detail;
  /// For each library that was tried, the loader's text.
  std::vector<std::string> attempts;
};

/// An array of an all-reduce, in its element type.
struct ElementArray {
  void* data = nullptr;
  std::size_t count = 0;
};

/// All memory that it refers to must stay valid until it is settled.
struct Operation {
  OperationKind kind = OperationKind::kNone;
  /// The arrays of an all-reduce, which all ranks pass with the same counts.
  std::vector<ElementArray> arrays;
  ElementKind element = ElementKind::kFloat32;
  ReduceKind reduce = ReduceKind::kSum;
  /// The elements of a sum travel as bfloat16.
  bool as_bfloat16 = false;
  /// The bytes of a broadcast or an all-gather.
  std::uint8_t* bytes = nullptr;
  std::size_t byte_count = 0;
  int root = 0;
  /// Result of an all-gather: the bytes of all ranks one after the other, and the number of each.
  std::vector<std::uint8_t> gathered;
  std::vector<std::int64_t> lengths;
  Failure failure;
  /// The caller's.
  std::shared_ptr<void> settlement;
};

/// The function of JavaScript, for messages.
inline const char* NameOf(OperationKind kind) {
  static constexpr const char* kNames[] = {"no call",   "openCommunicator", "allReduce", "broadcast",
                                           "allGather", "barrier",          "dispose"};
  const auto number = static_cast<std::size_t>(kind);
  return kNames[number < std::size(kNames) ? number : 0];
}

inline bool IsCollective(OperationKind kind) {
  return kind != OperationKind::kNone && kind != OperationKind::kOpen && kind != OperationKind::kClose;
}

inline std::size_t BytesPerElement(ElementKind element) { return element == ElementKind::kFloat64 ? 8 : 4; }

/// The bytes that this rank gives to the operation.
inline std::size_t BytesOf(const Operation& operation) {
  std::size_t bytes = operation.byte_count;
  for (const ElementArray& array : operation.arrays) bytes += array.count * BytesPerElement(operation.element);
  return bytes;
}

}  // namespace cudnn_rnn
