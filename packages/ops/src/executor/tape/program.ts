import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { type Backend, type BackendTensor, DTYPES, type FloatDType, type TensorLike } from '@cudnn-rnn/ops'
import { ExecutorTensor } from '../memory/executor_tensor.js'
import { allocating } from '../host/host_allocation.js'
import type { HostOperands } from '../host/host_kernels.js'
import { hostRow } from '../host/host_row.js'
import { Ledger } from '../memory/ledger.js'
import { Lifetime } from '../memory/lifetime.js'
import { checkedOperations, type OperationKernels } from '../operations/checked_operations.js'
import { type AnyKernel, CHECKED_ROWS } from '../operations/checked_row.js'
import type { Numbers } from '../operations/pattern.js'
import type { HostRowName } from '../operations/table.js'
import type { OptimizerUpdate } from '../arguments/optimizer_update.js'

/** A tensor of a program: its place among the arrays of a run, or the elements of a constant. */
class ProgramTensor extends ExecutorTensor {
  readonly place: number | FloatArray
  readonly #program: Program<never>
  #disposed = false

  constructor(program: Program<never>, place: number | FloatArray, shape: readonly number[], dtype: FloatDType) {
    super(shape, dtype, undefined)
    this.#program = program
    this.place = place
  }

  get disposed(): boolean {
    return this.#disposed
  }

  async read(): Promise<never> {
    throw new Error('A tensor of a program has no elements before it runs')
  }

  dispose(): void {
    if (!this.#disposed) this.#program.free(this)
    this.#disposed = true
  }
}

/**
 * Computes one command.
 *
 * @param results zeros, to be filled
 * @param context of the run
 */
export type ProgramCompute<Context> = (
  results: readonly FloatArray[],
  operands: HostOperands,
  numbers: Numbers,
  context: Context,
) => unknown

type Read = number | FloatArray | Int32Array | undefined

interface Command<Context> {
  readonly compute: ProgramCompute<Context>
  readonly results: readonly number[]
  /** Places, or arrays that are constant. */
  readonly operands: readonly (Read | readonly Read[])[]
  readonly numbers: Numbers
}

/**
 * The operations of a function on a tape, recorded once and replayed on arrays: no argument is checked, no tensor is made and no
 * gradient is looked up again. A tape runs on {@link backend}, whose operations are added to the program: the forward's,
 * then the backward's.
 *
 * There are two parts. Arrays of the first that the second part reads are new in each run; all others are shared by all
 * runs, also by several tensors one after another.
 */
export class Program<Context> {
  /** The executor of a tape, with the methods that tapes call. Its operations are recorded. */
  readonly backend: Backend
  readonly #dtype: FloatDType
  readonly #lengths: number[] = []
  /** Arrays that all runs share, by place. A place without one gets a new array in each run. */
  readonly #shared: (FloatArray | undefined)[] = []
  readonly #kept = new Set<number>()
  readonly #free = new Map<number, number[]>()
  /** Tensors at each place. */
  readonly #holders: number[] = []
  readonly #first: Command<Context>[] = []
  readonly #second: Command<Context>[] = []
  #isSecond = false

