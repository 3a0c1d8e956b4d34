#pragma once

namespace cudnn_rnn {

// Physical cores that this process may run on, at least 1. Two hyper-threads of one core share its multiply-add units,
// so a second compute thread on the same core only adds waiting.
int PhysicalCores();

}  // namespace cudnn_rnn
