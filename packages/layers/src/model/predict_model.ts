import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  abortable,
  checkOptions,
  codedRangeError,
  integerFrom,
  type OptionsOf,
  optional,
  SIGNAL,
} from '@cudnn-rnn/canonical/rules'
import { isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { onTape, Recording } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import { CALL_OPTIONS } from '../layer.js'
import { joinedInputs, type LayerExample } from '../training/joined_rows.js'
import { checkNamed, type NamedInputs } from './model_inputs.js'
import type { WholeModel } from './whole_model.js'

export const PREDICT_OPTIONS = {
  /** One length in 0..T per batch row; absent when every row has T steps. */
  // By the layer, against its input.
  sequenceLengths: CALL_OPTIONS.sequenceLengths,
  /** Rows computed at a time, of a list of inputs. Default 256. */
  batchSize: optional(integerFrom(1)),
  /** Once it is aborted, the prediction rejects with its reason. */
  signal: optional(SIGNAL),
}

export interface PredictOptions extends OptionsOf<typeof PREDICT_OPTIONS> {}

export async function predictTensor(
  model: WholeModel,
  input: TensorLike,
  options: PredictOptions,
): Promise<Tensor<FloatArray>> {
  const given = checkOptions('predict', options, PREDICT_OPTIONS)
  if (given.signal?.aborted) throw given.signal.reason
  return await abortable(given.signal, outputOf(model, input, given))
}

async function outputOf(model: WholeModel, input: TensorLike, options: PredictOptions): Promise<Tensor<FloatArray>> {
  const { output } = await model.call(input, { isTraining: false, sequenceLengths: options.sequenceLengths })
  try {
    const { data, shape } = await output.read()
    return { data: data.slice() as FloatArray, shape }
  } finally {
    if (!(isBackendTensor(input) && input === output)) output.dispose()
  }
}

/** Inputs by their names, each a list of rows of any lengths. */
export type NamedRows = Readonly<Record<string, readonly LayerExample['input'][]>>

/** The outputs of one batch by their names, given inputs by theirs: tensors, or lists of rows. */
export async function predictNamed(
  model: WholeModel,
  values: NamedInputs | NamedRows,
  options: PredictOptions,
): Promise<Record<string, Tensor<FloatArray>>> {
  const action = 'predict'
  const { signal, ...given } = checkOptions(action, options, PREDICT_OPTIONS)
  if (signal?.aborted) throw signal.reason
  const { inputs } = model.graph
  const named = checkNamed<LayerInput | readonly LayerExample['input'][]>(action, 'its inputs', inputs, values)
  const lengths: Record<string, Int32Array> = {}
  const tensors = inputs.map(({ name, signal }) => {
    const own = named[name]
    if (!Array.isArray(own)) return [name, own as LayerInput] as const
    const joined = joinedInputs(own, { input: signal, dtype: model.executor.dtype })
    if (joined.lengths !== null) lengths[name] = joined.lengths
    return [name, joined.tensor] as const
  })
  const sequenceLengths = given.sequenceLengths ?? (Object.keys(lengths).length === 0 ? null : lengths)
  const read = onTape(new Recording(model.executor, [], false), async (t) => {
    const { outputs } = await model.record(t, Object.fromEntries(tensors), { sequenceLengths })
    return Promise.all(
      Object.entries(outputs).map(async ([name, value]) => {
        const { data, shape } = await value.read()
        return [name, { data: data.slice() as FloatArray, shape }] as const
      }),
    )
  })
  return Object.fromEntries(await abortable(signal, read))
}

/** The output of each row; a sequence has the length of its row. */
export async function predictRows(
  model: WholeModel,
  inputs: readonly LayerExample['input'][],
  options: PredictOptions,
): Promise<Tensor<FloatArray>[]> {
  const { isSequence } = model.output
  const results: Tensor<FloatArray>[] = []
  for await (const { result, lengths, rows } of predictBatches(model, inputs, options)) {
    for (let row = 0; row < rows; row++)
      results.push(isSequence ? steps(result, row, lengths?.[row] ?? result.shape[0]) : vector(result, row))
  }
  return results
}

/** The outputs of a list of inputs, batch by batch; `lengths` are the outputs', null for a model without a time axis. */
export async function* predictBatches(
  model: WholeModel,
  inputs: readonly LayerExample['input'][],
  options: PredictOptions,
): AsyncGenerator<{ readonly result: Tensor<FloatArray>; readonly lengths: Int32Array | null; readonly rows: number }> {
  const given = checkOptions('predict', options, PREDICT_OPTIONS)
  const { batchSize = 256, signal } = given
  if (given.sequenceLengths !== undefined) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      'Cannot predict as sequenceLengths are for one batch: a list of inputs has its own lengths. Leave the option out',
      { option: 'sequenceLengths' },
    )
  }
  const { input, executor } = model
  const all = inputs.slice()
  for (let begin = 0; begin < all.length; begin += batchSize) {
    const rows = all.slice(begin, begin + batchSize)
    const { tensor, lengths } = joinedInputs(rows, { input, dtype: executor.dtype })
    const result = await predictTensor(model, tensor, { sequenceLengths: lengths, signal })
    yield { result, lengths: lengths && model.outputLengths(lengths), rows: rows.length }
  }
}

/** Row [O] of [B,O]. */
function vector({ data, shape }: Tensor<FloatArray>, row: number): Tensor<FloatArray> {
  const size = elementCount(shape.slice(1))
  return { data: data.slice(row * size, (row + 1) * size), shape: shape.slice(1) }
}

/** Row [length,O] of [T,B,O]. */
function steps({ data, shape }: Tensor<FloatArray>, row: number, length: number): Tensor<FloatArray> {
  const [, batch, columns] = shape as [number, number, number]
  const own = data.slice(0, length * columns)
  for (let t = 0; t < length; t++) {
    own.set(data.subarray((t * batch + row) * columns, (t * batch + row + 1) * columns), t * columns)
  }
  return { data: own, shape: [length, columns] }
}
