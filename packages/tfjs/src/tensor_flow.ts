import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type * as tf from '@tensorflow/tfjs'

/** The part of TensorFlow.js that this package calls; the module `@tensorflow/tfjs` has it. */
export type TensorFlow = Pick<
  typeof tf,
  | 'cast'
  | 'customGrad'
  | 'dropout'
  | 'expandDims'
  | 'mul'
  | 'ones'
  | 'reshape'
  | 'serialization'
  | 'slice'
  | 'tensor'
  | 'tidy'
>

type Constructor = abstract new (...arguments_: never[]) => object

const RECURRENT_CLASSES = ['RNN', 'LSTM', 'GRU', 'SimpleRNN'] as const
const CELL_CLASSES = ['LSTMCell', 'GRUCell', 'SimpleRNNCell', 'StackedRNNCells'] as const

export type CellClassName = (typeof CELL_CLASSES)[number]

/** The classes of recurrent layers and cells of one copy of TensorFlow.js. */
export interface RecurrentClasses {
  readonly rnn: Constructor
  /** The layers of one cell, which renew the masks of dropout in every call. */
  readonly singleCell: readonly Constructor[]
  readonly cells: ReadonlyMap<unknown, CellClassName>
}

/**
 * The classes that `loadLayersModel` makes layers of, found by their names: no layer is made, as that would take a number
 * from the names of the layers to come.
 *
 * @throws TypeError `ERR_TFJS_MODULE`
 */
export function recurrentClasses(module: TensorFlow): RecurrentClasses {
  const known = module?.serialization?.SerializationMap?.getMap?.()?.classNameMap
  const find = (name: string): Constructor => {
    const found = known?.[name]?.[0]
    if (found !== undefined) return found as unknown as Constructor
    throw codedTypeError(
      'ERR_TFJS_MODULE',
      `Cannot accelerate as tf must be the module @tensorflow/tfjs with its layers: current value is ${describeValue(module)} without ${name}`,
      { argument: 'tf' },
    )
  }
  const [rnn, ...singleCell] = RECURRENT_CLASSES.map(find) as [Constructor, ...Constructor[]]
  return { rnn, singleCell, cells: new Map(CELL_CLASSES.map((name) => [find(name), name])) }
}
