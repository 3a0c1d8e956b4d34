import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openEmulatedGpu } from './emulated_gpu.js'
import { type Model, usesSteps } from './emulated_steps.js'

const gpu = openEmulatedGpu()

/** Changes between and within steps: a replay must never use a buffer or an object that was freed. */
describe.skipIf(gpu.problem !== undefined)(
  `CudnnTrainingSteps between steps (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { open, launches, train } = usesSteps(gpu)

    it.each([
      [
        'variables and slots are assigned to, as a checkpoint is restored',
        (model: Model, step: number) => {
          if (step !== 6) return
          for (const tensor of [...model.variables, ...model.slots.flat()]) {
            const data = new Float32Array(elementCount(tensor.shape)).fill(0.01)
            model.backend.ops.assign(tensor, model.backend.tensor({ data, shape: tensor.shape }))
          }
        },
      ],
      [
        'the dropout generator is restored',
        async (model: Model, step: number) => {
          if (step === 5) model.kept = await model.lstm.dropoutState()
          if (step === 8) model.lstm.restoreDropoutState(model.kept!)
        },
      ],
      [
        'a variable is replaced by another tensor, and disposed',
        (model: Model, step: number) => {
          if (step !== 6) return
          const [table] = model.variables
          model.variables[0] = model.backend.tensor({ data: new Float32Array(28).fill(0.1), shape: table.shape })
          table.dispose()
        },
      ],
      [
        'a variable is replaced by another tensor, and both stay in use',
        (model: Model, step: number) => {
          if (step % 3 === 2) model.variables[0] = model.backend.tensor({ data: new Float32Array(28), shape: [7, 4] })
        },
      ],
      [
        'a larger batch is between',
        async (model: Model, step: number) => {
          if (step === 6) await model.step({ batch: 40, time: 9 })
        },
      ],
      [
        'a step fails for its arguments',
        async (model: Model, step: number) => {
          if (step === 6) await expect(model.step({ learningRate: -1 })).rejects.toThrow('learningRate')
        },
      ],
    ] as const)('steps are right where %s', async (_, between) => {
      const expected = await train(false, between)
      expect(launches()).toBe(0)
      expect(await train(true, between)).toEqual(expected)
      expect(launches()).toBeGreaterThan(1)
    })

    it('updates change nothing where a guard is not finite', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const { ops, steps } = backend
      const names = ['sgd', 'momentum', 'adam', 'rmsprop', 'adagrad', 'decay', 'accumulate'] as const
      const tensors = Object.fromEntries(
        names.map((name) => [name, [1, 2, 3].map((n) => backend.tensor({ data: Float32Array.of(n), shape: [1] }))]),
      ) as Record<(typeof names)[number], [typeof tensor, typeof tensor, typeof tensor]>
      const tensor = backend.tensor({ data: Float32Array.of(1), shape: [1] })
      const update = (loss: number, norm: number) => {
        const scalar = (value: number) => backend.tensor({ data: Float32Array.of(value), shape: [] })
        const { sgd, momentum, adam, rmsprop, adagrad, decay, accumulate } = tensors
        const rate = { learningRate: 0.1 }
        const root = { ...rate, epsilon: 1e-3 }
        steps.whereFinite([scalar(loss), scalar(norm), scalar(0)], () => {
          ops.update('sgd', sgd[0], [], tensor, rate)
          ops.update('momentum', momentum[0], [momentum[1]], tensor, { ...rate, momentum: 0.9 })
          ops.update('adam', adam[0], [adam[1], adam[2]], tensor, { ...root, step: 1 })
          ops.update('rmsProp', rmsprop[0], [rmsprop[1], rmsprop[2]], tensor, root)
          ops.update('adagrad', adagrad[0], [adagrad[1]], tensor, root)
          ops.update('weightDecay', decay[0], [], null, { rate: 0.1 })
          ops.accumulate(accumulate[0], tensor)
        })
      }
      const values = async () => {
        const read: number[][] = []
        for (const name of names) read.push(await Promise.all(tensors[name].map(async (t) => (await t.read()).data[0])))
        return read
      }
      const before = await values()
      update(Number.NaN, 1)
      update(1, Number.POSITIVE_INFINITY)
      expect(await values()).toEqual(before)
      update(1, 1)
      for (const [first] of (await values()).entries()) expect((await values())[first][0]).not.toBe(before[first][0])
      expect(() => steps.whereFinite([tensor], () => {})).toThrow(coded('ERR_SHAPE'))
    })

    it('a call outside a step, made during it, keeps its place in the order of calls', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const { ops, steps } = backend
      const sum = backend.zeros([1])
      const one = backend.tensor({ data: Float32Array.of(1), shape: [1] })
      for (let round = 0; round < 6; round++) {
        let seen: Promise<{ data: ArrayLike<number> }> | undefined
        await steps.run(async () => {
          ops.accumulate(sum, one)
          seen = sum.read()
          ops.accumulate(sum, one)
        })
        expect([(await seen!).data[0], (await sum.read()).data[0]]).toEqual([2 * round + 1, 2 * round + 2])
      }
    })

    it('host arrays may change after the call that takes them', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const sum = backend.zeros([2])
      const host = { data: new Float32Array(2), shape: [2] }
      for (let round = 1; round <= 6; round++) {
        await backend.steps.run(async () => {
          host.data.fill(round)
          backend.ops.accumulate(sum, host)
          host.data.fill(-1000)
        })
      }
      expect([...(await sum.read()).data]).toEqual([21, 21])
    })
  },
)
