/** An address in the memory of a module; 0 is null. */
export type Address = number

/** A tuple with one number for each word of a text. */
type NumbersOf<Words extends string> = Words extends ''
  ? []
  : Words extends `${string} ${infer Others}`
    ? [number, ...NumbersOf<Others>]
    : [number]

/** The functions of native/wasm/src by their names, and their parameters: numbers, sizes and strides in elements. */
interface Signatures {
  _initialize: ''
  /** Once, before anything but `allocate`, when `threads` - 1 workers have begun `runThread`. */
  open: 'threads maySleep'
  /** The bytes of the element type in which the module computes. */
  elementBytes: ''
  /** On a worker: computes until the worker is terminated. */
  runThread: 'index'
  /** On a worker: its code has trapped. */
  markThreadFailed: ''
  /** After a trap: whether threads are still inside the operation that trapped. */
  isInterrupted: ''
  takeOutOfMemory: ''
  /** Returns 0 if memory cannot be allocated. */
  allocate: 'bytes'
  release: 'memory'

  networkNew: 'numbers'
  networkFree: 'network'
  networkParamsSize: 'network'
  networkMoveRegion: 'network params canonical pseudoLayer side gate isBias into'
  quantizedNew: 'network params format'
  quantizedFree: 'quantized'

  tapeNew: ''
  tapeFree: 'tape'
  tapeBytes: 'tape'
  forward: 'network time batch input h c params quantized lengths dropoutPosition output hFinal cFinal tape'
  backward: 'network input params tape dOutput dhFinal dcFinal dInput dh dc dParams'

  stepperNew: 'network batch format'
  stepperFree: 'stepper'
  step: 'stepper params quantized input output steps'
  stepRows: 'stepper params quantized rows count input output'
  resetRow: 'stepper row'
  moveState: 'stepper h c into rows count'

  addProduct: 'c cStride a aRowStride aColumnStride b bRowStride bColumnStride rows columns depth'
  ctcLoss: 'sizes logits labels labelLengths logitLengths rowWeights rowLosses gradient'
  run: 'op count operands integers numbers'
  lstmForward: 'sizes operands'
  lstmBackward: 'sizes operands dOutputs dh dc dGamma dBeta'
}

/** The exports of a module. A function without a result returns undefined. */
export type WasmExports = {
  readonly [Name in keyof Signatures]: (...numbers: NumbersOf<Signatures[Name]>) => number
} & {
  readonly memory: WebAssembly.Memory
  readonly __stack_pointer: WebAssembly.Global
}
