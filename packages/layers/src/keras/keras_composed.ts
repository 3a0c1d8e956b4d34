import type { Json } from '@cudnn-rnn/canonical/rules'
import type { FileCall, FileGraph, FileLayer, FileValue } from './flat_graph.js'

/** One of the calls that compute an operation: its class, its options, and the inputs and calls that it takes, by their numbers. */
type Step = readonly [className: string, config: Json, from: readonly number[]]

/** The calls of an operation of `count` tensors; undefined for options that they do not compute. */
type Composition = (config: Json, count: number) => readonly Step[] | undefined

/** A call of the one before it: a class without options, or with some. */
type Link = string | readonly [className: string, config: Json]

/** Calls one behind the other, of which the first takes the value `from` and the others are counted from `next` on. */
const chain = (links: readonly Link[], from = 0, next = 1): readonly Step[] =>
  links.map((link, k): Step => {
    const [className, config = {}] = typeof link === 'string' ? [link] : link
    return [className, config, [k === 0 ? from : next + k - 1]]
  })

const withNumber = (className: string, ...operands: readonly unknown[]): Link => [className, { operands }]
const activated = (activation: string): readonly Step[] => chain([['Activation', { activation }]])
const constant = (value: unknown): Link => ['Clip', { x_min: value, x_max: value }]

const quotient: Composition = ({ operands }) =>
  operands === undefined ? [...chain([withNumber('Power', null, -1)], 1), ['Multiply', {}, [0, 2]]] : undefined

const squares = ({ axis, keepdims }: Json): readonly Step[] => [
  ['Mean', { axis, keepdims: true }, [0]],
  ['Subtract', {}, [0, 1]],
  ...chain(['Square', ['Mean', { axis, keepdims }]], 2, 3),
]

/** Sizes or axes without the batch. */
const behindBatch = (values: unknown, first: unknown) =>
  Array.isArray(values) && [first, null].includes(values[0]) ? values.slice(1) : values

const turned = (...axes: readonly unknown[]): readonly Step[] | undefined =>
  axes
    .map((axis) => (axis === -1 ? 2 : axis === -2 ? 1 : axis))
    .sort()
    .join() === '1,2'
    ? [['Permute', { dims: [2, 1] }, [0]]]
    : undefined

/** 1 where the sign of a − b, from which the steps follow, is the one that is compared. */
const compared =
  (...links: readonly Link[]): Composition =>
  ({ operands }, count) => [
    ['Subtract', operands === undefined ? {} : { operands }, Array.from({ length: count }, (_, k) => k)],
    ...chain(['Sign', ...links], count, count + 1),
  ]
const above: Link = ['Clip', { x_min: 0, x_max: 1 }]
const below: Link = ['Clip', { x_min: -1, x_max: 0 }]
const NOT = withNumber('Subtract', 1, null)
/** Values other than 0 are true. */
const TRUTH = ['Sign', 'Square']

const logical =
  (className: string): Composition =>
  ({ operands }, count) =>
    operands === undefined && count === 2
      ? [...chain(TRUTH, 0, 2), ...chain(TRUTH, 1, 4), [className, {}, [3, 5]]]
      : undefined

/** The least value is the greatest of the others' negatives. */
const least: Composition = (config) => chain(['Negative', ['Max', config], 'Negative'])

/** A product of two tensors that sums over one axis; the result has the axes of one, and then of the other. */
const einsum: Composition = ({ subscripts }) => {
  const [, a = '', b = '', made] =
    /^([a-z]{2,3}),([a-z]{2,3})->([a-z]{2,3})$/.exec(String(subscripts).replaceAll(' ', '')) ?? []
  const summed = [...a].filter((axis) => b.includes(axis) && !made.includes(axis))
  const others = (axes: string) => [...axes.slice(1)].filter((axis) => axis !== summed[0]).join('')
  if (
    summed.length !== 1 ||
    a[0] !== b[0] ||
    summed[0] === a[0] ||
    new Set(a + others(b)).size !== (a + others(b)).length
  )
    return undefined
  const axes = [a.indexOf(summed[0]), b.indexOf(summed[0])]
  if (made === a[0] + others(a) + others(b)) return [['Dot', { axes }, [0, 1]]]
  return made === a[0] + others(b) + others(a) ? [['Dot', { axes: axes.toReversed() }, [1, 0]]] : undefined
}

/** Parts of a tensor along an axis: one for each output. */
function parts({ axis, indices_or_sections: given }: Json): readonly Step[] | undefined {
  const count = Array.isArray(given) ? given.length + 1 : Number(given)
  if (!(Number.isSafeInteger(count) && count >= 1 && count < 1e3)) return undefined
  return Array.from({ length: count }, (_, part) => ['Split', { axis, indices_or_sections: given, part }, [0]])
}

/** Functions that `Activation` has by their names, if their options are these. */
const ACTIVATIONS: Readonly<Record<string, readonly [name: string, options?: Json]>> = {
  ...{ Selu: ['selu'], Softsign: ['softsign'], HardSigmoid: ['hard_sigmoid'], HardSilu: ['hard_silu'] },
  ...{
    HardTanh: ['hard_tanh'],
    LogSigmoid: ['log_sigmoid'],
    SparsePlus: ['sparse_plus'],
    Celu: ['celu', { alpha: 1 }],
  },
  ...{ TanhShrink: ['tanh_shrink'], LogSoftmax: ['log_softmax', { axis: -1 }], Squareplus: ['squareplus', { b: 4 }] },
  ...{ SoftShrink: ['soft_shrink', { threshold: 0.5 }], HardShrink: ['hard_shrink', { threshold: 0.5 }] },
}

