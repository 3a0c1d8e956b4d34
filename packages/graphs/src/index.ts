/**
 * ONNX models over ONNX Runtime, with their states: streams, pools and whole recordings from one file.
 *
 * @packageDocumentation
 */
export type { GraphState, StateChoice } from './find_states.js'
export type { FixedValues } from './fixed_values.js'
export type { Graph } from './graph.js'
export { openGraph } from './open_graph.js'
export type { GraphStreamPool, PooledGraphStream } from './runs/graph_pool.js'
export type { GraphStream, GraphStreamState } from './runs/graph_stream.js'
export type { GraphTensor, OnnxRuntime } from './runtime.js'
