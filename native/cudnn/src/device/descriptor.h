#pragma once

#include "sys/status.h"

namespace cudnn_rnn {

/// Owns one descriptor of cuDNN. `create` and `destroy` are members of the symbol table, as the functions have no
/// address before run time.
template <typename T, cudnnStatus_t (*CudnnTable::*create)(T*), cudnnStatus_t (*CudnnTable::*destroy)(T)>
class Descriptor {
 public:
  explicit Descriptor(const Libraries& libraries) : libraries_(libraries) {
    CheckCudnn(libraries, (libraries.cudnn.*create)(&value_), "cudnnCreate…Descriptor");
  }
  ~Descriptor() {
    if (value_ != nullptr) (libraries_.cudnn.*destroy)(value_);
  }
  // No moves either: a moved-from handle would be destroyed twice.
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// The handle, owned by this object. Valid until its destructor.
  T get() const { return value_; }

 private:
  const Libraries& libraries_;
  T value_ = nullptr;
};

using TensorDescriptor = Descriptor<cudnnTensorDescriptor_t, &CudnnTable::cudnnCreateTensorDescriptor,
                                    &CudnnTable::cudnnDestroyTensorDescriptor>;
using DropoutDescriptor = Descriptor<cudnnDropoutDescriptor_t, &CudnnTable::cudnnCreateDropoutDescriptor,
                                     &CudnnTable::cudnnDestroyDropoutDescriptor>;
using RnnDescriptor =
    Descriptor<cudnnRNNDescriptor_t, &CudnnTable::cudnnCreateRNNDescriptor, &CudnnTable::cudnnDestroyRNNDescriptor>;
using DataDescriptor = Descriptor<cudnnRNNDataDescriptor_t, &CudnnTable::cudnnCreateRNNDataDescriptor,
                                  &CudnnTable::cudnnDestroyRNNDataDescriptor>;
using CtcLossDescriptor = Descriptor<cudnnCTCLossDescriptor_t, &CudnnTable::cudnnCreateCTCLossDescriptor,
                                     &CudnnTable::cudnnDestroyCTCLossDescriptor>;

}  // namespace cudnn_rnn
