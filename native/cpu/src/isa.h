#ifndef CUDNN_RNN_CPU_ISA_H_
#define CUDNN_RNN_CPU_ISA_H_

#include <string>
#include <vector>

#include "kernels.h"

namespace cudnn_rnn {

// The kernels that this processor can run, best first; the portable ones close the list.
std::vector<const Kernels*> SupportedKernels();

// Physical cores that this process may run on, at least 1.
int PhysicalCores();

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_ISA_H_
