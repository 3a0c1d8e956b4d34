import type { BackendTensor } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import type { CudnnBackend } from '../src/index.js'
import { usesDevices } from './emulated_devices.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`wrong groups of GPUs (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open, backends, openDevices, connect, tensorsOf, read } = usesDevices(gpu)

  it('rejects a copy that fails, and keeps the tensors of the first device', async () => {
    const devices = await openDevices(2)
    const group = await connect(devices)
    const tensors = tensorsOf(devices)
    libraries.configure('fault.ncclBroadcast=4@2')
    await expect(group.broadcast(tensors)).rejects.toMatchObject({ code: 'ERR_NCCL', call: 'ncclBroadcast' })
    expect(await read(tensors[0]![2]!)).toEqual([-1])
    await expect(tensors[1]![2]!.read()).rejects.toMatchObject({ code: 'ERR_NCCL' })
  })

  it('rejects with the error of a device that has no tensor, and works again', async () => {
    const devices = await openDevices(2)
    const group = await connect(devices)
    const tensors = tensorsOf(devices)
    const others = tensorsOf(devices)
    await read(others[1]![0]!)
    libraries.configure('fault.cuLaunchKernel=1@1')
    devices[1]!.ops.accumulate(others[1]![0]!, tensors[1]![0]!, 2)
    await expect(group.sum(others)).rejects.toMatchObject({ code: 'ERR_CUDA', call: 'cuLaunchKernel of add_scaled' })
    // A copy overwrites the tensor that has the error.
    await group.broadcast([tensors[0]!, others[1]!])
    expect((await read(others[1]![0]!)).slice(0, 2)).toEqual([1, 2])
    await group.sum(tensors)
    expect(await read(tensors[1]![2]!)).toEqual([-3])
  })

  it('ends a sum at the deadline', async () => {
    const devices = await openDevices(2)
    const group = await connect(devices, 0.05)
    const tensors = tensorsOf(devices)
    await Promise.all(tensors.flat().map(read))
    libraries.configure('slow=30000000')
    await expect(group.sum(tensors)).rejects.toMatchObject({
      ...{ code: 'ERR_NCCL', statusName: 'TIMEOUT' },
      message: 'Cannot sum tensors as ncclAllReduce did not end within 0.05 s',
    })
  })

  it('rejects a sum whose device is disposed, and frees the communicators of a group that is not closed first', async () => {
    const devices = await openDevices(2)
    const group = await connect(devices)
    const tensors = tensorsOf(devices)
    await group.sum(tensors)
    await devices[1]!.close()
    await expect(group.sum(tensors)).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
    await group.close()
    await expect(group.sum(tensors)).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
  })

  it.each(['ncclGetUniqueId=2@1', 'ncclCommInitRankConfig=5@2', 'ncclGroupEnd=2@1', 'ncclCommGetAsyncError=3@2'])(
    'leaves nothing open where %s fails at the beginning',
    async (fault) => {
      const devices = await openDevices(2)
      libraries.configure(`fault.${fault}`)
      await expect(connect(devices)).rejects.toMatchObject({ code: 'ERR_NCCL' })
      expect(libraries.report().live['nccl communicators'] ?? 0).toBe(0)
    },
  )

  it('frees all communicators where ncclCommFinalize fails at the end', async () => {
    const group = await connect(await openDevices(2))
    libraries.configure('fault.ncclCommFinalize=3@2')
    await expect(group.close()).rejects.toMatchObject({ code: 'ERR_NCCL', call: 'ncclCommFinalize' })
  })

  it('refuses one GPU twice, other executors, tensors of another device and of other sizes', async () => {
    const devices = await openDevices(2)
    const [first, second] = devices as [CudnnBackend, CudnnBackend]
    await expect(connect([first, first])).rejects.toMatchObject({
      code: 'ERR_BACKEND_UNAVAILABLE',
      message: expect.stringMatching(/it needs one executor on each GPU: the GPUs are 0, 0/),
    })
    using reference = openReferenceBackend()
    await expect(first.groups.connect([first, reference])).rejects.toMatchObject({ code: 'ERR_BACKEND_UNAVAILABLE' })
    await expect(first.groups.connect([])).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    await expect(connect(devices, -1)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    const group = await connect(devices)
    await expect(group.sum([[first.zeros([2])], [first.zeros([2])]])).rejects.toMatchObject({
      code: 'ERR_FOREIGN_TENSOR',
    })
    await expect(group.sum([[first.zeros([2])], [second.zeros([3])]])).rejects.toMatchObject({ code: 'ERR_SHAPE' })
  })

  it('refuses lists that are none, or of another number, and tensors of another type, and changes nothing', async () => {
    const devices = await openDevices(2)
    const [first, second] = devices as [CudnnBackend, CudnnBackend]
    const group = await connect(devices)
    const [a, b] = [first, second].map((device) => device.tensor({ data: Int32Array.of(1, 2), shape: [2] }))
    const [x, y] = [first, second].map((device) => device.tensor({ data: Float32Array.of(1, 2), shape: [2] }))
    for (const call of ['sum', 'broadcast'] as const) {
      for (const tensors of [undefined, null, 7, [], [[x]], [[x], [y], [x]], [x, y], [[x], undefined], [[x], 'y']]) {
        const error = await group[call](tensors as never).catch((reason: unknown) => reason)
        expect(error, String(tensors)).toMatchObject({ code: expect.stringMatching(/^ERR_INVALID_/) })
      }
      for (const tensors of [
        [[a], [b]],
        [[x], [b]],
      ]) {
        await expect(group[call](tensors as never)).rejects.toMatchObject({ code: 'ERR_DTYPE' })
      }
      await expect(group[call]([[{ data: Float32Array.of(1), shape: [1] }], [y!]] as never)).rejects.toMatchObject({
        code: 'ERR_NOT_A_TENSOR',
      })
    }
    for (const tensor of [a, b, x, y]) expect(await read(tensor as BackendTensor)).toEqual([1, 2])
    const gone = first.zeros([2])
    gone.dispose()
    await expect(group.sum([[gone], [y!]])).rejects.toMatchObject({ code: 'ERR_TENSOR_DISPOSED' })
    expect(await read(y!)).toEqual([1, 2])
  })

  it('refuses executors of two element types', async () => {
    const [single] = await openDevices(1)
    const double = await open({ device: 1, dtype: 'float64' })
    backends.push(double)
    await expect(connect([single!, double])).rejects.toMatchObject({
      code: 'ERR_BACKEND_UNAVAILABLE',
      message: expect.stringContaining('float32, float64'),
    })
  })
})
