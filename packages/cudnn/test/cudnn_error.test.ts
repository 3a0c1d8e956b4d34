import { describe, expect, it } from 'vitest'
import { CudnnError } from '../src/index.js'
import { cudnnError, type NativeErrorFields } from '../src/sys/cudnn_error.js'
import { versionText } from '../src/sys/version_text.js'

/** An error as the addon throws it. */
function native(fields: Partial<NativeErrorFields>): Error {
  return Object.assign(new Error('native'), {
    ...{ library: 'cudnn', call: 'cudnnRNNForward', status: 5000, statusName: 'STATUS', detail: '' },
    ...{ requestedBytes: 0, freeBytes: 0, totalBytes: 0 },
    ...fields,
  })
}
const madeOf = (fields: Partial<NativeErrorFields>) => cudnnError('run forward', native(fields)) as CudnnError

describe('cudnnError', () => {
  // The statuses of cudnnStatus_t in cuDNN 8 and 9, cudaError_t, CUresult and the other libraries.
  it.each([
    ['cudnn', 'cudnnRNNForward', 1, 'ERR_CUDNN'],
    ['cudnn', 'cudnnRNNForward', 2, 'ERR_OUT_OF_DEVICE_MEMORY'],
    ['cudnn', 'cudnnRNNForward', 3, 'ERR_CUDNN_BAD_PARAM'],
    ['cudnn', 'cudnnRNNForward', 4, 'ERR_CUDNN'],
    ['cudnn', 'cudnnRNNForward', 5, 'ERR_CUDNN_BAD_PARAM'],
    ['cudnn', 'cudnnRNNForward', 6, 'ERR_CUDNN_NOT_SUPPORTED'],
    ['cudnn', 'cudnnRNNForward', 8, 'ERR_CUDNN'],
    ['cudnn', 'cudnnRNNForward', 9, 'ERR_CUDNN_NOT_SUPPORTED'],
    ['cudnn', 'cudnnRNNForward', 1001, 'ERR_CUDNN'],
    ['cudnn', 'cudnnRNNForward', 2000, 'ERR_CUDNN_BAD_PARAM'],
    ['cudnn', 'cudnnRNNForward', 2999, 'ERR_CUDNN_BAD_PARAM'],
    ['cudnn', 'cudnnRNNForward', 3000, 'ERR_CUDNN_NOT_SUPPORTED'],
    ['cudnn', 'cudnnRNNForward', 3007, 'ERR_CUDNN_NOT_SUPPORTED'],
    ['cudnn', 'cudnnRNNForward', 4000, 'ERR_CUDNN'],
    ['cudnn', 'cudnnRNNForward', 4003, 'ERR_OUT_OF_DEVICE_MEMORY'],
    ['cudnn', 'cudnnRNNForward', 4004, 'ERR_OUT_OF_DEVICE_MEMORY'],
    ['cudnn', 'cudnnRNNForward', 5003, 'ERR_CUDNN'],
    ['cublas', 'cublasGemmEx', 13, 'ERR_CUBLAS'],
    ['nvrtc', 'nvrtcCompileProgram', 6, 'ERR_NVRTC'],
    ['nccl', 'ncclAllReduce', 2, 'ERR_NCCL'],
    ['cudart', 'cudaMallocAsync', 2, 'ERR_OUT_OF_DEVICE_MEMORY'],
    ['cudart', 'cudaMalloc', 2, 'ERR_OUT_OF_DEVICE_MEMORY'],
    ['cudart', 'cudaMallocAsync', 1, 'ERR_CUDA'],
    // Memory of the host, or of the driver: smaller batches do not help.
    ['cudart', 'cudaGraphInstantiateWithFlags', 2, 'ERR_CUDA'],
    ['cudart', 'cudaMemcpyAsync', 1, 'ERR_CUDA'],
    ['cudart', 'cudaMemcpyAsync', 700, 'ERR_DEVICE_LOST'],
    ['cudart', 'cudaMallocAsync', 700, 'ERR_DEVICE_LOST'],
    ['cudart', 'cudaEventSynchronize', 719, 'ERR_DEVICE_LOST'],
    ['driver', 'cuLaunchKernel', 701, 'ERR_CUDA'],
    ['driver', 'cuLaunchKernel', 716, 'ERR_DEVICE_LOST'],
  ])('of %s, %s, status %i has the code %4$s', (library, call, status, code) => {
    const error = madeOf({ library, call, status })
    expect(error).toBeInstanceOf(CudnnError)
    expect(error).toMatchObject({ code, call, status, statusName: 'STATUS' })
  })

  it('states the call, the status and the text of the library, which is the cause', () => {
    const cause = native({ statusName: 'CUDNN_STATUS_BAD_PARAM', status: 2000, detail: ' bad shape\n' })
    const error = cudnnError('run forward', cause) as CudnnError
    expect(error.message).toBe(
      'Cannot run forward as cudnnRNNForward returned CUDNN_STATUS_BAD_PARAM (2000) ("bad shape")',
    )
    expect(error).toMatchObject({ cause, detail: ' bad shape\n' })
    expect(madeOf({}).message).toBe('Cannot run forward as cudnnRNNForward returned STATUS (5000)')
  })

  it('states how much memory was requested where that is known', () => {
    const memory = { requestedBytes: 300, freeBytes: 200, totalBytes: 1000 }
    const known = madeOf({ library: 'cudart', call: 'cudaMallocAsync', status: 2, ...memory })
    expect(known.message).toContain('300 bytes of device memory were requested and 200 of 1000 are free')
    expect(known).toMatchObject({ requestedBytes: 300, freeBytes: 200 })
    expect(madeOf({ status: 4004 }).message).toContain('cudnnRNNForward ran out of device memory. Use smaller')
  })

  it('of a closed session is that of a disposed backend', () => {
    expect(madeOf({ library: 'session', statusName: 'SESSION_CLOSED' })).toMatchObject({
      code: 'ERR_BACKEND_DISPOSED',
      message: 'Cannot run forward as the backend was disposed',
    })
  })

  it.each([
    ['TIMEOUT', '600', 'ncclAllReduce did not end within 600 s'],
    ['ABORTED', 'an earlier call failed', 'ncclAllReduce cannot be made: an earlier call failed'],
    ['unhandled system error', 'no route', 'ncclAllReduce returned unhandled system error (2) ("no route")'],
  ])('of NCCL with %s states the reason', (statusName, detail, words) => {
    const error = madeOf({ library: 'nccl', call: 'ncclAllReduce', status: 2, statusName, detail })
    expect(error.message).toBe(`Cannot run forward as ${words}`)
  })

  it('of another error is that error itself', () => {
    for (const other of [new Error('other'), 'text', undefined, { statusName: 'STATUS' }]) {
      expect(cudnnError('run forward', other)).toBe(other)
    }
  })
})

describe('versionText', () => {
  it.each([
    [8002, '8.0.2'],
    [8907, '8.9.7'],
    [90_100, '9.1.0'],
    [91_300, '9.13.0'],
    [92_401, '9.24.1'],
    [100_000, '10.0.0'],
  ])('of %i is %s', (version, text) => {
    expect(versionText(version)).toBe(text)
  })
})
