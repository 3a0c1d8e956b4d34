import {
  checkOptions,
  either,
  fields,
  integerFrom,
  listOf,
  NUMBER,
  NUMBERS,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  recordOf,
  TEXT,
  typed,
} from '@cudnn-rnn/canonical/rules'
import type { WeightInput } from '@cudnn-rnn/interop'
import { openSource } from '@cudnn-rnn/interop/internal'
import { findStates, type StateChoice } from './find_states.js'
import { type FixedValues, fixedValues } from './fixed_values.js'
import { foldGraph } from './fold/fold_graph.js'
import { GraphFile } from './fold/graph_file.js'
import { Graph } from './graph.js'
import { RUNTIME } from './runtime.js'

const TENSOR = fields({ data: NUMBERS, shape: listOf(integerFrom(0)) })

const OPTIONS = {
  /** ONNX Runtime: the module `onnxruntime-node` or `onnxruntime-web`. */
  ort: RUNTIME,
  /**
   * Inputs that become constants, and open sizes that become numbers, by their names: `{ sr: 16000, sequence: 576 }`. Branches
   * that they decide disappear.
   */
  fixed: optional<FixedValues>(recordOf(either(NUMBER, TENSOR))),
  /**
   * The states: 'auto' finds them, 'none' leaves them to the caller, `{ input: 'output' }` names them; for a recurrent node
   * that starts from zeros `{ node: 'exposed' }`. Default 'auto'.
   */
  states: optional<StateChoice>(either(oneOf(['auto', 'none']), recordOf(TEXT))),
  /** Options of ONNX Runtime's session, such as `{ intraOpNumThreads: 1 }`. */
  session: optional(typed<object>(OBJECT)),
}

/** Options of {@link openGraph}. */
export interface OpenGraphOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Opens an ONNX model over ONNX Runtime, which computes all its operators. Values that follow from constants and from
 * `fixed` are computed at once, and the states are found: pairs of an input and an output, and recurrent nodes that start from
 * zeros in each run. `stream()` carries them.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`,
 *   `ERR_GRAPH_FIXED`, `ERR_GRAPH_STATE`; WeightFileError; Error `ERR_GRAPH_RUNTIME`, `ERR_GRAPH_UNSUPPORTED`
 * @example
 * ```ts no-run
 * import { openGraph } from '@cudnn-rnn/rnn/graphs'
 * import * as ort from 'onnxruntime-node'
 *
 * const model = await openGraph('silero_vad.onnx', { ort, fixed: { sr: 16000, sequence: 576 } })
 * console.log(model.states[0]?.input, model.states[0]?.output) // state stateN
 * const stream = model.stream()
 * const frame = new ort.Tensor('float32', new Float32Array(576), [1, 576])
 * const { output } = await stream.run({ input: frame })
 * console.log(output?.data)
 * ```
 */
export async function openGraph(file: WeightInput, options: OpenGraphOptions): Promise<Graph> {
  const action = 'open a graph'
  const { ort, fixed = {}, states = 'auto', session } = checkOptions(action, options, OPTIONS)
  const source = await openSource(file)
  try {
    const graphFile = await GraphFile.open(source, typeof file === 'string')
    const { inputs, sizes } = fixedValues(graphFile, fixed)
    const fold = async (more: ReadonlyMap<string, number>) =>
      findStates(await foldGraph(graphFile, { inputs, sizes: new Map([...sizes, ...more]) }), states)
    return await Graph.of(fold, ort, session)
  } finally {
    await source.close()
  }
}
