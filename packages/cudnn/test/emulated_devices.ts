import type { BackendTensor, DeviceGroup } from '@cudnn-rnn/ops'
import { afterEach, beforeEach, expect } from 'vitest'
import type { CudnnBackend, CudnnBackendOptions } from '../src/index.js'
import type { openEmulatedGpu } from './emulated_gpu.js'

export const SIZE = 70_000 // more than a piece of the emulator's shared memory

/** Executors on three emulated GPUs and groups of them, which are closed after each test and leave nothing on a device. */
export function usesDevices(gpu: Extract<ReturnType<typeof openEmulatedGpu>, { problem: undefined }>) {
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

  async function openDevices(count: number, options: CudnnBackendOptions = {}) {
    const devices = await Promise.all(
      Array.from({ length: count }, (_, device) => open({ device, algorithm: 'standard', graphs: false, ...options })),
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
  const rampOf = ({ shape }: BackendTensor) => ({
    data: Float32Array.from({ length: shape[0]! }, (_, k) => Math.sin(k)),
    shape,
  })
  const read = async (tensor: BackendTensor) => [...(await tensor.read()).data]

  return { libraries, open, backends, openDevices, connect, tensorsOf, rampOf, read }
}
