import type { OnnxValueMessage } from '@cudnn-rnn/interop/internal'

/** A size is a number, or a name that may be any number. */
export type Size = number | string

/** Names of a first axis other than the batch. */
const TIME = /time|seq|len|frame|step|^[ts]$/i

/**
 * The choices at which a graph is folded. The batch is 1, 2 and 1009: a value that is equal at all three does not depend on it.
 * The last choice has other sizes than the third wherever the file leaves one open: a value that differs there is left to ONNX
 * Runtime, as a condition might hold at a size that was not tried.
 */
export const CHOICES = [
  { batch: 1, other: 1024 },
  { batch: 2, other: 1024 },
  { batch: 1009, other: 1024 },
  { batch: 1009, other: 1601 },
] as const

/** Whether something differs between the two choices that differ in other sizes than the batch. */
export function differsInOthers(atChoices: readonly unknown[]): boolean {
  return String(atChoices[2]) !== String(atChoices[3])
}

/** The inputs' sizes that a file leaves open. */
export class OpenSizes {
  /** Names of sizes that are the number of rows. */
  readonly batch: ReadonlySet<string>
  readonly #others: readonly string[]

  constructor(inputs: readonly { readonly shape: readonly Size[] }[]) {
    const isName = (size: Size | undefined): size is string => typeof size === 'string'
    const names = inputs.map(({ shape }) => shape.filter(isName))
    const first = new Set(inputs.map(({ shape }) => shape[0]).filter(isName))
    // A size without a name, the only open one of its input: such as the batch of a state [2,?,128].
    const alone = new Set(
      names.flatMap(([name = '', ...more]) => (more.length === 0 && name.includes(':') ? name : [])),
    )
    const isBatch = (name: string) =>
      /batch/i.test(name) || ((first.has(name) || alone.has(name)) && !TIME.test(name.replace(/.*:/, '')))
    this.batch = new Set(names.flat().filter(isBatch))
    this.#others = [...new Set(names.flat())].filter((name) => !this.batch.has(name))
  }

  /** A shape at each choice. */
  shapesOf(shape: readonly Size[]): readonly (readonly number[])[] {
    return CHOICES.map(({ batch, other }) =>
      shape.map((size) => {
        if (typeof size === 'number') return size
        return this.batch.has(size) ? batch : other + this.#others.indexOf(size)
      }),
    )
  }

  /** The open size whose numbers these are at each choice. */
  nameOf(sizes: readonly (number | undefined)[]): string | undefined {
    return [...this.batch, ...this.#others].find((name) => String(this.shapesOf([name])) === String(sizes))
  }
}

/** The sizes of an input; those without a name are called by the input's. */
export function namedSizes({ name, dims = [] }: OnnxValueMessage): readonly Size[] {
  return dims.map((size, axis) => (size === '' || size === -1 ? `${name}:${axis}` : size))
}