  constructor(dtype: FloatDType) {
    this.#dtype = dtype
    const memory = {
      ...{ dtype, life: new Lifetime('backend'), ledger: new Ledger() },
      owns: (tensor: unknown): tensor is ProgramTensor => tensor instanceof ProgramTensor,
    }
    this.backend = {
      ...{ name: 'program', dtype, owns: memory.owns },
      ops: checkedOperations(memory, this.#kernels()),
      tensor: ({ data, shape }: { data: FloatArray; shape: readonly number[] }) => this.#tensor(data.slice(), shape),
      zeros: (shape: readonly number[]) => this.command([shape], [], () => 0)[0],
    } as unknown as Backend
  }

  /** A tensor whose elements each run is given. */
  given(shape: readonly number[]): BackendTensor {
    return this.#tensor(this.#newPlace(shape), shape)
  }

  /** Records a computation, and returns the tensors of its results. */
  command(
    shapes: readonly (readonly number[])[],
    operands: readonly (TensorLike | readonly TensorLike[] | undefined)[],
    compute: ProgramCompute<Context>,
    numbers: Numbers = {},
  ): BackendTensor[] {
    const read = operands.map((operand) =>
      Array.isArray(operand) ? operand.map(readOf) : readOf(operand as TensorLike | undefined),
    )
    const results = shapes.map((shape) => {
      const place = this.#free.get(elementCount(shape))?.pop() ?? this.#newPlace(shape)
      this.#shared[place] ??= this.#newArray(place)
      return place
    })
    const commands = this.#isSecond ? this.#second : this.#first
    commands.push({ compute, operands: read, numbers, results })
    return shapes.map((shape, k) => this.#tensor(results[k], shape))
  }

  /** Ends the first part: the second part reads results that are not disposed now. */
  beginSecond(): void {
    this.#isSecond = true
    for (const { results } of this.#first) for (const place of results) if (!this.#isFree(place)) this.#kept.add(place)
    for (const place of this.#kept) this.#shared[place] = undefined
  }

  /** The arrays of a new run, by place. */
  arrays(): FloatArray[] {
    const arrays = this.#shared.slice() as FloatArray[]
    for (const place of this.#kept) arrays[place] = this.#newArray(place)
    return arrays
  }

  /** Computes a part on the arrays of a run. */
  run(part: 'first' | 'second', arrays: FloatArray[], context: Context): void {
    for (const { compute, results, operands, numbers } of part === 'first' ? this.#first : this.#second) {
      const made: FloatArray[] = []
      for (let k = 0; k < results.length; k++) made.push(arrays[results[k]].fill(0))
      const taken: unknown[] = []
      for (let k = 0; k < operands.length; k++) {
        const operand = operands[k]
        if (typeof operand === 'number') taken.push(arrays[operand])
        else if (Array.isArray(operand))
          taken.push(operand.map((each) => (typeof each === 'number' ? arrays[each] : each)))
        else taken.push(operand)
      }
      compute(made, taken, numbers, context)
    }
  }

  /** Another result may take the tensor's place from now on. */
  free({ place }: ProgramTensor): void {
    if (typeof place !== 'number' || this.#shared[place] === undefined) return
    if (--this.#holders[place] > 0) return
    const length = this.#lengths[place]
    const places = this.#free.get(length) ?? []
    this.#free.set(length, places)
    places.push(place)
  }

  #isFree(place: number): boolean {
    return this.#free.get(this.#lengths[place])?.includes(place) === true
  }

  #newPlace(shape: readonly number[]): number {
    return this.#lengths.push(elementCount(shape)) - 1
  }

  #tensor(place: number | FloatArray, shape: readonly number[]): ProgramTensor {
    if (typeof place === 'number') this.#holders[place] = (this.#holders[place] ?? 0) + 1
    return new ProgramTensor(this as never, place, shape, this.#dtype)
  }

  #newArray(place: number): FloatArray {
    const [{ array }, length] = [DTYPES[this.#dtype], this.#lengths[place]]
    return allocating('make a tensor', () => new array(length), length * array.BYTES_PER_ELEMENT)
  }

  #kernels(): OperationKernels<ProgramTensor> {
    const kernels: Record<string, AnyKernel> = {}
    for (const { name, row, results } of CHECKED_ROWS) {
      if (row.isOfDevices) continue
      const compute = hostRow(name as HostRowName)
      kernels[name] = (operands, numbers, shapes) => {
        const [x] = operands
        // A view. Gradients are copied, as sums of them are written in place.
        if (name === 'reshape' && x instanceof ProgramTensor && !this.#isSecond) return this.#tensor(x.place, shapes[0])
        const made = this.command(shapes, operands, compute, numbers)
        return (made.length === 1 ? made[0] : Object.fromEntries(results.map(({ key }, k) => [key, made[k]]))) as never
      }
    }
    return {
      ...kernels,
      readIds: ({ data }: { data: Int32Array }) => data.slice(),
      // A sum of gradients: no other statement is on a tape.
      update: ({ scale }: OptimizerUpdate & { scale: number }, [sum]: readonly BackendTensor[], source: TensorLike) =>
        this.command([], [sum, source], (_, [to, from]) => {
          for (let k = 0; k < to.length; k++) to[k] += scale * from[k]
        }),
    } as unknown as OperationKernels<ProgramTensor>
  }
}

/** The place in the arrays of a run of a tensor that is given or a result. */
export function placeOf(tensor: BackendTensor): number {
  return (tensor as ProgramTensor).place as number
}

function readOf(operand: TensorLike | undefined): Read {
  if (operand === undefined) return undefined
  return operand instanceof ProgramTensor ? operand.place : (operand as { data: FloatArray | Int32Array }).data
}
