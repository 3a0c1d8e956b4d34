import { expect, it } from 'vitest'
import { diagnose } from '../src/commands/doctor.js'

it("diagnose passes TensorFlow's own CudnnLSTM test and reports every executor with its reason", async () => {
  const { selfTest, backends, gpu, chosen, node } = await diagnose()
  expect(selfTest).toMatchObject({ passed: true })
  expect(node).toBe(process.version)
  expect(backends.map(({ name }) => name)).toEqual(['cudnn', 'cpu', 'wasm', 'reference'])
  for (const { available, reason, advice } of backends) {
    expect(reason).not.toBe('')
    expect(advice === '').toBe(available)
  }
  expect(gpu.device !== undefined).toBe(backends[0].available)
  expect(gpu.advice === '').toBe(backends[0].available)
  expect(backends.find(({ available }) => available)?.name).toBe(chosen.name)
})
