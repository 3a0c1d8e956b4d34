import type { BackendTensor, DenseOps, FloatDType, TensorLike } from '@cudnn-rnn/ops'
import type { OptionRule } from './option_rules.js'
import type { IsList, IsOptional, KeyOf, SizesOf } from './pattern.js'

type Rules = Readonly<Record<string, OptionRule<unknown>>>
type Texts = readonly string[]
type ValuesOf<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends OptionRule<infer Value> ? Value : never
}

type TensorOf<Text extends string> =
  IsList<Text> extends true
    ? readonly TensorLike[]
    : IsOptional<Text> extends true
      ? TensorLike | undefined
      : TensorLike

/** Operands in their order. */
type TensorsOf<Takes extends Texts> = Takes extends readonly [infer First extends string, ...infer Rest extends Texts]
  ? KeyOf<First> extends never
    ? TensorsOf<Rest>
    : readonly [TensorOf<First>, ...TensorsOf<Rest>]
  : readonly []

/** An operation: its name and this are all that there is to declare. */
export interface Row<
  Takes extends Texts = Texts,
  Gives extends Texts = Texts,
  Keeps extends Texts = Texts,
  Options extends Rules = Rules,
  Reads extends Texts = Texts,
  Gradient extends string = string,
  // biome-ignore lint/suspicious/noExplicitAny: numbers of any row
  More extends object = any,
> {
  /** "normalize a layer": completes "Cannot <action> as …". */
  readonly action: string
  /**
   * The arguments in their order: {@link Pattern}s of operands, and names of options. Options that are not among them are in
   * an object, which is the last argument.
   */
  readonly takes: Takes
  /** Patterns of the results. */
  readonly gives: Gives
  /** Patterns of results to which no gradient is passed: the gradient needs them of the forward, or is one of them. */
  readonly keeps?: Keeps
  readonly options?: Options
  /** The operand whose sizes the others are compared with; by default the first. */
  readonly measure?: string
  /** Numbers of kernels that are computed from options and operands. */
  // biome-ignore lint/suspicious/noExplicitAny: the options and operands of this row
  readonly complete?: (numbers: any, operands: any, dtype: FloatDType) => More
  /** Some executors ask their device before they compute: on a tape it is a promise. */
  readonly asks?: true
  /** Executors in host memory have no kernel for it. */
  readonly isOfDevices?: true
  /**
   * How a tape passes the gradient of the first result back: by its own kernel, by other operations, or as zero if
   * the result is constant in pieces, such as a comparison. A tape refuses a row without it, never silently.
   */
  readonly gradient?: GradientKernel<Gradient, Reads> | GradientRule<Reads> | 'zero'
}

/**
 * The kernel of a gradient: takes the operands and results that it reads, then the gradients of the results, and gives those
 * of the floating operands.
 */
interface GradientKernel<Name extends string = string, Reads extends Texts = Texts> {
  readonly name: Name
  readonly action: string
  readonly reads: Reads
}

/** A gradient that other operations compute; nothing records them, so it has no gradient itself. */
export interface GradientRule<Reads extends Texts = Texts> {
  /** Keys of the operands and results whose elements it reads: all others may be freed before it is called. */
  readonly reads?: Reads
  /** The operand whose gradient it reads: if the result's is 1, no product is needed. */
  readonly made?: string
  /**
   * The gradients of the floating operands by their keys, of a list of operands a list. They may be the given gradient
   * itself, or tensors that it reads. Every other tensor that it makes by `ops` and `zeros` is disposed when it returns. An operand that has no gradient is left out.
   */
  readonly pass: (given: BackendTensor, rule: GradientContext) => GradientsByKey
}

export type GradientsByKey = Readonly<Record<string, BackendTensor | readonly BackendTensor[] | undefined>>

/** The tensors, shapes and options of the call whose gradient is computed. */
export interface GradientContext {
  readonly ops: DenseOps
  readonly zeros: (shape: readonly number[]) => BackendTensor
  /** The operands and results that the rule `reads`, by their keys; an absent operand is undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: a tensor, a list of tensors, or undefined, as the row has it
  readonly read: Readonly<Record<string, any>>
  /** The shapes of all operands and results by their keys; for a list of operands, a list. */
  // biome-ignore lint/suspicious/noExplicitAny: a shape or a list of shapes, as the row has it
  readonly shapes: Readonly<Record<string, any>>
  /** The options of the call by their names, as its caller passed them. */
  // biome-ignore lint/suspicious/noExplicitAny: options have any type
  readonly options: Readonly<Record<string, any>>
  /** Whether the gradient of an operand is needed. One that is not may be left out. */
  readonly wants: (key: string) => boolean
}

export function row<
  const Takes extends Texts,
  const Gives extends Texts,
  const Keeps extends Texts = [],
  Options extends Rules = Record<never, never>,
  const Reads extends Texts = [],
  const Gradient extends string = never,
  More extends object = Record<never, never>,
>(
  description: Row<Takes, Gives, Keeps, Options, Reads, Gradient, More>,
): Row<Takes, Gives, Keeps, Options, Reads, Gradient, More> {
  return description
}

/** The numbers of a kernel: sizes, options, and what `complete` adds. */
type NumbersOf<Takes extends Texts, Options, More> = SizesOf<Takes[number]> & ValuesOf<Options> & More

type Shapes = readonly (readonly number[])[]

/** The arguments of a row's kernel. The shapes are the results', in their order. */
export type KernelArguments<R> =
  R extends Row<infer Takes, infer _Gives, infer _Keeps, infer Options, infer _Reads, infer _Gradient, infer More>
    ? readonly [operands: TensorsOf<Takes>, numbers: NumbersOf<Takes, Options, More>, shapes: Shapes]
    : never

type TextOf<All extends string, Key extends string> = All extends `${string} [${string}`
  ? KeyOf<All> extends Key
    ? All
    : never
  : never
type ReadOf<Reads extends Texts, All extends string> = Reads extends readonly [
  infer First extends string,
  ...infer Rest extends Texts,
]
  ? readonly [TensorOf<TextOf<All, First>>, ...ReadOf<Rest, All>]
  : readonly []

/** The arguments of the kernel of a row's gradient. */
export type GradientArguments<R> =
  R extends Row<infer Takes, infer Gives, infer Keeps, infer Options, infer Reads, infer _Gradient, infer More>
    ? readonly [
        operands: readonly [...ReadOf<Reads, [...Takes, ...Gives, ...Keeps][number]>, ...TensorsOf<Gives>],
        numbers: NumbersOf<Takes, Options, More>,
        shapes: Shapes,
      ]
    : never

/** The name of a row's gradient; never if it has none. */
export type GradientNameOf<R> =
  R extends Row<infer _T, infer _G, infer _K, infer _O, infer _R, infer Gradient, infer _M> ? Gradient : never
