import { handleOf, Program, placeOf, Recording, type Value } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'

type Context = { factor: number }

/** The program of y = f(x) and of ∂x, and a run of both parts. */
function programOf(shape: readonly number[], f: (t: ReturnType<typeof handleOf>, x: Value) => Value) {
  const program = new Program<Context>('float64')
  const x = { name: 'x', value: program.given(shape) }
  const recording = new Recording(program.backend, [x])
  const y = handleOf(recording).scope((t) => f(t, t.value(x)))
  program.beginSecond()
  const dy = program.given(y.shape)
  recording.passBack([[y, dy]])
  const [dx] = recording.take([], [x])
  const start = (values: readonly number[], context = { factor: 1 }) => {
    const arrays = program.arrays()
    arrays[placeOf(x.value)] = Float64Array.from(values)
    program.run('first', arrays, context)
    return {
      y: [...(arrays[placeOf(y.tensor)] as Float64Array)],
      backward(gradient: readonly number[]) {
        arrays[placeOf(dy)] = Float64Array.from(gradient)
        program.run('second', arrays, context)
        return [...(arrays[placeOf(dx as never)] as Float64Array)]
      },
    }
  }
  return { program, y, start }
}

describe('Program', () => {
  it('computes the recorded function and its gradient at each run', () => {
    const { start } = programOf([2], (t, x) => t.add(t.multiply(x, x), t.exp(t.multiply(x, 2))))
    for (const x of [0, 0.5, 1]) {
      const { y, backward } = start([x, -x])
      expect(y).toEqual([x * x + Math.exp(2 * x), x * x + Math.exp(-2 * x)])
      expect(backward([1, 10])[0]).toBeCloseTo(2 * x + 2 * Math.exp(2 * x), 12)
    }
  })

  it('keeps the arrays of a run for its backward, with other runs between', () => {
    const { start } = programOf([1], (t, x) => t.multiply(t.exp(x), t.sin(x)))
    const runs = [0.1, 0.2, 0.3].map((x) => ({ x, ...start([x]) }))
    for (const { x, backward } of runs.reverse()) {
      expect(backward([1])[0]).toBeCloseTo(Math.exp(x) * (Math.sin(x) + Math.cos(x)), 12)
    }
  })

  it('adds gradients of a tensor in several shapes without a write to an array that others read', () => {
    const { start } = programOf([4], (t, x) => {
      const square = t.reshape(x, [2, 2])
      return t.add(t.multiply(t.reshape(t.add(square, square), [4]), x), t.reshape(square, [4]))
    })
    const { y, backward } = start([1, 2, 3, 4])
    expect(y).toEqual([3, 10, 21, 36])
    expect(backward([1, 1, 1, 1])).toEqual([5, 9, 13, 17])
  })

  it('gives a computation of its caller the context of the run', () => {
    const program = new Program<Context>('float32')
    const x = program.given([3])
    const [y] = program.command([[3]], [x], ([to], [from], _, { factor }) => {
      for (let k = 0; k < 3; k++) (to as Float32Array)[k] = factor * from[k]
    })
    const arrays = program.arrays()
    arrays[placeOf(x)] = Float32Array.of(1, 2, 3)
    program.run('first', arrays, { factor: 3 })
    expect([...(arrays[placeOf(y as never)] as Float32Array)]).toEqual([3, 6, 9])
  })

  it('checks operands when it is recorded, and has no elements before it runs', async () => {
    const { y, program } = programOf([2], (t, x) => t.negate(x))
    await expect(y.read()).rejects.toThrow('before it runs')
    const wrong = () => program.backend.ops.add(program.given([2]), program.given([3]))
    expect(wrong).toThrow(expect.objectContaining({ code: 'ERR_SHAPE' }))
  })

  it('does not pass gradients back if one is a promise', () => {
    const program = new Program<Context>('float64')
    const x = { name: 'x', value: program.given([1]) }
    const recording = new Recording(program.backend, [x])
    const t = handleOf(recording)
    const y = recording.newValue(program.given([1]), true, t.made)
    const operands = [t.value(x)]
    recording.add({
      ...{ name: 'asked', operands, results: [y], held: [], operandName: () => 'x' },
      pass: async (gradients) => ({ gradients, made: [] }),
    })
    expect(() => recording.passBack([[y, program.given([1])]])).toThrow('not computed at once')
  })
})
