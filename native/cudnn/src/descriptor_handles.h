#pragma once

#include "descriptor.h"
#include "napi_setup.h"

namespace cudnn_rnn {

HANDLE_TAG(TensorDescriptor, 4)
HANDLE_TAG(DropoutDescriptor, 5)
HANDLE_TAG(RnnDescriptor, 6)
HANDLE_TAG(DataDescriptor, 7)

}  // namespace cudnn_rnn
