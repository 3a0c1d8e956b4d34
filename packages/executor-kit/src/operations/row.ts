import type { FloatDType, TensorLike } from '@cudnn-rnn/backend'
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
  /** For the documentation. */
  readonly meaning: string
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
  /** Executors in host memory have no kernel for it. */
  readonly isOfDevices?: true
  readonly gradient?: GradientKernel<Gradient, Reads>
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

/** The arguments of a row's kernel. The shapes are those of the results, in their order. */
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

/** The name of a row's gradient; never where it has none. */
export type GradientNameOf<R> =
  R extends Row<infer _T, infer _G, infer _K, infer _O, infer _R, infer Gradient, infer _M> ? Gradient : never
