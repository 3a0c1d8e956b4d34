import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { elementCount } from '@cudnn-rnn/canonical'
import type { ImportOptions } from '@cudnn-rnn/interop'

/** An array of a pack: float32 from byte `at` on. */
interface PackedArray {
  readonly shape: readonly number[]
  readonly at: number
}

interface PackedFile {
  readonly at: number
  readonly bytes: number
}

/** Inputs and outputs of one call of a recurrent layer; arrays as {@link Pack.array} reads them. */
export interface OracleCall {
  /** The name that the layer has in the file; absent if the numbers alone identify the network. */
  readonly network?: string
  /** For a stack of cells: the networks that feed each other, in place of `network`. */
  readonly chain?: readonly string[]
  /** [T,B,I], or [T,B] with `ids` */
  readonly input: PackedArray
  /** [T,B,·]; absent if the layer gives the last output alone. */
  readonly output?: PackedArray
  /** [B,·] */
  readonly last?: PackedArray
  readonly initialH?: PackedArray
  readonly initialC?: PackedArray
  readonly finalH?: PackedArray
  readonly finalC?: PackedArray
  /** True if the input is numbers of an embedding. */
  readonly ids?: true
  readonly lengths?: readonly number[]
}

/** A model of another framework and its results there. */
export interface OracleCase {
  readonly name: string
  readonly extension: string
  readonly file: PackedFile | Readonly<Record<string, PackedFile>>
  readonly expect: 'agree' | 'refuse'
  /** A pattern of the message of a refusal. */
  readonly because?: string
  /** A pattern of the code and message of a refusal that is right too, in place of agreement. */
  readonly mayRefuse?: string
  /** A whole model, which `importKeras` reads: the calls are `predict`'s. */
  readonly model?: true
  /** A functional model: its inputs by their names, and its outputs in their order. */
  readonly graph?: {
    readonly inputs: Readonly<Record<string, PackedArray & { readonly ids?: true }>>
    readonly outputs: readonly PackedArray[]
  }
  /** A pattern that a note on the network must match. */
  readonly notes?: string
  readonly options?: ImportOptions
  /** ONNX: tensors that the graph leaves to its caller. */
  readonly inputs?: Readonly<Record<string, PackedArray>>
  readonly calls?: readonly OracleCall[]
  /** In place of `calls`: networks may be found one by one or joined, so one of these lists must agree. */
  readonly readings?: readonly (readonly OracleCall[])[]
  /** Names of the networks in the model's order. */
  readonly order?: readonly string[]
}

/** A file that fixtures/interop/oracle_pack.py wrote; the format is described there. */
export class Pack {
  readonly cases: readonly OracleCase[]
  readonly #blob: Uint8Array

  /** @param path default: the committed pack of that name */
  constructor(
    name: string,
    path = fileURLToPath(new URL(`../../../fixtures/interop/oracle/${name}.pack.gz`, import.meta.url)),
  ) {
    const bytes = gunzipSync(readFileSync(path))
    const end = 4 + bytes.readUInt32LE(0)
    this.cases = JSON.parse(bytes.toString('utf8', 4, end)).cases
    this.#blob = bytes.subarray(end)
  }

  file({ file }: OracleCase): Uint8Array {
    return this.#bytes(file as PackedFile)
  }

  /** Files by their paths, of a case that is a folder. */
  files({ file }: OracleCase): [string, Uint8Array][] {
    return Object.entries(file).map(([path, part]) => [path, this.#bytes(part)])
  }

  #bytes({ at, bytes }: PackedFile): Uint8Array {
    return Uint8Array.from(this.#blob.subarray(at, at + bytes))
  }

  array({ shape, at }: PackedArray): { readonly data: Float64Array; readonly shape: readonly number[] } {
    const count = elementCount(shape)
    const bytes = this.#blob.slice(at, at + 4 * count)
    return { data: Float64Array.from(new Float32Array(bytes.buffer, bytes.byteOffset, count)), shape }
  }
}
