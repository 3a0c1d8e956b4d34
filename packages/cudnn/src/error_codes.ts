/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CUBLAS: {
    meaning: 'a cuBLAS call failed; `statusName` and `detail` say how',
    remedy: 'compare driver, CUDA libraries and cuDNN in `cudnn-rnn doctor`',
  },
  ERR_CUDA: {
    meaning: 'a CUDA call failed; `statusName` and `detail` say how',
    remedy: 'compare driver, CUDA libraries and cuDNN in `cudnn-rnn doctor`',
  },
  ERR_CUDNN: {
    meaning:
      'a cuDNN call failed, or a persistent kernel of this package waited too long (PERSISTENT_KERNEL_STUCK); `statusName` and `detail` say how',
    remedy: "compare driver, CUDA libraries and cuDNN in `cudnn-rnn doctor`; open the executor with `kernels: 'cudnn'`",
  },
  ERR_CUDNN_BAD_PARAM: {
    meaning: 'cuDNN refused an argument',
    remedy: 'please report it with the message',
  },
  ERR_CUDNN_LAYOUT: {
    meaning: 'cuDNN places the parameters elsewhere than this package computes',
    remedy: "please report it with cuDNN's version",
  },
  ERR_CUDNN_NOT_SUPPORTED: {
    meaning: 'cuDNN does not offer this network on this GPU',
    remedy: 'use another precision or algorithm, or the cpu executor',
  },
  ERR_DEVICE_LOST: {
    meaning: 'the device failed in an earlier call and cannot be used in this process',
    remedy: 'start the process again',
  },
  ERR_EXECUTOR_BUSY: {
    meaning: '`stepSync`, `stepRowsSync` or `readSync` while another call of the cudnn executor prepares a new shape',
    remedy: 'await the calls under way first, or use `step()`, `stepRows()` or `read()`',
  },
  ERR_NCCL: {
    meaning:
      'a call of NCCL between the devices of this process failed, or came too late; `call`, `statusName` and `detail` say how',
    remedy: 'dispose the result of `makeParallel` and make it again; `NCCL_DEBUG=WARN` prints the cause',
  },
  ERR_NO_FLOAT16_ARRAY: {
    meaning: '`readFloat16()` before Node.js 24',
    remedy: 'use Node.js 24, or `read()`, which gives a Float32Array',
  },
  ERR_NVRTC: {
    meaning: 'a kernel could not be compiled',
    remedy: 'compare driver and CUDA libraries in `cudnn-rnn doctor`',
  },
  ERR_OUT_OF_DEVICE_MEMORY: {
    meaning: 'the GPU has not enough free memory',
    remedy: 'use smaller batches, or dispose tensors and tapes that are not needed',
  },
} as const

/** Codes of the errors that this package defines. */
export type CudnnPackageErrorCode = keyof typeof ERROR_CODES
