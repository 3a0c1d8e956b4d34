#pragma once

#include <memory>
#include <vector>

#include "core/cudnn_objects.h"
#include "core/memory.h"
#include "cudnn/reserve.h"
#include "cudnn/rnn_shape.h"
#include "cudnn/sequences.h"

namespace emulator {

/// The common part of the three passes: the descriptors' values at the call, and the checks that cuDNN makes on the
/// host. Immutable once made, and shared with the stream's thread.
struct RnnPass {
  RnnPass(const RnnDescriptor& descriptor, const RnnDataDescriptor& x, const RnnDataDescriptor& y);

  const RnnDescriptor descriptor;
  const RnnShape shape;
  const RnnDataDescriptor x_data, y_data;
  const Sequences sequences;
  const Sequences outputs;  ///< as `sequences`, in y's layout
  const bool x_filled, y_filled;
  const double x_fill, y_fill;
  /// This pass with the lengths of another one.
  std::shared_ptr<const RnnPass> WithLengths(const RnnPass& other) const;

  float dropout_rate = 0;  ///< between layers, in training
  DropoutStates* states = nullptr;

  std::size_t InputBytes() const { return SizeOf(shape.type) * sequences.Vectors() * shape.input; }
  std::size_t OutputBytes() const { return SizeOf(shape.type) * outputs.Vectors() * shape.output * shape.directions; }
  std::size_t WeightBytes() const { return SizeOf(shape.type) * shape.Elements(); }
  std::size_t HiddenBytes() const { return StateBytes(shape.output); }
  std::size_t CellBytes() const { return StateBytes(shape.hidden); }

 private:
  std::size_t StateBytes(std::size_t width) const {
    return SizeOf(shape.type) * shape.PseudoLayers() * sequences.Batch() * width;
  }
};

/// Reads descriptors and checks everything about them that does not depend on the pass.
std::shared_ptr<RnnPass> MakePass(cudnnRNNDescriptor_t descriptor, cudnnRNNDataDescriptor_t x,
                                  cudnnRNNDataDescriptor_t y, bool training);

/// Refuses more units than the algorithm takes.
void CheckHiddenSize(const RnnDescriptor& descriptor);

/// The real library accepts empty sequences, but its kernels are reported to fail on them. This check comes last in a
/// call, as the real library does not make it.
void CheckNoEmptySequence(const RnnPass& pass);

/// h and c descriptors must be [L·D, B, P] and [L·D, B, H], fully packed; one that no pointer needs is not checked.
void CheckStateDescriptor(const RnnPass& pass, cudnnTensorDescriptor_t descriptor, bool needed, std::size_t width,
                          const char* name);

/// The weight, work and reserve spaces must be there and large enough.
void CheckSpace(const void* space, std::size_t bytes, std::size_t needed, const char* name);

/// A device pointer that cuDNN itself would not look at: null, host and misaligned ones are reported and end in an
/// illegal address, as on a GPU, when the pass runs.
void CheckDevicePointer(const void* pointer, std::size_t alignment, const char* name);

/// Refuses a persistent kernel at a stage ("forward", "backward", "dropout") that the settings name.
void RefusePersistent(const RnnPass& pass, const char* stage);

/// On the device: fills the work space with rubbish, and compares device lengths with the descriptor's.
void SpoilWorkSpace(int device, void* space, std::size_t bytes);
void CheckDeviceLengths(int device, const std::int32_t* lengths, const Sequences& sequences);

/// Accesses of an operation; null pointers and empty ranges are left out.
class Accesses {
 public:
  Accesses& Reads(const void* pointer, std::size_t bytes);
  Accesses& Writes(const void* pointer, std::size_t bytes);
  std::vector<Access> list;
};

}  // namespace emulator
