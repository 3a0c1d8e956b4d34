// ThreadPool of a module that runs on the caller's thread alone. WebAssembly cannot flush denormals to zero: they are
// computed as IEEE 754 has them.
#include "threads/thread_pool.h"

namespace cudnn_rnn {

ThreadPool::ThreadPool(int) : size_(1), meeting_loops_(nullptr), inside_(0) {}

ThreadPool::~ThreadPool() {}

void ThreadPool::Run(int, const Work& work) { work(0); }

void ThreadPool::RunOrAlone(int, const Work& work) { work(0); }

}  // namespace cudnn_rnn
