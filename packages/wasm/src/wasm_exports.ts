/** An address in the memory of a module; 0 is null. */
export type Address = number

/** The exports of a module: the functions of native/wasm/src, by their names. Sizes and strides are in elements. */
export interface WasmExports {
  readonly memory: WebAssembly.Memory
  readonly __stack_pointer: WebAssembly.Global
  _initialize(): void
  /** Once, before anything but `allocate`, when `threads` - 1 workers have begun {@link runThread}. */
  open(threads: number, maySleep: number): void
  /** The bytes of the element type in which the module computes. */
  elementBytes(): number
  /** On a worker: computes until the worker is terminated. */
  runThread(index: number): void
  /** On a worker: its code has trapped. */
  markThreadFailed(): void
  /** After a trap: whether threads are still inside the operation that trapped. */
  isInterrupted(): number
  takeOutOfMemory(): number
  /** Returns 0 if memory cannot be allocated. */
  allocate(bytes: number): Address
  release(memory: Address): void

  networkNew(numbers: Address): Address
  networkFree(network: Address): void
  networkParamsSize(network: Address): number
  networkMoveRegion(
    network: Address,
    params: Address,
    canonical: Address,
    pseudoLayer: number,
    side: number,
    gate: number,
    isBias: number,
    into: number,
  ): void
  quantizedNew(network: Address, params: Address, format: number): Address
  quantizedFree(quantized: Address): void

  tapeNew(): Address
  tapeFree(tape: Address): void
  tapeBytes(tape: Address): number
  forward(
    network: Address,
    time: number,
    batch: number,
    input: Address,
    h: Address,
    c: Address,
    params: Address,
    quantized: Address,
    lengths: Address,
    dropoutPosition: number,
    output: Address,
    hFinal: Address,
    cFinal: Address,
    tape: Address,
  ): void
  backward(
    network: Address,
    input: Address,
    params: Address,
    tape: Address,
    dOutput: Address,
    dhFinal: Address,
    dcFinal: Address,
    dInput: Address,
    dh: Address,
    dc: Address,
    dParams: Address,
  ): void

  stepperNew(network: Address, batch: number, format: number): Address
  stepperFree(stepper: Address): void
  step(stepper: Address, params: Address, quantized: Address, input: Address, output: Address, steps: number): void
  stepRows(
    stepper: Address,
    params: Address,
    quantized: Address,
    rows: Address,
    count: number,
    input: Address,
    output: Address,
  ): void
  resetRow(stepper: Address, row: number): void
  moveState(stepper: Address, h: Address, c: Address, into: number, rows: Address, count: number): void

  addProduct(
    c: Address,
    cStride: number,
    a: Address,
    aRowStride: number,
    aColumnStride: number,
    b: Address,
    bRowStride: number,
    bColumnStride: number,
    rows: number,
    columns: number,
    depth: number,
  ): void
  ctcLoss(
    sizes: Address,
    logits: Address,
    labels: Address,
    labelLengths: Address,
    logitLengths: Address,
    rowWeights: Address,
    rowLosses: Address,
    gradient: Address,
  ): number
  run(op: number, count: number, operands: Address, integers: Address, numbers: Address): void
  lstmForward(sizes: Address, operands: Address): void
  lstmBackward(
    sizes: Address,
    operands: Address,
    dOutputs: Address,
    dh: Address,
    dc: Address,
    dGamma: Address,
    dBeta: Address,
  ): void
}
