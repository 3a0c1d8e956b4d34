import { required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import { CHECKED_ROWS, type GradientRule, type TensorRowName } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import { expectAllclose } from './closeness.js'
import { directionsOf, slopeAlong } from './directions.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { methodOf } from './operation_calls.js'

type Shape = readonly number[]
/** Shapes of the operands, of a list of operands a list, and the arguments behind them. */
type Case = readonly [
  name: TensorRowName,
  operands: readonly (Shape | readonly Shape[])[],
  ...others: readonly unknown[],
]

const PAIRS = ['add', 'subtract', 'multiply', 'divide', 'minimum', 'maximum', 'power'] as const
const ONES = ['exp', 'log', 'sqrt', 'abs', 'negate', 'square', 'sin', 'cos'] as const
const REDUCTIONS = ['sum', 'mean', 'max'] as const
const LEADING: readonly (readonly [Shape, Shape])[] = [
  [[], []],
  [[2], [2]],
  [[2], []],
  [[], [2]],
]

function productCases(): Case[] {
  return [false, true].flatMap((transposeA) =>
    [false, true].flatMap((transposeB) =>
      LEADING.map(([ofA, ofB]): Case => {
        const a = [...ofA, ...(transposeA ? [3, 2] : [2, 3])]
        const b = [...ofB, ...(transposeB ? [4, 3] : [3, 4])]
        return ['matmul', [a, b], { transposeA, transposeB }]
      }),
    ),
  )
}

const CASES: readonly Case[] = [
  ...PAIRS.flatMap((name): Case[] => [
    [
      name,
      [
        [2, 3],
        [2, 3],
      ],
    ],
    [
      name,
      [
        [2, 1, 3],
        [2, 1],
      ],
    ],
    [name, [[], [3]]],
  ]),
  ...ONES.map((name): Case => [name, [[2, 3]]]),
  ['select', [[2, 1], [2, 3], [3]]],
  ...REDUCTIONS.flatMap((name): Case[] => [
    [name, [[2, 3]]],
    [name, [[2, 3, 2]], { axes: [-1, 0] }],
    [name, [[2, 3]], { axes: [1], keepDims: true }],
  ]),
  ...productCases(),
  [
    'concat',
    [
      [
        [2, 1],
        [2, 3],
      ],
    ],
  ],
  [
    'concat',
    [
      [
        [1, 2],
        [3, 2],
      ],
    ],
    { axis: 0 },
  ],
  [
    'stack',
    [
      [
        [2, 3],
        [2, 3],
      ],
    ],
  ],
  [
    'stack',
    [
      [
        [2, 3],
        [2, 3],
      ],
    ],
    { axis: -1 },
  ],
  ['reshape', [[2, 3]], [3, 2]],
  ['broadcast', [[3, 1]], [2, 3, 2]],
  ['transpose', [[2, 3, 4]], [2, 0, 1]],
  ['slice', [[3, 4]], [1, 1], [2, 2]],
  ['pad', [[2, 2]], [1, 0], [0, 2]],
  ['columns', [[2, 5]], 1, 3],
]

const DELTA = 1e-5
const TOLERANCE = 1e-8

/** Different elements, from 0.5 to 1.5. */
function make(shape: Shape, seed: number) {
  return {
    data: Float64Array.from({ length: elementCount(shape) }, (_, k) => 1 + Math.sin((k + 1) ** 2 + seed) / 2),
    shape,
  }
}

/** The gradients of rows on tensors of any shape, against differences of the rows. */
export function registerTensorGradientConformance({ open, dtype, extent }: ExecutorUnderTest): void {
  if (dtype !== 'float64') return
  const titled = CASES.map((each) => [`${each[0]} ${JSON.stringify(each.slice(1))}`, each] as const)
  describe('gradients of operations on tensors of any shape equal numerical differentiation', () => {
    test.each(titled)('%s', async (_, [name, operandShapes, ...others]) => {
      using backend = await open()
      const checked = required(
        CHECKED_ROWS.find((row) => row.name === name),
        'a row of the table',
      )
      const method = methodOf(backend, checked) as (...given: readonly unknown[]) => BackendTensor
      const keys = checked.operands.map(({ pattern }) => pattern.key)
      const { isList } = checked.operands[0].pattern
      const shapes = (isList ? operandShapes[0] : operandShapes) as readonly Shape[]
      const operands = shapes.map((shape, k) => make(shape, k))
      if (name === 'select') operands[0].data.set([0, 1])
      const run = () => method(...(isList ? [operands] : operands), ...others)
      const output = run()
      const dy = make(output.shape, 7)
      const byKey = <Value>(values: readonly Value[]) =>
        isList ? { [keys[0]]: values } : Object.fromEntries(keys.map((key, k) => [key, values[k]]))
      const gradients = (checked.row.gradient as GradientRule).pass(backend.tensor(dy), {
        ...{ ops: backend.ops, zeros: (shape) => backend.zeros(shape), wants: () => true },
        read: { ...byKey(operands), output },
        shapes: { ...byKey(shapes), output: output.shape },
        options: {
          ...Object.fromEntries(checked.positional.map((option, k) => [option.name, others[k]])),
          ...(others[checked.positional.length] as object | undefined),
        },
      })
      const given = isList ? (gradients[keys[0]] as readonly BackendTensor[]) : keys.map((key) => gradients[key])
      for (const [k, gradient] of given.entries()) {
        if (name === 'select' && k === 0) continue
        const { data, shape } = await (gradient as BackendTensor).read()
        expect(shape).toEqual(shapes[k])
        const at = operands[k].data.slice()
        const valueAlong = async (direction: Float64Array, distance: number) => {
          operands[k].data.set(at.map((value, index) => value + distance * direction[index]))
          return slopeAlong((await run().read()).data, dy.data)
        }
        const directions = directionsOf(at.length, extent)
        const slopes: number[] = []
        for (const direction of directions) {
          slopes.push(((await valueAlong(direction, DELTA)) - (await valueAlong(direction, -DELTA))) / (2 * DELTA))
        }
        operands[k].data.set(at)
        const expected = directions.map((direction) => slopeAlong(data, direction))
        expectAllclose(`operand ${k}`, slopes, expected, TOLERANCE)
      }
    })
  })
}