/** Operations that other classes compute together. */
const COMPOSED: ReadonlyMap<string, Composition> = new Map(
  Object.entries<Composition>({
    ...Object.fromEntries(
      Object.entries(ACTIVATIONS).map(([name, [activation, options = {}]]) => [
        name,
        (config: Json) =>
          Object.entries(options).every(([option, value]) => config[option] === value)
            ? activated(activation)
            : undefined,
      ]),
    ),
    Elu: ({ alpha }) => chain([['ELU', { alpha }]]),
    LeakyRelu: ({ negative_slope: slope }) => chain([['LeakyReLU', { negative_slope: slope }]]),
    Gelu: ({ approximate }) =>
      approximate === false
        ? activated('gelu')
        : [
            ...chain([withNumber('Power', null, 3), withNumber('Multiply', null, 0.044715)]),
            ['Add', {}, [0, 2]],
            ...chain([withNumber('Multiply', null, Math.sqrt(8 / Math.PI)), 'Sigmoid'], 3, 4),
            ['Multiply', {}, [0, 5]],
          ],
    Glu: ({ axis }) => [
      ...(parts({ axis, indices_or_sections: 2 }) ?? []),
      ['Sigmoid', {}, [2]],
      ['Multiply', {}, [1, 3]],
    ],
    Log1p: () => chain([withNumber('Add', null, 1), 'Log']),
    Expm1: () => chain(['Exp', withNumber('Add', null, -1)]),
    TrueDivide: quotient,
    Divide: quotient,
    Var: squares,
    Std: (config) => [...squares(config), ['Sqrt', {}, [4]]],
    Norm: ({ ord, axis, keepdims }) =>
      ord === null || ord === 2 ? chain(['Square', ['Sum', { axis, keepdims }], 'Sqrt']) : undefined,
    Amax: (config) => chain([['Max', config]]),
    Amin: least,
    Min: least,
    Greater: compared(above),
    Less: compared(below, 'Negative'),
    GreaterEqual: compared(below, withNumber('Add', null, 1)),
    LessEqual: compared(above, NOT),
    NotEqual: compared('Square'),
    Equal: compared('Square', NOT),
    LogicalAnd: logical('Multiply'),
    LogicalOr: logical('Maximum'),
    LogicalNot: () => chain([...TRUTH, NOT]),
    Where: ({ operands }, count) => {
      const given = Array.isArray(operands) ? operands : [null, null, null]
      if (given.length !== 3 || given[0] !== null) return undefined
      let next = 0
      let made = count
      const steps: Step[] = []
      const from = given.map((value) => (value === null ? next++ : steps.push(...chain([constant(value)])) && made++))
      return [...steps, ['Where', {}, from]]
    },
    Cast: ({ dtype }) => (dtype === 'float32' || dtype === 'float64' ? chain(['Identity']) : undefined),
    ZerosLike: () => chain([constant(0)]),
    OnesLike: () => chain([constant(1)]),
    // Axes of sequences alone.
    Matmul: () => [['Dot', { axes: [2, -2] }, [0, 1]]],
    Einsum: einsum,
    Split: parts,
    Stack: ({ axis }, count) => {
      const each = Array.from({ length: count }, (_, k): Step => ['ExpandDims', { axis }, [k]])
      return [...each, ['Concatenate', { axis }, each.map((_, k) => count + k)]]
    },
    Reshape: ({ newshape }) => chain([['Reshape', { target_shape: behindBatch(newshape, -1) }]]),
    Transpose: ({ axes }) => chain([['Permute', { dims: behindBatch(axes, 0) }]]),
    Swapaxes: ({ axis1, axis2 }) => turned(axis1, axis2),
    Moveaxis: ({ source, destination }) => turned(source, destination),
  }),
)

/** Operations that take several tensors, or tensors and numbers. */
export const OF_OPERANDS: ReadonlySet<string> = new Set([
  ...['GetItem', 'Add', 'Subtract', 'Multiply', 'TrueDivide', 'Divide', 'Maximum', 'Minimum', 'Power', 'Where'],
  ...[
    'Greater',
    'Less',
    'GreaterEqual',
    'LessEqual',
    'NotEqual',
    'Equal',
    'LogicalAnd',
    'LogicalOr',
    'Matmul',
    'Einsum',
  ],
  'Stack',
])

/**
 * A layer with the calls that compute it, if it is an operation of several.
 *
 * @param count of the tensors that it takes
 */
export function composed(layer: FileLayer, count: number): FileLayer {
  const { className, config, place } = layer
  // An .h5 does not mark operations, of which one has the name of a layer.
  const steps = config['target_shape'] === undefined ? COMPOSED.get(className)?.(config, count) : undefined
  if (steps === undefined) return layer
  const input = { className: 'InputLayer', config: {}, place }
  const inputs = Array.from({ length: count }, (_, call) => ({ name: '', call }))
  const ends = className === 'Split' ? steps.length : 1
  const own = typeof config['name'] === 'string' ? config['name'] : className
  const calls = steps.map(([kind, options, from], k): FileCall => {
    const name = k >= steps.length - ends && ends === 1 ? own : `${own}/${k}`
    const values = from.map((call): FileValue => [call, 0])
    return {
      layer: { className: kind, config: { ...options, name }, place, isOperation: true },
      from: values,
      states: [],
    }
  })
  const model: FileGraph = {
    calls: [...inputs.map(() => ({ layer: input, from: [], states: [] })), ...calls],
    inputs,
    outputs: Array.from({ length: ends }, (_, k) => ({
      name: '',
      value: [count + steps.length - ends + k, 0] as const,
    })),
  }
  return { ...layer, model }
}
