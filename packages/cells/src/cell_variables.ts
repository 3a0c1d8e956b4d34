import { checkArguments, checkOptions, integerFrom, optional } from '@cudnn-rnn/arguments'
import type { FloatDType } from '@cudnn-rnn/backend'
import { checkOptionNames, codedRangeError, Inspectable, type Summary } from '@cudnn-rnn/canonical'
import { checkIsTensor, Philox } from '@cudnn-rnn/executor-kit'
import { SIZE } from './cell_options.js'
import { checkFloatTensor, copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'

/** A variable of a cell: its name inside the cell's scope, its shape, and how it starts. */
export interface VariableSpec {
  readonly name: string
  readonly shape: readonly number[]
  /** A number fills the tensor. */
  readonly initializer: 'glorot_uniform' | number
}

/** Tensors by variable name, in TensorFlow's order of creation. */
export type VariableMap = ReadonlyMap<string, FloatTensor>

export interface BuildOptions {
  /** Of the initial values; default 0. */
  readonly seed?: number | undefined
}

/** Checks the arguments of {@link CellVariables.build}. */
export function checkBuild(name: string, inputSize: number, options: BuildOptions): void {
  checkArguments(`build ${name}`, { inputSize }, { inputSize: SIZE })
  checkOptions(`build ${name}`, options, { seed: optional(integerFrom(0)) })
}

/** Printed form of variables: `kernel [7,16]`. */
function variableTexts(variables: VariableMap): readonly string[] {
  return [...variables].map(([name, { shape }]) => `${name} [${shape.join(',')}]`)
}

/** Keeps initial weights apart from dropout masks that share a seed. */
const INITIALIZER_STREAM = 1

/**
 * Owner of TensorFlow's variables: created by the first call, or by {@link build}, or by {@link setVariables}.
 *
 * Subclasses list their variables; the first one has [inputSize + something, …] rows.
 */
export abstract class CellVariables extends Inspectable {
  readonly name: string
  readonly dtype: FloatDType
  #inputSize: number | undefined
  #variables: VariableMap = new Map()

  constructor(name: string, dtype: FloatDType = 'float32') {
    super()
    this.name = name
    this.dtype = dtype
  }

  protected override summary(): Summary {
    const { name, dtype, inputSize } = this
    return { kind: this.constructor.name, name, dtype, inputSize, variables: variableTexts(this.variables) }
  }

  /** Names, shapes and initializers for inputs of `inputSize` columns. */
  abstract variableSpecs(inputSize: number): readonly VariableSpec[]

  /** I, or undefined before the variables exist. */
  get inputSize(): number | undefined {
    return this.#inputSize
  }

  /** Variables by name; empty before they exist. The tensors are the cell's own: write by {@link setVariables}. */
  get variables(): VariableMap {
    return this.#variables
  }

  /**
   * Creates the variables with TensorFlow's default initializers; does nothing when they exist for the same size.
   *
   * @throws RangeError `ERR_INVALID_OPTION` for a size that is not an integer >= 1, `ERR_CELL_BUILT` for another size than before;
   *   TypeError `ERR_INVALID_OPTION_TYPE`, `ERR_UNKNOWN_OPTION`
   */
  build(inputSize: number, options: BuildOptions = {}): void {
    checkBuild(this.name, inputSize, options)
    const { seed = 0 } = options
    if (this.#inputSize === inputSize) return
    if (this.#inputSize !== undefined) {
      throw codedRangeError(
        'ERR_CELL_BUILT',
        `Cannot build ${this.name} as its variables are for inputs of ${this.#inputSize} columns: current number is ${inputSize}. Make another cell.`,
        { expected: this.#inputSize, actual: inputSize },
      )
    }
    const random = new Philox(seed, INITIALIZER_STREAM)
    this.#variables = new Map(
      this.variableSpecs(inputSize).map((spec) => [spec.name, initialValue(spec, this.dtype, random)]),
    )
    this.#inputSize = inputSize
  }

  /**
   * Copies values into the named variables, creating all variables if there are none yet (the kernel's rows then determine I).
   *
   * @throws TypeError `ERR_UNKNOWN_OPTION` for a name that is not a variable of this cell, `ERR_DTYPE`, `ERR_NOT_A_TENSOR`
   * @throws RangeError `ERR_SHAPE`; nothing is written when anything is refused
   */
  setVariables(values: Readonly<Record<string, FloatTensor>>): void {
    this.prepareVariables(values)()
  }

  /** Checks `values` and returns the function that writes them, so that a stack checks every cell before it writes one. */
  prepareVariables(values: Readonly<Record<string, FloatTensor>>): () => void {
    const action = `set variables of ${this.name}`
    const leadRows = this.variableSpecs(0)[0]!
    checkOptionNames(
      action,
      values,
      this.variableSpecs(1).map(({ name }) => name),
    )
    const lead = values[leadRows.name]
    const rows = lead === undefined ? undefined : checkIsTensor(action, leadRows.name, lead).shape[0]
    const inputSize = this.#inputSize ?? (rows === undefined ? 0 : rows - leadRows.shape[0]!)
    if (!(inputSize >= 1)) {
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot ${action} as ${leadRows.name} must have inputSize + ${leadRows.shape[0]} rows: current number is ${rows}. Give ${leadRows.name}, or call build(inputSize) first.`,
        { argument: leadRows.name, actual: rows },
      )
    }
    const written = new Map<string, FloatTensor>()
    for (const { name, shape } of this.variableSpecs(inputSize)) {
      const value = values[name]
      if (value === undefined) continue
      written.set(name, copyTensor(checkFloatTensor(action, name, value, this.dtype, shape)))
    }
    return () => {
      this.build(inputSize)
      // New arrays: an open tape keeps the values of its forward.
      this.#variables = new Map([...this.#variables].map(([name, value]) => [name, written.get(name) ?? value]))
    }
  }

  /** Zeros in the shape of every variable, to which a backward adds. */
  zeroGradients(): VariableMap {
    return new Map([...this.variables].map(([name, { shape }]) => [name, zeros(this.dtype, shape)]))
  }
}

/** Glorot & Bengio 2010: uniform in ±√(6 / (fan in + fan out)); for a vector TensorFlow takes its length for both fans. */
function initialValue({ shape, initializer }: VariableSpec, dtype: FloatDType, random: Philox): FloatTensor {
  const [fanIn = 1, fanOut = fanIn] = shape
  const data = newArray(dtype, shape.length === 1 ? fanIn : fanIn * fanOut)
  if (typeof initializer === 'number') return { data: data.fill(initializer), shape }
  const limit = Math.sqrt(6 / (fanIn + fanOut))
  return { data: data.map(() => limit * (2 * random.uniform() - 1)), shape }
}
