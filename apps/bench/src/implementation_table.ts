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
  readonly refusal: (workload: Workload, pass: Pass) => string | undefined
}

const inferenceOnly = (_: Workload, pass: Pass) => (pass === 'inference' ? undefined : 'compared in inference only')

/** The baselines, strongest first. */
export const BASELINES: readonly Implementation[] = [
  {
    name: 'onnxruntime',
    title: 'ONNX Runtime',
    kind: 'baseline',
    language: 'node',
    layout: 'onnx',
    unbound: 'MLAS takes the best that the processor has',
    refusal: ({ numLayers, bidirectional }, pass) =>
      pass === 'training'
        ? 'compared in inference only'
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
    refusal: (workload, pass) =>
      workload.bidirectional || workload.numLayers > 1 ? 'compared on one layer only' : inferenceOnly(workload, pass),
  },
  {
    name: 'pytorch',
    title: 'PyTorch',
    kind: 'baseline',
    language: 'python',
    layout: 'pytorch',
    refusal: (_, pass) => (pass === 'streaming' ? 'compared over whole sequences' : undefined),
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
