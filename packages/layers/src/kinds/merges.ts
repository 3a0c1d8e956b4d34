import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'

/** A way to join several values of one form, with its counterparts. */
export interface Merge {
  /** Class of Keras; names of layers begin with it in snake case. */
  readonly keras: string
  readonly base: string
  /** Columns of the output; undefined if the operands' do not fit each other. */
  readonly features: (columns: readonly number[]) => number | undefined
  /** The rule for the columns, for an error. */
  readonly rule: string
  /** How many operands it takes. Default: any number. */
  readonly count?: number
  readonly join: (t: GradientTape, operands: readonly Value[]) => Value
  /** Keras has an operation, and no layer. */
  readonly isOperation?: boolean
}

type Fold = 'add' | 'subtract' | 'multiply' | 'maximum' | 'minimum'

/** An operation of elements; operands of one column repeat it. */
function folded(by: Fold, keras: string, count?: number): Merge {
  return {
    ...{ keras, base: by, rule: 'its operands must give columns of one number, or one column' },
    ...(count !== undefined && { count }),
    features: (columns) => {
      const widest = Math.max(...columns)
      return columns.every((columns) => columns === widest || columns === 1) ? widest : undefined
    },
    join: (t, operands) => operands.reduce((a, b) => t[by](a, b)),
  }
}

const ADD = folded('add', 'Add')

/** How values are merged, by Keras' terms. */
export const MERGES = {
  concat: {
    ...{ keras: 'Concatenate', base: 'concatenate', rule: 'its operands must give numbers' },
    features: (columns) => columns.reduce((sum, count) => sum + count, 0),
    join: (t, operands) => t.concat(operands),
  },
  add: ADD,
  subtract: folded('subtract', 'Subtract', 2),
  multiply: folded('multiply', 'Multiply'),
  average: {
    ...{ ...ADD, keras: 'Average', base: 'average' },
    join: (t, operands) => t.multiply(ADD.join(t, operands), 1 / operands.length),
  },
  maximum: folded('maximum', 'Maximum'),
  minimum: folded('minimum', 'Minimum'),
  /** The second value where the first is not 0, else the third. */
  select: {
    ...{ ...ADD, keras: 'Where', base: 'select', count: 3, isOperation: true },
    join: (t, [condition, a, b]) => t.select(condition, a, b),
  },
  dot: {
    ...{ keras: 'Dot', base: 'dot', rule: 'its operands must give columns of one number', count: 2 },
    features: ([a, b]) => (a === b ? 1 : undefined),
    join: (t, [a, b]) => {
      const products = t.multiply(a, b)
      return t.reshape(t.sum(products, { axes: [-1] }), [...products.shape.slice(0, -1), 1])
    },
  },
} satisfies Readonly<Record<string, Merge>> as Readonly<Record<MergeName, Merge>>

/** The names of the ways to merge values. */
export type MergeName = 'concat' | Fold | 'average' | 'dot' | 'select'
