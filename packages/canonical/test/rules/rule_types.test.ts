import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  ANYTHING,
  type AnyRule,
  type BYTES,
  checkedElsewhere,
  either,
  FLAG,
  FUNCTION,
  fields,
  integerFrom,
  keyOf,
  listOf,
  methods,
  NUMBER,
  NUMBERS,
  nullable,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  type Rule,
  TEXT,
  typed,
  type ValueOf,
  where,
} from '../../src/rules/index.js'

/** Passes the compiler if `rule` fits an argument of the type `Value`. */
const fits = <Value>(rule: Rule<Value>): AnyRule => rule
type Mode = 'min' | 'max'

describe('the type of a rule', () => {
  it('is that of the values that follow it', () => {
    expectTypeOf(TEXT).toEqualTypeOf<Rule<string>>()
    expectTypeOf(integerFrom(1)).toEqualTypeOf<Rule<number>>()
    expectTypeOf(optional(FLAG)).toEqualTypeOf<Rule<boolean | undefined>>()
    expectTypeOf(nullable(TEXT)).toEqualTypeOf<Rule<string | null | undefined>>()
    expectTypeOf(oneOf(['min', 'max'])).toEqualTypeOf<Rule<Mode>>()
    expectTypeOf(keyOf({ min: 0, max: 1 })).toEqualTypeOf<Rule<Mode>>()
    expectTypeOf(either(FLAG, oneOf(['measured']))).toEqualTypeOf<Rule<boolean | 'measured'>>()
    expectTypeOf(where(NUMBER, 'even', (value) => value % 2 === 0)).toEqualTypeOf<Rule<number>>()
    expectTypeOf<ValueOf<typeof BYTES>>().toEqualTypeOf<Uint8Array>()
    const point = listOf(fields({ x: NUMBER, label: optional(TEXT) }))
    expectTypeOf<ValueOf<typeof point>>().toEqualTypeOf<
      readonly { readonly x: number; readonly label?: string | undefined }[]
    >()
  })

  it('is refused for an argument of another kind', () => {
    expect([
      fits<number>(integerFrom(1)),
      // @ts-expect-error a string is not a number
      fits<number>(TEXT),
      fits<boolean | undefined>(optional(FLAG)),
      // @ts-expect-error the rule refuses undefined
      fits<boolean | undefined>(FLAG),
      // @ts-expect-error the rule admits undefined
      fits<boolean>(optional(FLAG)),
      // @ts-expect-error the rule admits null
      fits<number | undefined>(nullable(NUMBER)),
      fits<Mode>(oneOf(['max', 'min'])),
      // @ts-expect-error the rule admits other strings
      fits<Mode>(TEXT),
      // @ts-expect-error the rule admits another string
      fits<Mode>(oneOf(['min', 'max', 'mean'])),
      // @ts-expect-error the rule refuses one of the strings
      fits<Mode>(oneOf(['min'])),
      // @ts-expect-error a number is not a function
      fits<() => void>(NUMBER),
      // @ts-expect-error the rule admits any value
      fits<number>(ANYTHING),
    ]).toHaveLength(12)
  })

  it('may look at a part of an object', () => {
    interface Signal {
      readonly aborted: boolean
      listen(listener: (reason: string) => void): void
    }
    expect([
      fits<Signal | undefined>(optional(OBJECT)),
      fits<Signal>(methods('a signal', 'listen')),
      fits<Signal>(fields({ aborted: FLAG })),
      // @ts-expect-error a signal has no method `close`
      fits<Signal>(methods('a signal', 'close')),
      // @ts-expect-error `aborted` is not a number
      fits<Signal>(fields({ aborted: NUMBER })),
      fits<(step: number) => Promise<void>>(FUNCTION),
      fits<readonly number[] | Float32Array>(NUMBERS),
      // @ts-expect-error the elements are not strings
      fits<readonly number[]>(listOf(TEXT)),
      fits<Signal | string>(either(TEXT, OBJECT)),
      // @ts-expect-error the rule refuses a string
      fits<Signal | string>(OBJECT),
      fits<Signal>(checkedElsewhere()),
      fits<Signal>(typed<Signal>(fields({ aborted: FLAG }))),
      // @ts-expect-error a rule of another type
      fits<Signal>(typed<Signal>(TEXT)),
    ]).toHaveLength(13)
  })
})

describe('OptionsOf', () => {
  it('has a field for each rule, optional where the rule admits undefined', () => {
    const rules = { batch: integerFrom(1), seed: optional(integerFrom(0)), mode: oneOf(['min', 'max']) }
    expectTypeOf<OptionsOf<typeof rules>>().toEqualTypeOf<{
      readonly batch: number
      readonly mode: Mode
      readonly seed?: number | undefined
    }>()
    expectTypeOf<OptionsOf<Pick<typeof rules, 'seed'>>>().toEqualTypeOf<{ readonly seed?: number | undefined }>()
    expectTypeOf<OptionsOf<typeof rules & { onEnd: Rule<() => void> }>['onEnd']>().toEqualTypeOf<() => void>()
    const options: OptionsOf<typeof rules> = { batch: 1, mode: 'min' }
    expect(fields(rules).find(options, 'options')).toBeUndefined()
  })
})
