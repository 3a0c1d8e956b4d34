import { describe, expect, it } from 'vitest'
import { SIZE, usesDevices } from './emulated_devices.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`groups of GPUs (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, openDevices, connect, tensorsOf, rampOf, read } = usesDevices(gpu)

  it.each([1, 2, 3])('sums and copies tensors over %d devices, and the host has no part in it', async (count) => {
    const devices = await openDevices(count)
    const group = await connect(devices)
    expect(group.reason).toMatch(/^nccl: NCCL 2\.27\.7 \(.*libnccl\.so\.2\)$/)
    const [summed, copied] = [tensorsOf(devices), tensorsOf(devices)]
    // The last copy from the host on each device.
    for (const [, , small] of copied) await read(small!)
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

  describe('a network whose parameters a group has written', () => {
    const passOf = (network: ReturnType<typeof smallLstm>) => network.forward()
    const outputs = async ({ output }: Awaited<ReturnType<typeof passOf>>) => read(output)

    it.each(['float32', 'float16'] as const)('computes with the new ones at precision %s', async (precision) => {
      const devices = await openDevices(2, { precision })
      const group = await connect(devices)
      const networks = devices.map((device) => smallLstm(device))
      const [first, second] = networks as [ReturnType<typeof smallLstm>, ReturnType<typeof smallLstm>]
      const before = await outputs(await passOf(second))
      devices[0]!.ops.assign(first.params, rampOf(first.params))
      await group.broadcast(networks.map(({ params }) => [params]))
      const expected = await outputs(await passOf(first))
      expect(await outputs(await passOf(second))).toEqual(expected)
      expect(expected).not.toEqual(before)
      // The sum of two equal ones is twice each.
      await group.sum(networks.map(({ params }) => [params]))
      const doubled = await outputs(await passOf(second))
      expect(doubled).not.toEqual(expected)
      expect(await outputs(await passOf(first))).toEqual(doubled)
    })

    it('refuses the tape of a pass with the old ones, and takes that of the device that was only read', async () => {
      const devices = await openDevices(2)
      const group = await connect(devices)
      const networks = devices.map((device) => smallLstm(device))
      const passes = await Promise.all(networks.map(passOf))
      await group.broadcast(networks.map(({ params }) => [params]))
      const [first, second] = networks.map(
        ({ rnn }, d) =>
          () =>
            rnn.backward(passes[d]!.tape!, { output: passes[d]!.output }),
      )
      await first!()
      await expect(second!()).rejects.toMatchObject({ code: 'ERR_TAPE_STALE' })
    })
  })
})
