import type { BackendTensor, DeviceGroup } from '@cudnn-rnn/backend'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CudnnBackend } from '../src/index.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()
const SIZE = 70_000 // more than a piece of the emulator's shared memory

describe.skipIf(gpu.problem !== undefined)(`groups of GPUs (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  const backends: CudnnBackend[] = []
  const groups: DeviceGroup[] = []
  beforeEach(() => libraries.configure('reset; devices=3'))
  afterEach(async () => {
    libraries.configure('slow=0')
    await Promise.all(groups.splice(0).map((group) => group.close().catch(() => {})))
    await Promise.all(backends.splice(0).map((backend) => backend.close()))
    const { violations, live } = libraries.report()
    expect(violations).toEqual([])
    for (const kind of ['nccl communicators', 'streams', 'events', 'device bytes'])
      expect([kind, live[kind] ?? 0]).toEqual([kind, 0])
    libraries.configure('reset')
  })

  async function openDevices(count: number) {
    const devices = await Promise.all(
      Array.from({ length: count }, (_, device) => open({ device, algorithm: 'standard', graphs: false })),
    )
    backends.push(...devices)
    return devices
  }

  async function connect(devices: readonly CudnnBackend[], timeoutSeconds?: number) {
    const group = await devices[0]!.groups.connect(devices, { timeoutSeconds })
    groups.push(group)
    return group
  }

  /** On device d: d + 1, 2(d + 1), … and −(d + 1). */
  const tensorsOf = (devices: readonly CudnnBackend[]) =>
    devices.map((device, d) => [
      device.tensor({ data: Float32Array.from({ length: SIZE }, (_, k) => (k + 1) * (d + 1)), shape: [SIZE] }),
      device.zeros([0]),
      device.tensor({ data: Float32Array.of(-d - 1), shape: [] }),
    ])
  const read = async (tensor: BackendTensor) => [...(await tensor.read()).data]

  it.each([1, 2, 3])('sums and copies tensors over %d devices, and the host has no part in it', async (count) => {
    const devices = await openDevices(count)
    const group = await connect(devices)
    expect(group.reason).toMatch(/^nccl: NCCL 2\.27\.7 \(.*libnccl\.so\.2\)$/)
    const [summed, copied] = [tensorsOf(devices), tensorsOf(devices)]
    await read(summed[0]![0]!)
    const before = libraries.report().copied
    await Promise.all([group.sum(summed), group.broadcast(copied)])
    expect(libraries.report().copied).toEqual(before)
    const factor = (count * (count + 1)) / 2
    for (const [large, empty, small] of summed) {
      expect(await read(large!)).toEqual(Array.from({ length: SIZE }, (_, k) => (k + 1) * factor))
      expect([await read(empty!), await read(small!)]).toEqual([[], [-factor]])
    }
    for (const [large, , small] of copied) {
      expect(await read(large!)).toEqual(Array.from({ length: SIZE }, (_, k) => k + 1))
      expect(await read(small!)).toEqual([-1])
    }
  })

  it.each([
    ['ncclAllReduce=5@1', 'ncclAllReduce', 'invalid usage'],
    ['ncclAllReduce=5@4', 'ncclAllReduce', 'invalid usage'],
    ['ncclGroupStart=3@1', 'ncclGroupStart', 'internal error'],
    ['ncclGroupEnd=2@1', 'ncclAllReduce', 'unhandled system error'],
    ['ncclCommGetAsyncError=6@5+', 'ncclCommGetAsyncError', 'remote process exited or there was a network error'],
    ['cudaEventRecord=1@2', 'cudaEventRecord', 'cudaErrorInvalidValue'],
    ['cudaEventQuery=1@1', 'cudaEventQuery', 'cudaErrorInvalidValue'],
  ])('rejects a sum in which %s fails, and every later call, and hangs nothing', async (fault, call, statusName) => {
    const devices = await openDevices(2)
    const group = await connect(devices)
    const tensors = tensorsOf(devices)
    const others = tensorsOf(devices)
    // Their uploads make some of the calls too, and are queued until then.
    for (const tensor of [...tensors, ...others].flat()) await read(tensor)
    libraries.configure(`fault.${fault}`)
    const code = call.startsWith('nccl') ? 'ERR_NCCL' : 'ERR_CUDA'
    await expect(group.sum(tensors)).rejects.toMatchObject({ code, call, statusName })
    libraries.configure(`fault.${fault.replace(/=.*/, '=0')}`)
    await expect(group.broadcast(others)).rejects.toMatchObject({
      code: 'ERR_NCCL',
      message: 'Cannot copy tensors as ncclAllReduce cannot be made: an earlier call failed',
    })
    expect(await read(others[0]![2]!)).toEqual([-1])
  })

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
})
