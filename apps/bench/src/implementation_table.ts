import type { Precision } from './comparison.js'
import type { LayoutName } from './parameter_layouts.js'
import type { Pass, Workload } from './workload.js'

/** A library or executor that runs workloads in a separate process. */
export interface Implementation {
  /** Also the argument of the process that plays it. */
  readonly name: string
  readonly title: string
  readonly kind: 'executor' | 'baseline'
  /** Written in TypeScript, or in Python and only there when an interpreter is given. */
  readonly language: 'node' | 'python'
  /** In which layout it takes its parameters and gives their gradients. */
  readonly layout: LayoutName
  /** Why the baseline cannot be held to an instruction set; undefined if it can. */
  readonly unbound?: string
  /** Undefined if it can run the workload, else why not. */
  readonly refusal: (workload: Workload, pass: Pass, precision: Precision) => string | undefined
}

/** The baselines, strongest first. */
export const BASELINES: readonly Implementation[] = [
  {
    name: 'onnxruntime',
    title: 'ONNX Runtime',
    kind: 'baseline',
    language: 'node',
    layout: 'onnx',
    unbound: 'MLAS takes the best that the processor has',
    refusal: ({ numLayers, bidirectional }, pass, precision) =>
      pass === 'training' || precision !== 'float32'
        ? 'compared in inference in float32 only'
        : pass === 'streaming' && (bidirectional || numLayers > 1)
          ? 'carries the state of one forward layer'
          : undefined,
  },
  {
    name: 'onednn',
    title: 'oneDNN',
    kind: 'baseline',
    language: 'node',
    layout: 'canonical',
    refusal: ({ bidirectional, numLayers }, pass, precision) =>
      bidirectional || numLayers > 1
        ? 'compared on one layer only'
        : pass !== 'inference' || precision !== 'float32'
          ? 'compared in inference in float32 only'
          : undefined,
  },
  {
    name: 'pytorch',
    title: 'PyTorch',
    kind: 'baseline',
    language: 'python',
    layout: 'pytorch',
    refusal: ({ cellMode }, pass, precision) =>
      pass === 'streaming'
        ? 'compared over whole sequences'
        : precision === 'int8' && (pass === 'training' || cellMode.startsWith('rnn'))
          ? 'quantizes LSTM and GRU in inference only'
          : undefined,
  },
  {
    name: 'onnxruntime_int8',
    title: 'ONNX Runtime, quantize_dynamic',
    kind: 'baseline',
    language: 'python',
    layout: 'onnx',
    unbound: 'MLAS takes the best that the processor has',
    refusal: ({ cellMode, numLayers, bidirectional }, pass, precision) =>
      cellMode !== 'lstm' || numLayers > 1 || bidirectional || pass !== 'inference' || precision !== 'int8'
        ? 'quantizes LSTM in inference only; compared on one layer'
        : undefined,
  },
]

/** One of our executors, by its name in `openBackend`. */
export function executorImplementation(name: string): Implementation {
  return {
    name,
    title: `${name} executor`,
    kind: 'executor',
    language: 'node',
    layout: 'canonical',
    refusal: () => undefined,
  }
}
