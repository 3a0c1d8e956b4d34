import { elementCount, Inspectable, type Summary } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptionNames,
  checkOptions,
  codedRangeError,
  entryOf,
  integerFrom,
  optional,
  type OptionsOf,
} from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { checkIsTensor, Philox } from '@cudnn-rnn/ops/executor'
import { SIZE } from './cell_options.js'
import { checkFloatTensor, copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'

/** The element of a variable that an initializer draws. */
export interface InitialElement {
  readonly random: Philox
  readonly element: number
  /** The variables before this one. */
  readonly made: VariableMap
}

/** How a variable starts: by Glorot's rule, filled with a number, or drawn element by element. */
export type VariableInitializer = 'glorot_uniform' | number | ((element: InitialElement) => number)

/** A variable of a cell: its name inside the cell's scope, its shape, and how it starts. */
export interface VariableSpec {
  readonly name: string
  readonly shape: readonly number[]
  readonly initializer: VariableInitializer
}

/** Tensors by variable name, in TensorFlow's order of creation. */
export type VariableMap = ReadonlyMap<string, FloatTensor>

const BUILD_OPTIONS = {
  /** Seed of the initial values; default 0. */
  seed: optional(integerFrom(0)),
}

export interface BuildOptions extends OptionsOf<typeof BUILD_OPTIONS> {}

export function checkBuild(name: string, inputSize: number, options: BuildOptions): BuildOptions {
  checkArguments(`build ${name}`, { inputSize }, { inputSize: SIZE })
  return checkOptions(`build ${name}`, options, BUILD_OPTIONS)
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
 * Subclasses list their variables; the rows of at least one depend on the columns of the input.
 *
 * @example
 * ```ts
 * import { UGRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new UGRNNCell(8)
 * cell.build(3, { seed: 1 })
 * const elements = [...cell.variables.values()].reduce((sum, { data }) => sum + data.length, 0)
 * console.log(elements, [...cell.variables.keys()]) // 192 ['kernel', 'bias']
 * ```
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

  /** Scope of the variables inside the caller's; empty if they are in the caller's own. */
  get scope(): string {
    return this.name
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
    const { seed = 0 } = checkBuild(this.name, inputSize, options)
    if (this.#inputSize === inputSize) return
    if (this.#inputSize !== undefined) {
      throw codedRangeError(
        'ERR_CELL_BUILT',
        `Cannot build ${this.name} as its variables are for inputs of ${this.#inputSize} columns: current number is ${inputSize}. Make another cell.`,
        { expected: this.#inputSize, actual: inputSize },
      )
    }
    const random = new Philox(seed, INITIALIZER_STREAM)
    const made = new Map<string, FloatTensor>()
    for (const spec of this.variableSpecs(inputSize)) made.set(spec.name, initialValue(spec, this.dtype, random, made))
    this.#variables = made
    this.#inputSize = inputSize
  }

  /**
   * Copies values into the named variables, creating all variables if there are none yet (the kernel's rows then determine I).
   *
   * @throws TypeError `ERR_UNKNOWN_OPTION` for a name that is not a variable of this cell, `ERR_DTYPE`, `ERR_NOT_A_TENSOR`
   * @throws RangeError `ERR_SHAPE`, `ERR_INVALID_OPTION` for an inputSize that `build` refuses; nothing is written when anything
   *   is refused
   */
  setVariables(values: Readonly<Record<string, FloatTensor>>): void {
    this.prepareVariables(values)()
  }

  /** Checks `values` and returns the function that writes them, so that a stack checks every cell before it writes one. */
  prepareVariables(values: Readonly<Record<string, FloatTensor>>): () => void {
    const action = `set variables of ${this.name}`
    checkOptionNames(
      action,
      values,
      this.variableSpecs(1).map(({ name }) => name),
    )
    const inputSize = this.#inputSize ?? this.inputSizeOf(action, values)
    const written = new Map<string, FloatTensor>()
    const specs = this.variableSpecs(inputSize)
    for (const { name, shape } of specs) {
      const value = values[name]
      if (value === undefined) continue
      written.set(name, copyTensor(checkFloatTensor(action, name, value, this.dtype, shape)))
    }
    return () => {
      if (written.size === specs.length) this.#inputSize = inputSize
      else this.build(inputSize)
      const before = this.#variables
      // New arrays: an open tape keeps the values of its forward.
      this.#variables = new Map(specs.map(({ name }) => [name, written.get(name) ?? entryOf(before, name)]))
    }
  }

  /** The function that gives the cell back the variables that it has now, or none if it is not built. */
  savepoint(): () => void {
    const [inputSize, variables] = [this.#inputSize, this.#variables]
    return () => {
      this.#inputSize = inputSize
      this.#variables = variables
    }
  }

  /** I, from the rows of the first variable whose rows depend on it. Throws RangeError `ERR_SHAPE`. */
  protected inputSizeOf(action: string, values: Readonly<Record<string, FloatTensor>>): number {
    const ofOne = this.variableSpecs(1)
    const rowsAt = (specs: readonly VariableSpec[], index: number) => specs[index].shape[0]
    const ofNone = this.variableSpecs(0)
    const index = ofNone.findIndex((_, k) => rowsAt(ofNone, k) !== rowsAt(ofOne, k))
    const { name } = ofNone[index]
    const more = rowsAt(ofNone, index)
    const lead = values[name]
    const rows = lead === undefined ? undefined : checkIsTensor(action, name, lead).shape[0]
    // Per column of the input: 1, or a fraction where a kernel belongs to a group of columns.
    const inputSize = rows === undefined ? 0 : Math.round((rows - more) / (rowsAt(ofOne, index) - more))
    if (inputSize >= 1) return inputSize
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as the rows of ${name} must fit an inputSize >= 1: current number is ${rows}. Give ${name}, or call build(inputSize) first.`,
      { argument: name, actual: rows },
    )
  }

  /** Zeros in the shape of every variable, to which a backward adds. */
  zeroGradients(): VariableMap {
    return new Map([...this.variables].map(([name, { shape }]) => [name, zeros(this.dtype, shape)]))
  }
}

/**
 * Glorot & Bengio 2010: uniform in ±√(6 / (fan in + fan out)); the fans are the last two dimensions times the others, for a
 * vector TensorFlow takes its length for both.
 */
function initialValue(
  { shape, initializer }: VariableSpec,
  dtype: FloatDType,
  random: Philox,
  made: VariableMap,
): FloatTensor {
  const data = newArray(dtype, elementCount(shape))
  if (typeof initializer === 'number') return { data: data.fill(initializer), shape }
  const field = elementCount(shape.slice(0, -2))
  const fanOut = shape[shape.length - 1]
  const fanIn = shape.at(-2) ?? fanOut
  const limit = Math.sqrt(6 / (field * (fanIn + fanOut)))
  for (let element = 0; element < data.length; element++) {
    data[element] =
      typeof initializer === 'function' ? initializer({ random, element, made }) : limit * (2 * random.uniform() - 1)
  }
  return { data, shape }
}

/** The variables that a wrapper has beside its cell's. */
export class OwnVariables extends CellVariables {
  readonly #specs: (inputSize: number) => readonly VariableSpec[]

  constructor(name: string, dtype: FloatDType, specs: (inputSize: number) => readonly VariableSpec[]) {
    super(name, dtype)
    this.#specs = specs
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return this.#specs(inputSize)
  }
}

/** Runs `change` on the variables of several cells. If it throws, every cell is as it was before, built or not. */
export function changeTogether(cells: readonly CellVariables[], change: () => void): void {
  const savepoints = cells.map((cell) => cell.savepoint())
  try {
    change()
  } catch (error) {
    for (const restore of savepoints) restore()
    throw error
  }
}

type DenseNames = readonly [kernel: string, bias: string]

export function denseNames(scope: string): DenseNames {
  return [`${scope}/kernel`, `${scope}/bias`]
}

export function kernelSpec(name: string, ...shape: readonly number[]): VariableSpec {
  return { name, shape, initializer: 'glorot_uniform' }
}

export function denseSpecs(
  [kernel, bias]: DenseNames,
  rows: number,
  columns: number,
  start: VariableInitializer = 0,
): VariableSpec[] {
  return [kernelSpec(kernel, rows, columns), { name: bias, shape: [columns], initializer: start }]
}
