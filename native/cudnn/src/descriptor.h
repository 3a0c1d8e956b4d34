#pragma once

#include <memory>

#include "status.h"

namespace cudnn_rnn {

/// Owns one descriptor of cuDNN. `create` and `destroy` are members of the symbol table, as the functions have no
/// address before run time. Descriptors are set once, right after they are made, and never changed: cuDNN locks nothing.
template <typename T, cudnnStatus_t (*CudnnTable::*create)(T*), cudnnStatus_t (*CudnnTable::*destroy)(T)>
class Descriptor {
 public:
  Descriptor(std::shared_ptr<const Libraries> libraries, const char* call) : libraries_(std::move(libraries)) {
    CheckCudnn(*libraries_, (libraries_->cudnn.*create)(&value_), call);
  }
  ~Descriptor() { (libraries_->cudnn.*destroy)(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  T get() const { return value_; }

  /// What the descriptor refers to and cuDNN reads later: a dropout descriptor's states, a network's dropout descriptor.
  std::shared_ptr<void> keeps;

 private:
  const std::shared_ptr<const Libraries> libraries_;
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

}  // namespace cudnn_rnn
